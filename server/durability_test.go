package server

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"countd/engine"
)

// A gatedDisk is a file system whose syncs of data wait at a gate while it is shut.
type gatedDisk struct {
	vfs.FS
	shut  atomic.Bool
	fails atomic.Bool
	stuck chan struct{} // gets one for each sync that waits
	gate  chan struct{}
}

func newGatedDisk() *gatedDisk {
	d := &gatedDisk{stuck: make(chan struct{}, 1000), gate: make(chan struct{})}
	d.FS = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSyncData && d.shut.Load() {
			d.stuck <- struct{}{}
			<-d.gate
			if d.fails.Load() {
				return errors.New("injected")
			}
		}
		return nil
	}))
	return d
}

func (d *gatedDisk) open() {
	if d.shut.Swap(false) {
		close(d.gate)
	}
}

// serveOn serves on one loop an engine on disk.
func serveOn(t *testing.T, disk *gatedDisk, policy engine.FsyncPolicy) (eng *engine.Engine, addr string) {
	t.Helper()
	eng, _, err := engine.Open(engine.Options{Dir: "data", FS: disk, Policy: policy,
		FlushInterval: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = eng.Close() })
	srv, err := New(Options{Engine: eng})
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.cfg.Set("io-threads", []string{"1"}); err != nil {
		t.Fatal(err)
	}
	addr = serve(t, srv)
	t.Cleanup(disk.open) // before the server is stopped
	return eng, addr
}

// shutBehind increments the key waits, to want, once the disk is shut, and returns when a sync is stuck and the
// increment was made. The sync may be that of what came before.
func (d *gatedDisk) shutBehind(t *testing.T, eng *engine.Engine, c *client, pipeline string, want int64) {
	t.Helper()
	d.shut.Store(true)
	c.send(pipeline)
	<-d.stuck
	waitFor(t, "the increment", func() bool {
		v, err := eng.Get(&engine.Op{NowMs: eng.NowMs()}, []byte("waits"))
		return err == nil && v.Int == want
	})
}

// wantNothing expects that nothing comes. It waits a little, to give what should not come a chance.
func (c *client) wantNothing() {
	c.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if b, err := c.r.Peek(1); !errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Errorf("%q comes (%v), but the sync has not ended", b, err)
	}
	_ = c.SetReadDeadline(time.Now().Add(patience))
}

// TestAKeyThatWaits: on one loop, while a sync is stuck, replies about the key that waits are held, with
// those behind them on their connections and with what tells of all keys; those of other connections
// about other keys leave at once. When the sync ends all come, in order.
func TestAKeyThatWaits(t *testing.T) {
	for name, c := range map[string]struct {
		policy   engine.FsyncPolicy
		contract string
	}{
		"always under everysec": {engine.FsyncEverySec, "waits* DURABILITY always"},
		"always under no":       {engine.FsyncNo, "waits* DURABILITY always"},
		"everysec under always": {engine.FsyncAlways, "other* DURABILITY everysec"},
		"no under always":       {engine.FsyncAlways, "other* DURABILITY no"},
	} {
		t.Run(name, func(t *testing.T) {
			disk := newGatedDisk()
			eng, addr := serveOn(t, disk, c.policy)
			writer, reader, counter, other := dial(t, addr), dial(t, addr), dial(t, addr), dial(t, addr)
			other.send("CNT.CONTRACT SET " + c.contract + "\r\nINCR other\r\n")
			other.want("+OK\r\n:1\r\n")
			writer.send("INCR waits\r\nINCR other:w\r\n")
			writer.want(":1\r\n:1\r\n")

			disk.shutBehind(t, eng, writer, "INCR waits\r\n", 2)
			writer.send("INCR other:w\r\n")
			reader.send("GET waits\r\nGET other:w\r\n")
			counter.send("DBSIZE\r\n")
			for n := 2; n < 20; n++ {
				other.send("INCRBY other 1\r\nGET other\r\nPING\r\n")
				other.want(":" + strconv.Itoa(n) + "\r\n" + bulkReply(strconv.Itoa(n)) + "+PONG\r\n")
			}
			writer.wantNothing()
			reader.wantNothing()
			counter.wantNothing()

			disk.open()
			writer.want(":2\r\n:2\r\n")
			reader.want(bulkReply("2"))
			if _, err := reader.r.ReadString('\n'); err != nil { // 1 or 2
				t.Fatal(err)
			}
			counter.want(":3\r\n")
		})
	}
}

// TestWhatIsHeldOutlastsContractsAndPolicy: a reply that is held stays so until it is durable, though its
// key has another contract and the server another policy by then.
func TestWhatIsHeldOutlastsContractsAndPolicy(t *testing.T) {
	disk := newGatedDisk()
	eng, addr := serveOn(t, disk, engine.FsyncEverySec)
	writer, admin := dial(t, addr), dial(t, addr)
	admin.send("CNT.CONTRACT SET waits DURABILITY always\r\n")
	admin.want("+OK\r\n")
	writer.send("INCR waits\r\n")
	writer.want(":1\r\n")
	disk.shutBehind(t, eng, writer, "INCR waits\r\n", 2)
	admin.send("CONFIG SET appendfsync no\r\n")
	admin.want("+OK\r\n")
	admin.send("CNT.CONTRACT DEL waits\r\n") // its own reply waits, too
	writer.wantNothing()
	admin.wantNothing()
	writer.send("INCR waits\r\n")
	writer.wantNothing()
	disk.open()
	writer.want(":2\r\n:3\r\n")
	admin.want(":1\r\n")
	writer.send("INCR waits\r\n")
	writer.want(":4\r\n")
}

// TestAFailedSyncClosesWhatIsHeld: replies that can never be durable are dropped with their connections,
// under every policy; others are told that writes are refused.
func TestAFailedSyncClosesWhatIsHeld(t *testing.T) {
	for _, policy := range []engine.FsyncPolicy{engine.FsyncEverySec, engine.FsyncNo} {
		disk := newGatedDisk()
		eng, addr := serveOn(t, disk, policy)
		writer, other := dial(t, addr), dial(t, addr)
		other.send("CNT.CONTRACT SET waits DURABILITY always\r\nINCR other\r\n")
		other.want("+OK\r\n:1\r\n")
		disk.shutBehind(t, eng, writer, "INCR waits\r\nINCR other:w\r\n", 1)
		other.send("INCR other\r\n")
		other.want(":2\r\n")
		disk.fails.Store(true)
		disk.open()
		writer.wantEnd()
		other.send("INCR waits\r\n")
		if line, err := other.r.ReadString('\n'); err != nil || !strings.HasPrefix(line, "-MISCONF") {
			t.Errorf("policy %d: a write answers %q, %v", policy, line, err)
		}
		other.send("PING\r\n")
		other.want("+PONG\r\n")
	}
}
