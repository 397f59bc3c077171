package server

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"countd/config"
	"countd/engine"
)

// newTestServer returns a server over an empty database, and its configuration. It serves no
// sockets. set are options and their values.
func newTestServer(t testing.TB, policy engine.FsyncPolicy, set ...string) *Server {
	t.Helper()
	return newServerOn(t, engine.Options{Dir: t.TempDir(), Policy: policy}, set...)
}

// newServerOn returns a server over the engine that o opens. It does not serve yet. set are options and
// their values.
func newServerOn(t testing.TB, o engine.Options, set ...string) *Server {
	t.Helper()
	eng, rec, err := engine.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	cfg := config.New()
	for i := 0; i < len(set); i += 2 {
		if err := cfg.Set(set[i], strings.Fields(set[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	srv, err := New(Options{Engine: eng, Config: cfg, Recovery: rec})
	if err != nil {
		t.Fatal(err)
	}
	return srv
}

// feedAll feeds chunks and runs everything, turn by turn. It returns the replies.
func feedAll(s *Session, chunks [][]byte) string {
	for _, chunk := range chunks {
		s.feed(chunk)
		for s.more {
			s.resume()
		}
	}
	out := string(s.out)
	s.out = s.out[:0]
	return out
}

// The pipeline of TestSplitAnywhere, and its replies.
const (
	mixedPipeline = "*1\r\n$4\r\nPING\r\n" +
		"*3\r\n$6\r\nINCRBY\r\n$1\r\nk\r\n$2\r\n41\r\n" +
		"INCR k\r\n*0\r\n\r\n" +
		"*2\r\n$4\r\nECHO\r\n$12\r\nhello\r\nworld\r\n" +
		"GET \"k\"\n" +
		"*2\r\n$6\r\nclient\r\n$7\r\ngetname\r\n" +
		"*1\r\n$3\r\nGET\r\n" +
		"nonsense a b\r\n" +
		"*2\r\n$3\r\nget\r\n$1\r\nk\r\n" +
		"*1\r\n$1a\r\nPING\r\n"
	mixedReplies = "+PONG\r\n:41\r\n:42\r\n$12\r\nhello\r\nworld\r\n$2\r\n42\r\n$-1\r\n" +
		"-ERR wrong number of arguments for 'get' command\r\n" +
		"-ERR unknown command 'nonsense', with args beginning with: 'a' 'b' \r\n" +
		"$2\r\n42\r\n" +
		"-ERR Protocol error: invalid bulk length\r\n"
)

func TestSplitAnywhere(t *testing.T) {
	srv := newTestServer(t, engine.FsyncOff)
	run := func(chunks [][]byte) {
		t.Helper()
		s := srv.newSession()
		feedAll(s, cut("DEL k\r\n", 0))
		if got := feedAll(s, chunks); got != mixedReplies {
			t.Fatalf("got %q\nwant %q", got, mixedReplies)
		}
		if !s.closeAfterReply {
			t.Fatal("a protocol error does not end the conversation")
		}
	}
	for size := 0; size < len(mixedPipeline); size++ {
		run(cut(mixedPipeline, size))
	}
	for at := 1; at < len(mixedPipeline); at++ {
		run([][]byte{[]byte(mixedPipeline[:at]), []byte(mixedPipeline[at:])})
	}
}

func TestTurnIsBounded(t *testing.T) {
	srv := newTestServer(t, engine.FsyncOff)
	s := srv.newSession()
	const commands = 3*maxTurnCommands + 10
	s.feed(bytes.Repeat([]byte("PING\r\n"), commands))
	if !s.more || len(s.out) > maxTurnCommands*len("+PONG\r\n") {
		t.Fatalf("more %v after a turn with %d bytes of replies", s.more, len(s.out))
	}
	s.feed([]byte("ECHO last\r\n")) // waits behind the others
	for s.more {
		before := len(s.out)
		s.resume()
		if len(s.out)-before > maxTurnCommands*len("+PONG\r\n") {
			t.Fatalf("%d bytes of replies in a turn", len(s.out)-before)
		}
		before = len(s.out)
	}
	want := strings.Repeat("+PONG\r\n", commands) + "$4\r\nlast\r\n"
	if string(s.out) != want {
		t.Errorf("%d bytes of replies, want %d", len(s.out), len(want))
	}

	s.out = nil
	big := strings.Repeat("x", 100<<10)
	s.feed(bytes.Repeat(encodeCommand([]string{"ECHO", big}), 50))
	if !s.more || len(s.out) > maxTurnReplyBytes+len(big)+32 {
		t.Errorf("more %v after a turn with %d bytes of replies", s.more, len(s.out))
	}
}

// cpuTime is what this process has had of the processors, which does not depend on what else runs on them.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// TestManyArgumentsInSmallPieces would take minutes if a command were parsed anew with each piece.
func TestManyArgumentsInSmallPieces(t *testing.T) {
	srv := newTestServer(t, engine.FsyncOff)
	const args = 1_000_000
	in := "*1000001\r\n$3\r\nDEL\r\n" + strings.Repeat("$1\r\nk\r\n", args) + "PING\r\n"
	start := cpuTime(t)
	s := srv.newSession()
	if got, want := feedAll(s, cut(in, 1<<10)), ":0\r\n+PONG\r\n"; got != want {
		t.Errorf("got %.100q, want %q", got, want)
	}
	if took := cpuTime(t) - start; took > 40*time.Second {
		t.Errorf("took %v of the processor", took)
	}
	if cap(s.qbuf) > keptBufferSize || cap(s.in.args) > maxKeptArgs || cap(s.in.spans) > maxKeptArgs {
		t.Errorf("keeps %d bytes, %d arguments, %d spans", cap(s.qbuf), cap(s.in.args), cap(s.in.spans))
	}
}

func TestAnnouncedLengthsReserveNothing(t *testing.T) {
	srv := newTestServer(t, engine.FsyncOff)
	for _, in := range []string{"*2147483647\r\n$3\r\nDEL\r\n", "*2\r\n$4\r\nECHO\r\n$536870912\r\nx"} {
		s := srv.newSession()
		feedAll(s, cut(in, 5))
		if cap(s.qbuf) > 1<<10 || cap(s.in.spans) > 1<<10 {
			t.Errorf("%q reserves %d bytes, %d spans", in, cap(s.qbuf), cap(s.in.spans))
		}
	}
}

// TestBigArgument grows the buffer with the bytes, and not beyond the argument.
func TestBigArgument(t *testing.T) {
	srv := newTestServer(t, engine.FsyncOff)
	s := srv.newSession()
	in := string(encodeCommand([]string{"STRLEN", strings.Repeat("k", 9<<20)}))
	for _, chunk := range cut(in, 64<<10) {
		s.feed(chunk)
		if cap(s.qbuf) > 2*len(s.qbuf)+len(chunk) || cap(s.qbuf) > len(in) {
			t.Fatalf("the buffer of %d bytes has room for %d", len(s.qbuf), cap(s.qbuf))
		}
	}
	if string(s.out) != ":0\r\n" || s.qbuf != nil {
		t.Errorf("%q, keeps %d bytes", s.out, cap(s.qbuf))
	}
}

func TestClientReply(t *testing.T) {
	srv := newTestServer(t, engine.FsyncOff)
	for in, want := range map[string]string{
		"CLIENT REPLY OFF\nPING\nNONSENSE\nCLIENT REPLY ON\nPING\n":                        "+OK\r\n+PONG\r\n",
		"CLIENT REPLY SKIP\nPING\nECHO a\n":                                                "$1\r\na\r\n",
		"CLIENT REPLY SKIP\nCLIENT REPLY SKIP\nPING\nECHO a\n":                             "$1\r\na\r\n",
		"CLIENT REPLY SKIP\nCLIENT REPLY ON\nECHO a\n":                                     "+OK\r\n$1\r\na\r\n",
		"CLIENT REPLY OFF\nCLIENT REPLY SKIP\nPING\nPING\nCLIENT REPLY ON\n":               "+OK\r\n",
		"CLIENT REPLY SKIP\nCLIENT REPLY OFF\nPING\nCLIENT REPLY ON\nECHO \"a\"\nECHO b\n": "+OK\r\n$1\r\na\r\n$1\r\nb\r\n",
		"CLIENT REPLY OFF\n*1\r\n$x\r\n":                                                   "",
	} {
		for _, size := range []int{0, 1} {
			if got := feedAll(srv.newSession(), cut(in, size)); got != want {
				t.Errorf("%q: got %q, want %q", in, got, want)
			}
		}
	}
}

func TestAuthentication(t *testing.T) {
	srv := newTestServer(t, engine.FsyncOff, "requirepass", "secret")
	for in, want := range map[string]string{
		"PING\n":                         "-NOAUTH Authentication required.\r\n",
		"NONSENSE\n":                     "-ERR unknown command 'NONSENSE', with args beginning with: \r\n",
		"GET\n":                          "-ERR wrong number of arguments for 'get' command\r\n",
		"AUTH secret\nPING\n":            "+OK\r\n+PONG\r\n",
		"PING\nAUTH secret\nPING\n":      "-NOAUTH Authentication required.\r\n+OK\r\n+PONG\r\n",
		"*11\r\n":                        "-ERR Protocol error: unauthenticated multibulk length\r\n",
		"*1\r\n$16385\r\n":               "-ERR Protocol error: unauthenticated bulk length\r\n",
		"AUTH secret\n*12\r\n$17000\r\n": "+OK\r\n",
	} {
		if got := feedAll(srv.newSession(), cut(in, 0)); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	s := srv.newSession()
	if err := srv.cfg.SetRuntime([][2]string{{"requirepass", ""}}); err != nil {
		t.Fatal(err)
	}
	if got := feedAll(s, cut("PING\n", 0)); got != "+PONG\r\n" {
		t.Errorf("after the password is gone: %q", got)
	}
	open := srv.newSession()
	if err := srv.cfg.SetRuntime([][2]string{{"requirepass", "x"}}); err != nil {
		t.Fatal(err)
	}
	if got := feedAll(open, cut("PING\n", 0)); got != "+PONG\r\n" {
		t.Errorf("a client from before the password: %q", got)
	}
}

func TestHTTPIsCutOff(t *testing.T) {
	srv := newTestServer(t, engine.FsyncOff)
	s := srv.newSession()
	got := feedAll(s, cut("POST / HTTP/1.1\r\nHost: x\r\n\r\nINCR k\r\n", 0))
	if got != "" || !s.abort {
		t.Errorf("got %q, abort %v", got, s.abort)
	}
}

func TestCommandStats(t *testing.T) {
	srv := newTestServer(t, engine.FsyncOff)
	feedAll(srv.newSession(), cut("SET k a\nPING\nPING\nINCR k\nINCR n\nINCR n\nGET\nNONSENSE\n", 0))
	got := make(map[string]commandStat)
	for _, row := range srv.commandStats() {
		name := row.cmd.name
		row.cmd, row.usec = nil, 0
		got[name] = row
	}
	want := map[string]commandStat{"set": {calls: 1}, "ping": {calls: 2},
		"incr": {calls: 3, failed: 1}, "get": {rejected: 1}}
	for name, row := range want {
		if got[name] != row {
			t.Errorf("%s: %+v, want %+v", name, got[name], row)
		}
	}
	if st := srv.stats(); len(got) != len(want) || st.commandsProcessed != 6 || st.errorReplies != 3 {
		t.Errorf("%d rows, %d commands, %d errors", len(got), st.commandsProcessed, st.errorReplies)
	}
	srv.resetStats()
	if len(srv.commandStats()) > 0 {
		t.Error("resetStats leaves rows")
	}
}

// allocations is testing.AllocsPerRun, the least of a few tries: the engine's goroutines allocate, too, and on
// a slow machine more of that falls into a try than it forgives.
func allocations(runs int, fn func()) (least float64) {
	least = math.Inf(1)
	for range 5 {
		if least = min(least, testing.AllocsPerRun(runs, fn)); least == 0 {
			break
		}
	}
	return least
}

func TestHotPathAllocatesNothing(t *testing.T) {
	srv := newTestServer(t, engine.FsyncOff)
	s := srv.newSession()
	get := string(encodeCommand([]string{"GET", "counter"}))
	ping := string(encodeCommand([]string{"PING"}))
	for name, in := range map[string]string{
		"a pipeline of INCRBY": strings.Repeat(incrbyCommand, 64),
		"a pipeline of GET":    strings.Repeat(get, 64),
		"mixed":                strings.Repeat(incrbyCommand+get+ping, 20),
		"an inline command":    "INCR counter\r\n",
		"one in two pieces":    incrbyCommand,
	} {
		chunks := cut(in, 0)
		if name == "one in two pieces" {
			chunks = cut(in, 20)
		}
		run := func() {
			for _, chunk := range chunks {
				s.feed(chunk)
				for s.more { // the turn took long: the machine was busy
					s.resume()
				}
			}
			s.out = s.out[:0]
		}
		run()
		if n := allocations(100, run); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func dropContracts(t *testing.T, eng *engine.Engine) {
	t.Helper()
	list, err := eng.Contracts(&engine.Op{})
	for _, c := range list {
		if err == nil {
			_, err = eng.DelContract(&engine.Op{}, c.Glob)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// FuzzSession feeds any bytes, cut in two, to a session over a real database. It must not panic, and
// the cut must not show in the replies.
func FuzzSession(f *testing.F) {
	srv := newTestServer(f, engine.FsyncOff)
	f.Add([]byte(mixedPipeline), 17)
	for _, c := range commands().all {
		args := strings.Split(strings.ReplaceAll(c.name, "|", " "), " ")
		for len(args) < max(c.arity, -c.arity) {
			args = append(args, "1")
		}
		f.Add(encodeCommand(args), 9)
	}
	f.Fuzz(func(t *testing.T, in []byte, at int) {
		lower := bytes.ToLower(in)
		for _, changing := range []string{"shutdown", "time", "info", "client", "randomkey", "config", "hello",
			"lastsave", "cnt.hotkeys", "freq"} {
			if bytes.Contains(lower, []byte(changing)) {
				return // its replies change by themselves
			}
		}
		at = max(0, min(at, len(in)))
		var got [2]string
		for i, chunks := range [][][]byte{{in}, {in[:at], in[at:]}} {
			s := srv.newSession()
			feedAll(s, cut("FLUSHALL\r\n", 0))
			dropContracts(t, srv.eng)
			got[i] = feedAll(s, chunks)
		}
		if got[0] != got[1] {
			t.Errorf("%q cut at %d: %q\nuncut: %q", in, at, got[1], got[0])
		}
	})
}

// BenchmarkSession is a pipeline of 64 INCRBY from bytes to bytes, per command.
func BenchmarkSession(b *testing.B) {
	srv := newTestServer(b, engine.FsyncOff)
	s := srv.newSession()
	in := []byte(strings.Repeat(incrbyCommand, 64))
	b.ReportAllocs()
	for b.Loop() {
		s.feed(in)
		for s.more { // the turn took long: the machine was busy
			s.resume()
		}
		s.out = s.out[:0]
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/command")
}
