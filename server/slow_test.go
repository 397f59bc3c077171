package server

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"countd/engine"
)

// A slowMerger is a server of one loop whose tail is capped at 16 KiB, and whose merges wait while it is
// shut. Rests end when the test calls what rests yields.
type slowMerger struct {
	t     *testing.T
	srv   *Server
	addr  string
	shut  atomic.Bool
	gate  chan struct{}
	rests chan func()
}

func newSlowMerger(t *testing.T) *slowMerger {
	t.Helper()
	m := &slowMerger{t: t, gate: make(chan struct{}), rests: make(chan func(), 1000)}
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") && m.shut.Load() {
			<-m.gate
		}
		return nil
	}))
	m.srv = newServerOn(t, engine.Options{
		Dir: "data", FS: fs, Policy: engine.FsyncNo, FlushInterval: time.Millisecond,
		SegmentBytes: 4 << 10, MergeBytes: 1, TailBytes: 16 << 10,
	}, "io-threads", "1")
	m.srv.after = func(_ time.Duration, end func()) { m.rests <- end }
	m.addr = serve(t, m.srv)
	t.Cleanup(m.open)
	m.shut.Store(true)
	return m
}

// open lets the merges go on.
func (m *slowMerger) open() {
	if m.shut.Swap(false) {
		close(m.gate)
	}
}

// fill has c write until it rests, and returns what ends the rest.
func (m *slowMerger) fill(c *client, prefix string) (end func()) {
	m.t.Helper()
	for i := range 100_000 { // one by one: of a pipeline that comes in two parts the second would wait
		c.send(pipeline(fmt.Sprintf("SET %s:%d %s", prefix, i, strings.Repeat("x", 50))))
		c.want("+OK\r\n") // also where it rests then: replies do not
		select {
		case end = <-m.rests:
			return end
		default:
		}
	}
	m.t.Fatal("the writer never rests")
	return nil
}

// info is a field of INFO persistence, as c gets it.
func (c *client) info(field string) string {
	c.t.Helper()
	c.send("INFO persistence\r\n")
	n := 0
	if _, err := fmt.Fscanf(c.r, "$%d\r\n", &n); err != nil {
		c.t.Fatal(err)
	}
	b := make([]byte, n+2)
	for got := 0; got < len(b); {
		k, err := c.r.Read(b[got:])
		if got += k; err != nil {
			c.t.Fatal(err)
		}
	}
	found := regexp.MustCompile(`(?m)^` + field + `:(.*)\r$`).FindSubmatch(b)
	if found == nil {
		c.t.Fatalf("INFO has no %s", field)
	}
	return string(found[1])
}

// TestWritersAreSlowed: where the log has passed its cap sessions that write rest, in INFO's sight, and
// only they: readers of the same loop are served. It ends when the merges have caught up.
func TestWritersAreSlowed(t *testing.T) {
	m := newSlowMerger(t)
	reader, writer, other := dial(t, m.addr), dial(t, m.addr), dial(t, m.addr)
	reader.send("SET r 7\r\n")
	reader.want("+OK\r\n")
	if slowed := reader.info("writers_slowed"); slowed != "0" {
		t.Fatalf("writers_slowed is %s before anything was written", slowed)
	}

	end := m.fill(writer, "a")
	writer.send("INCR n\r\nINCR n\r\n")
	writer.send("GET n\r\nINCR n\r\n")
	endOther := m.fill(other, "b") // another one rests, too
	other.send("ECHO other\r\n")
	for range 100 {
		reader.send("GET r\r\nEXISTS r n\r\n")
		reader.want(bulkReply("7") + ":1\r\n")
	}
	if slowed := reader.info("writers_slowed"); slowed != "1" {
		t.Errorf("writers_slowed is %s while writers rest", slowed)
	}
	tail, err1 := strconv.Atoi(reader.info("log_tail_bytes"))
	limit, err2 := strconv.Atoi(reader.info("log_tail_cap"))
	if err1 != nil || err2 != nil || limit != 16<<10 || tail <= limit {
		t.Errorf("the tail is %d (%v), its cap %d (%v)", tail, err1, limit, err2)
	}
	writer.wantNothing()
	other.wantNothing()
	end()
	writer.want(":1\r\n:2\r\n" + bulkReply("2") + ":3\r\n")
	other.wantNothing()
	if m.srv.stats().slowedNanos == 0 {
		t.Error("INFO does not count the rest")
	}
	m.open()
	for deadline := time.Now().Add(time.Minute); reader.info("writers_slowed") != "0"; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("writers are slowed for ever")
		}
	}
	endOther()
	other.want(bulkReply("other"))
	for len(m.rests) > 0 { // the second turn of the writer
		(<-m.rests)()
	}
	waitFor(t, "the merges", func() bool { // of all but the log's last segment
		tail, err := strconv.Atoi(reader.info("log_tail_bytes"))
		return err == nil && tail < 8<<10
	})
	for n := 4; n < 40; n++ { // fewer than fill the log again, however slow the merger
		writer.send("INCR n\r\n")
		writer.want(fmt.Sprintf(":%d\r\n", n))
	}
	if n := len(m.rests); n > 0 {
		t.Errorf("%d rests after the merges have caught up", n)
	}
}

// TestASessionThatEndsWhileItRests: killed or reset it leaves nothing behind; one that ended its sending gets
// what it is owed.
func TestASessionThatEndsWhileItRests(t *testing.T) {
	m := newSlowMerger(t)
	admin, killed, reset, half := dial(t, m.addr), dial(t, m.addr), dial(t, m.addr), dial(t, m.addr)
	var ends []func()
	for i, c := range []*client{killed, reset, half} {
		ends = append(ends, m.fill(c, string(rune('a'+i))))
		c.send("INCR n\r\n")
	}
	admin.send("CLIENT KILL LADDR " + m.addr + " ADDR " + killed.LocalAddr().String() + "\r\n")
	admin.want(":1\r\n")
	killed.wantEnd()
	_ = reset.SetLinger(0)
	_ = reset.Close()
	if err := half.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); m.srv.connected.Load() != 2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d clients are counted", m.srv.connected.Load())
		}
	}
	for _, end := range ends {
		end()
	}
	half.want(":1\r\n") // the others did not write
	half.wantEnd()
}
