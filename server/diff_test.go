package server

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"countd/engine"
	"countd/rdb"
)

var (
	diffSeed  = flag.Uint64("diff.seed", 0, "seed of the random commands; 0 takes the time")
	diffSteps = flag.Int("diff.steps", 20_000, "how many random commands")
)

// TestRandomCommandsReplyAsRedisDoes sends the same random commands to a redis-server and to a
// session of ours and compares the replies byte by byte, in RESP2 and RESP3. Replies that depend
// on the clock, on an order without meaning, or on chance are compared by what is fixed in them.
func TestRandomCommandsReplyAsRedisDoes(t *testing.T) {
	addr := startRedis(t, "the comparison of random commands")
	for _, proto := range []string{"2", "3"} {
		t.Run("RESP"+proto, func(t *testing.T) {
			seed := *diffSeed
			if seed == 0 {
				seed = uint64(time.Now().UnixNano())
			}
			t.Logf("seed %d (rerun with -diff.seed=%d)", seed, seed)
			redis, ours := dialRedis(t, addr), &sessionTarget{newCommandServer(t).newSession()}
			d := differ{t: t, redis: redis, ours: ours}
			d.step([]string{"FLUSHALL"})
			d.step([]string{"HELLO", proto})
			gen, steps := newCommandGen(seed), *diffSteps
			if raceDetector { // nothing runs beside
				steps /= 4
			}
			for range steps {
				d.step(gen.next())
			}
		})
	}
}

// A differ runs commands on both servers and fails at the first that differs.
type differ struct {
	t           *testing.T
	redis, ours target
	trail       [][]string // the last commands
}

func (d *differ) step(args []string) {
	d.t.Helper()
	if strings.EqualFold(args[0], "dbsize") {
		// Redis counts keys that have expired until somebody meets them.
		d.step([]string{"EXISTS", "k1", "k2", "k3", "k4", "k5", "k6", "", "a\x00b", "\r\n", "K1",
			"h1", "h2", "h3", "h4"})
	}
	d.trail = append(d.trail, args)
	if len(d.trail) > 30 {
		d.trail = d.trail[1:]
	}
	want, got := d.redis.do(d.t, args), d.ours.do(d.t, args)
	if sameReply(strings.ToLower(args[0]), want, got) {
		return
	}
	var trail strings.Builder
	for _, args := range d.trail {
		fmt.Fprintf(&trail, "%.200q\n", args)
	}
	d.t.Fatalf("%.300q\nredis-server %.500q\ncountd       %.500q\nthe last commands were\n%s",
		args, want, got, trail.String())
}

// sameReply compares two replies as exactly as the command allows. What a machine holds up one of the servers for
// shows in times to live; those of the generator are apart by more.
func sameReply(name string, a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	switch name {
	case "ttl", "expiretime":
		return near(a, b, 60)
	case "pttl", "pexpiretime":
		return near(a, b, 60_000)
	case "dump": // Redis compresses
		x, _, errX := rdb.Read(bulkOf(a), engine.MaxStringLen)
		y, _, errY := rdb.Read(bulkOf(b), engine.MaxStringLen)
		return errX == nil && errY == nil && bytes.Equal(x, y)
	case "pfcount":
		return near(a, b, 1)
	case "keys", "scan":
		return slices.Equal(sortedElements(a), sortedElements(b))
	case "randomkey":
		return a[0] == '$' && a[1] != '-' && b[0] == '$' && b[1] != '-'
	case "time", "hello":
		return sameShape(a, b)
	}
	return false
}

// near reports whether both replies are positive integers at most by apart, or both the largest
// instant there is, which we hold one below Redis's.
func near(a, b []byte, by float64) bool {
	x, errX := strconv.ParseFloat(strings.Trim(string(a), ":\r\n"), 64)
	y, errY := strconv.ParseFloat(strings.Trim(string(b), ":\r\n"), 64)
	return errX == nil && errY == nil && x > 0 && y > 0 && math.Abs(x-y) <= by
}

// sortedElements cuts a reply into lines in order, which is enough to compare sets of keys.
func sortedElements(reply []byte) []string {
	lines := strings.Split(string(reply), "\r\n")
	slices.Sort(lines)
	return lines
}

// TestRowsAreAsRedisPrintsThem compares COMMAND INFO and COMMAND DOCS of every row that Redis has
// too. Containers are compared by their subcommands.
func TestRowsAreAsRedisPrintsThem(t *testing.T) {
	addr := startRedis(t, "the comparison of COMMAND INFO and COMMAND DOCS")
	redis, ours := dialRedis(t, addr), &sessionTarget{newCommandServer(t).newSession()}
	for _, proto := range []string{"2", "3"} {
		redis.do(t, []string{"HELLO", proto})
		ours.do(t, []string{"HELLO", proto})
		for _, c := range commands().all {
			if len(c.sub) > 0 || c.name == "client|setinfo" || strings.HasPrefix(c.name, "cnt.") {
				continue
			}
			for _, about := range []string{"INFO", "DOCS"} {
				args := []string{"COMMAND", about, c.name}
				if want, got := redis.do(t, args), ours.do(t, args); !bytes.Equal(want, got) {
					t.Errorf("%q\nredis-server %q\ncountd       %q", args, want, got)
				}
			}
		}
	}
}

// TestWholeTableReplies checks that the replies about all commands are whole: their headers say as
// many elements as follow.
func TestWholeTableReplies(t *testing.T) {
	s := &sessionTarget{newCommandServer(t).newSession()}
	for _, proto := range []string{"2", "3"} {
		s.do(t, []string{"HELLO", proto})
		for _, line := range []string{"COMMAND", "COMMAND INFO", "COMMAND DOCS", "COMMAND LIST",
			"COMMAND COUNT", "COMMAND HELP", "CLIENT HELP", "CONFIG HELP", "FUNCTION HELP",
			"CONFIG GET *", "CNT.CONTRACT HELP", "CNT.CONTRACT GET k", "OBJECT HELP", "CNT.HOTKEYS",
			"INFO everything", "CLIENT INFO", "CLIENT LIST"} {
			reply := s.do(t, strings.Fields(line))
			if _, err := readReply(bufio.NewReader(bytes.NewReader(reply))); err != nil || reply[0] == '-' {
				t.Errorf("%s: %v %q", line, err, reply)
			}
		}
	}
}
