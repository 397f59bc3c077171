package server

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"countd/engine"
)

// A slowStore is a server of one loop whose keys w.cold are on disk alone and not in the store's cache, each
// with the number in its name for a value; warm:0 and warm:1 are in memory. While it is shut, reads of the store wait.
type slowStore struct {
	t    *testing.T
	srv  *Server
	addr string
	shut atomic.Bool
	gate chan struct{}
	cold []string
	done chan struct{} // closed when the server has ended
}

const coldKeys = 20_000

// val is the value of cold[i].
func (w *slowStore) val(i int) int64 {
	n, err := strconv.ParseInt(strings.TrimPrefix(w.cold[i], "cold:"), 10, 64)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func newSlowStore(t *testing.T) *slowStore {
	t.Helper()
	w := &slowStore{t: t, gate: make(chan struct{}), done: make(chan struct{})}
	mem := vfs.NewMem()
	o := engine.Options{Dir: "data", FS: mem, Policy: engine.FsyncNo, SegmentBytes: 4 << 10, MergeBytes: 1}
	all := fillStore(t, o, "cold:", coldKeys, func(eng *engine.Engine) bool { return eng.Stats().Merges > 0 })
	w.cold = all[len(all)/2:] // a start reads the first block of the store
	o.SegmentBytes, o.MergeBytes = 1<<20, 1<<30
	fillStore(t, o, "warm:", 2, func(*engine.Engine) bool { return true }) // stays in the log
	o.FS = errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if w.shut.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsRead && strings.HasSuffix(op.Path, ".sst") {
			<-w.gate
		}
		return nil
	}))
	o.MaxMemory = 1 // so that a start reads nothing back
	w.srv = newServerOn(t, o, "io-threads", "1", "maxmemory", "1", "port", "0")
	w.shut.Store(true)
	served := make(chan error, 1)
	go func() { served <- w.srv.Serve(); close(w.done) }()
	<-w.srv.Ready()
	w.addr = w.srv.Addr()
	t.Cleanup(func() {
		w.open()
		w.srv.Shutdown()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return w
}

// fillStore sets keys prefix0, prefix1, … to their numbers, and writes other keys until done.
// It returns them in the order of the store.
func fillStore(
	t *testing.T, o engine.Options, prefix string, n int, done func(*engine.Engine) bool,
) (order []string) {
	t.Helper()
	o.FlushInterval = time.Hour // so that one flush has all keys, and one merge
	eng, _, err := engine.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	set := func(key, val string) {
		op := engine.Op{NowMs: eng.NowMs()}
		if _, _, err := eng.Set(&op, []byte(key), []byte(val), engine.SetOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		set(prefix+strconv.Itoa(i), strconv.Itoa(i))
	}
	op := engine.Op{NowMs: eng.NowMs()}
	if err := eng.Keys(&op, func(key []byte) { order = append(order, string(key)) }); err != nil {
		t.Fatal(err)
	}
	for first := true; first || !done(eng); first = false {
		if !first {
			set("filler", strings.Repeat("x", 100))
		}
		if err := eng.Commit(engine.Epoch(1 << 62)); err != nil {
			t.Fatal(err)
		}
	}
	if err := eng.Close(); err != nil {
		t.Fatal(err)
	}
	return order
}

// open lets the reads go on.
func (w *slowStore) open() {
	if w.shut.Swap(false) {
		close(w.gate)
	}
}

// inLoop runs fn in the loop and waits for it.
func (w *slowStore) inLoop(fn func(l *loop)) {
	w.t.Helper()
	for len(w.srv.loops()) == 0 { // gnet makes one for the first connection
		time.Sleep(time.Millisecond)
	}
	l, done := w.srv.loops()[0], make(chan struct{})
	l.post(func() { fn(l); close(done) })
	select {
	case <-done:
	case <-time.After(time.Minute):
		w.t.Fatal("the loop is stuck")
	}
}

// sessions waits until there are so many sessions, so many of them parked, and so many loads.
func (w *slowStore) sessions(want, wantParked, wantLoads int) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		n, parked := 0, 0
		w.inLoop(func(l *loop) {
			for _, s := range l.mu.sessions {
				if n++; s.parked {
					parked++
				}
			}
		})
		if loads := len(w.srv.loads); n == want && parked == wantParked && loads == wantLoads {
			return
		} else if time.Now().After(end) {
			w.t.Fatalf("%d sessions, %d parked, %d loads; want %d, %d, %d", n, parked, loads, want, wantParked, wantLoads)
		}
	}
}

func pipeline(lines ...string) (text string) {
	for _, line := range lines {
		text += string(encodeCommand(strings.Fields(line)))
	}
	return text
}

// TestWhileASessionIsParked: while the store is read for one session, others of its loop are served, its own
// replies keep their order, and what it asked before it was parked is answered at once.
func TestWhileASessionIsParked(t *testing.T) {
	for name, form := range map[string]func(lines ...string) string{
		"RESP":   pipeline,
		"inline": func(lines ...string) string { return strings.Join(lines, "\r\n") + "\r\n" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newSlowStore(t)
			c, other := dial(t, w.addr), dial(t, w.addr)
			c.send(form("PING"))
			c.want("+PONG\r\n")
			k := w.cold
			c.send(form("GET "+k[1], "SET x 1", "PING", "GET x", "MGET "+k[2]+" x nosuchkey "+k[3], "DEL "+k[1]))
			w.sessions(2, 1, 1)
			c.send(form("EXISTS "+k[1]+" "+k[4], "INCRBY "+k[5]+" 10"))
			for i := range 20 {
				other.send(form("INCR warm:0", "GET warm:1", "ECHO here"))
				other.want(fmt.Sprintf(":%d\r\n", i+1) + bulkReply("1") + bulkReply("here"))
			}
			c.wantNothing()
			w.open()
			bulk := func(i int) string { return bulkReply(strconv.FormatInt(w.val(i), 10)) }
			c.want(bulk(1) + "+OK\r\n+PONG\r\n" + bulkReply("1") + "*4\r\n" + bulk(2) + bulkReply("1") + "$-1\r\n" +
				bulk(3) + ":1\r\n" + ":1\r\n" + fmt.Sprintf(":%d\r\n", w.val(5)+10))
			w.sessions(2, 0, 0)
		})
	}
}

// TestColdPipelinesAreReadBesideTheLoop: whatever the number of keys in a command, and however the commands are
// split off, none is read by the loop.
func TestColdPipelinesAreReadBesideTheLoop(t *testing.T) {
	w := newSlowStore(t)
	if err := w.srv.eng.SetMaxMemory(1 << 30); err != nil { // what was read stays
		t.Fatal(err)
	}
	w.open()
	c, next := dial(t, w.addr), 0
	for _, keys := range []int{1, 3, 5, 7, 150} {
		var text, want strings.Builder
		for i := range 100 {
			args := []string{"MGET"}
			fmt.Fprintf(&want, "*%d\r\n", keys)
			for range keys {
				args = append(args, w.cold[next%len(w.cold)])
				want.WriteString(bulkReply(strconv.FormatInt(w.val(next%len(w.cold)), 10)))
				next++
			}
			text.Write(encodeCommand(args))
			if i%20 == 7 { // repeats
				text.WriteString(strings.Repeat(pipeline("PING"), 5))
				want.WriteString(strings.Repeat("+PONG\r\n", 5))
			}
		}
		c.send(text.String())
		c.want(want.String())
	}
	if n := w.srv.eng.Stats().Faults; n != 0 {
		t.Errorf("%d of %d keys were read by the loop", n, next)
	}
}

// TestAScanOfTheStoreIsBesideTheLoop: SCAN and RANDOMKEY read the store while others of their loop are served,
// and what they find is all there is.
func TestAScanOfTheStoreIsBesideTheLoop(t *testing.T) {
	w := newSlowStore(t)
	c, random, other := dial(t, w.addr), dial(t, w.addr), dial(t, w.addr)
	c.send(pipeline("SCAN 0 MATCH cold:* COUNT 1000000 TYPE string", "ECHO behind"))
	const randoms = 20 // of one the part of the store that a start reads may have it
	random.send(strings.Repeat(pipeline("RANDOMKEY"), randoms))
	other.send(pipeline("PING"))
	other.want("+PONG\r\n")
	w.sessions(3, 2, 2)
	other.send(pipeline("INCR warm:0", "ECHO here"))
	other.want(":1\r\n" + bulkReply("here"))
	c.wantNothing()
	w.open()
	c.want("*2\r\n" + bulkReply("0") + fmt.Sprintf("*%d\r\n", coldKeys))
	found := map[string]bool{}
	for range coldKeys {
		found[strings.TrimSpace(c.bulk())] = true
	}
	c.want(bulkReply("behind"))
	for _, key := range w.cold {
		if !found[key] {
			t.Fatalf("%s is missing", key)
		}
	}
	for range randoms {
		if key := random.bulk(); !strings.Contains(key, ":") {
			t.Errorf("RANDOMKEY: %q", key)
		}
	}
	w.sessions(3, 0, 0)
}

// TestAParkedSessionThatEnds: closed by its client, reset, or killed, it leaves nothing behind; one that
// only ended its sending gets what it is owed.
func TestAParkedSessionThatEnds(t *testing.T) {
	w := newSlowStore(t)
	admin := dial(t, w.addr)
	admin.send("CLIENT ID\r\n")
	admin.want(":1\r\n")
	parked := make([]*client, 4)
	for i := range parked {
		parked[i] = dial(t, w.addr)
		parked[i].send("CLIENT ID\r\n")
		parked[i].want(fmt.Sprintf(":%d\r\n", i+2))
		parked[i].send(pipeline("INCRBY "+w.cold[i]+" 100", "INCRBY "+w.cold[i]+" 1000"))
	}
	killed, closed, reset, half := parked[0], parked[1], parked[2], parked[3]
	w.sessions(5, 4, 4)
	admin.send("CLIENT KILL ID 2\r\n")
	admin.want(":1\r\n")
	killed.wantEnd()
	_ = reset.SetLinger(0)
	_ = reset.Close()
	w.sessions(3, 2, 4) // of those that are gone only the reads go on
	if err := half.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	_ = closed.Close() // whether it only ended its sending is not known yet
	admin.send("PING\r\n")
	admin.want("+PONG\r\n")
	w.sessions(3, 2, 4)
	w.open()
	half.want(fmt.Sprintf(":%d\r\n:%d\r\n", w.val(3)+100, w.val(3)+1100))
	half.wantEnd()
	w.sessions(1, 0, 0)
	if n := w.srv.connected.Load(); n != 1 {
		t.Errorf("%d clients are counted", n)
	}
	// A command of a connection that was gone has not run, nor half of one.
	for i, add := range []int64{0, -1, 0, 1100} { // of the second that is not known
		if add >= 0 {
			admin.send(pipeline("GET " + w.cold[i]))
			admin.want(bulkReply(strconv.FormatInt(w.val(i)+add, 10)))
		}
	}
}

// TestAStopWaitsForReads: who stops the server closes the engine next, which must not be read then.
func TestAStopWaitsForReads(t *testing.T) {
	w := newSlowStore(t)
	c := dial(t, w.addr)
	c.send(pipeline("GET " + w.cold[0]))
	w.sessions(1, 1, 1)
	go w.srv.Shutdown()
	c.wantEnd() // the loop has ended
	select {
	case <-w.done:
		t.Fatal("the server has ended while the store is read")
	case <-time.After(20 * time.Millisecond): // gives what should not come a chance
	}
	w.open()
	<-w.done
	if n := len(w.srv.loads); n > 0 {
		t.Errorf("%d loads go on", n)
	}
}
