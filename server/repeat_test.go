package server

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"countd/engine"
)

// TestRepeatsReplyAsOneByOne: a pipeline in which commands repeat is answered as the same commands one
// by one are, wherever it is cut.
func TestRepeatsReplyAsOneByOne(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	pick := func(choices ...string) string { return choices[rng.IntN(len(choices))] }
	key := func() string { return pick("a", "b", "a longer name of a key") }
	for round := range 300 {
		t.Run(strconv.Itoa(round), func(t *testing.T) { // so that its servers end with it
			whole := newTestServer(t, engine.FsyncOff).newSession()
			single := newTestServer(t, engine.FsyncOff).newSession()
			var commands, pipeline [][]byte
			for len(commands) < 200 {
				var args []string
				switch rng.IntN(9) {
				case 0, 1:
					args = []string{pick("INCR", "decr"), key()}
				case 2, 3:
					args = []string{pick("INCRBY", "DECRBY"), key(),
						pick("1", "-1", "0", "1000", "4611686018427387904", "-4611686018427387904", "x", " 1")}
				case 4, 5:
					args = []string{"GET", key()}
				case 6:
					args = []string{"SET", key(), pick("0", "9223372036854775800", "-9223372036854775800", "text", "12 ")}
				case 7:
					args = []string{pick("DEL", "GET", "INCR", "MGET", "NONSENSE", "CLIENT", "EXISTS"), key()}
				case 8:
					args = []string{"CLIENT", "REPLY", pick("SKIP", "ON")}
				}
				one := encodeCommand(args)
				for range 1 + rng.IntN(3)*rng.IntN(30) {
					commands = append(commands, one)
				}
			}
			in := bytes.Join(commands, nil)
			for len(in) > 0 {
				n := min(len(in), 1+rng.IntN(3000))
				pipeline, in = append(pipeline, in[:n]), in[n:]
			}
			got := feedAll(whole, pipeline)
			want := ""
			for _, c := range commands {
				want += feedAll(single, [][]byte{c})
			}
			if got != want {
				i := 0
				for i < min(len(got), len(want)) && got[i] == want[i] {
					i++
				}
				t.Fatalf("the replies differ at byte %d: %.80q, one by one %.80q", i, got[i:], want[i:])
			}
			if a, b := whole.srv.eng.Stats(), single.srv.eng.Stats(); a.KeyspaceHits != b.KeyspaceHits ||
				a.KeyspaceMisses != b.KeyspaceMisses {
				t.Fatalf("%d hits and %d misses, one by one %d and %d",
					a.KeyspaceHits, a.KeyspaceMisses, b.KeyspaceHits, b.KeyspaceMisses)
			}
			if a, b := callsOf(whole.srv), callsOf(single.srv); a != b {
				t.Fatalf("calls %s, one by one %s", a, b)
			}
		})
	}
}

// callsOf is how often each command was called, refused and failed.
func callsOf(srv *Server) (text string) {
	for _, c := range commands().all {
		row := &srv.looseStats.rows[c.id]
		if n := row.calls.Load() + row.rejected.Load(); n > 0 {
			text += fmt.Sprintf("%s %d/%d/%d ", c.name, row.calls.Load(), row.rejected.Load(), row.failed.Load())
		}
	}
	return text
}
