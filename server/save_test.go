package server

import (
	"errors"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"countd/engine"
)

// linkGate is a file system in memory that stops at every link until open is closed, and at once
// once it is; then links fail where broken is set.
type linkGate struct {
	linking chan struct{}
	open    chan struct{}
	broken  atomic.Bool
}

// serveGated serves a database whose backups stop at g.
func serveGated(t *testing.T, g *linkGate) (srv *Server, addr string) {
	t.Helper()
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpLink || op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, "backup.tmp/IDENTITY") {
			select {
			case g.linking <- struct{}{}:
			case <-g.open:
			}
			<-g.open
			if g.broken.Load() {
				return errors.New("the disk is gone")
			}
		}
		return nil
	}))
	srv = newServerOn(t, engine.Options{Dir: "data", FS: fs, Policy: engine.FsyncEverySec}, "io-threads", "1")
	return srv, serve(t, srv)
}

func newGate() *linkGate { return &linkGate{linking: make(chan struct{}), open: make(chan struct{})} }

// TestSaveKeepsOnlyItsOwnClientWaiting: the loop serves others meanwhile, the client's later
// commands wait for the reply, and it gets it where it has ended its sending, and under CLIENT
// REPLY as for any command.
func TestSaveKeepsOnlyItsOwnClientWaiting(t *testing.T) {
	g := newGate()
	_, addr := serveGated(t, g)
	saver, other, quiet, half := dial(t, addr), dial(t, addr), dial(t, addr), dial(t, addr)
	saver.send("INCR n\r\n" + strings.Repeat("SAVE\r\n", 5) + "INCR n\r\n")
	saver.want(":1\r\n")
	<-g.linking
	quiet.send("CLIENT REPLY SKIP\r\nSAVE\r\nINCR n\r\n")
	half.send("SAVE\r\nINCR n\r\n")
	if err := half.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	other.send("PING\r\n")
	other.want("+PONG\r\n") // what came before it was read
	other.send("GET n\r\nLASTSAVE x\r\nBGSAVE\r\nBGSAVE\r\nSAVE\r\nINFO persistence\r\nPING\r\n")
	other.want("$1\r\n1\r\n-ERR wrong number of arguments for 'lastsave' command\r\n" +
		"+Background saving started\r\n-ERR Background save already in progress\r\n" +
		"-ERR Background save already in progress\r\n")
	if info := other.bulk(); !strings.Contains(info, "rdb_bgsave_in_progress:1\r\n") {
		t.Errorf("INFO says:\n%s", info)
	}
	other.want("+PONG\r\n")
	close(g.open)
	saver.want(strings.Repeat("+OK\r\n", 1))
	for range 4 { // the others may find the BGSAVE under way
		line, err := saver.r.ReadString('\n')
		if err != nil || line != "+OK\r\n" && line != "-ERR Background save already in progress\r\n" {
			t.Fatalf("SAVE answers %q, %v", line, err)
		}
	}
	half.want("+OK\r\n")
	numbers := saver.line() + quiet.line() + half.line()
	for _, n := range []string{":2\r\n", ":3\r\n", ":4\r\n"} {
		if strings.Count(numbers, n) != 1 {
			t.Errorf("the increments behind SAVE answer %q", numbers)
		}
	}
	half.wantEnd()
}

// line is the next line of a reply.
func (c *client) line() string {
	c.t.Helper()
	line, err := c.r.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	return line
}

// bulk is the text of a bulk reply.
func (c *client) bulk() string {
	c.t.Helper()
	r, err := readReply(c.r)
	if err != nil {
		c.t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(r), "\r\n")
	return text
}

// TestABackupThatFailsIsReported: in the reply to SAVE, and in INFO.
func TestABackupThatFailsIsReported(t *testing.T) {
	g := newGate()
	g.broken.Store(true)
	close(g.open)
	srv, addr := serveGated(t, g)
	c := dial(t, addr)
	c.send("SAVE\r\n")
	if line := c.line(); !regexp.MustCompile(`^-ERR .*backup.*the disk is gone.*\r\n$`).MatchString(line) {
		t.Errorf("SAVE answers %q", line)
	}
	info := srv.info([][]byte{[]byte("everything")})
	for _, want := range []string{"rdb_last_bgsave_status:err\r\n", "rdb_saves:1\r\n", "rdb_last_bgsave_time_sec:-1\r\n",
		"total_error_replies:1\r\n", "failed_calls=1"} {
		if !strings.Contains(info, want) {
			t.Errorf("INFO has no %q:\n%s", want, info)
		}
	}
	g.broken.Store(false)
	c.send("SAVE\r\n")
	c.want("+OK\r\n")
	if info := srv.info(nil); !strings.Contains(info, "rdb_last_bgsave_status:ok\r\n") {
		t.Errorf("INFO says:\n%s", info)
	}
}

// TestThereIsNoBackupWithoutALog.
func TestThereIsNoBackupWithoutALog(t *testing.T) {
	s := &sessionTarget{newTestServer(t, engine.FsyncOff).newSession()}
	for _, command := range []string{"SAVE", "BGSAVE", "BGSAVE SCHEDULE"} {
		want := "-" + errNoLog + "\r\n"
		if got := string(s.do(t, strings.Fields(command))); got != want {
			t.Errorf("%s: %q", command, got)
		}
	}
	if got := string(s.do(t, []string{"LASTSAVE"})); !regexp.MustCompile(`^:[1-9]\d+\r\n$`).MatchString(got) {
		t.Errorf("LASTSAVE: %q", got)
	}
}
