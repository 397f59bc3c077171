package engine

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestAResetIsCountedInItsOwnEpoch: FLUSHDB in one epoch, a write to the same partition in the next,
// before the flush of the first visits it. That flush must count the keys without what FLUSHDB
// dropped, or a restart after it finds fewer keys than the flush says and refuses.
func TestAResetIsCountedInItsOwnEpoch(t *testing.T) {
	fs := newCrashFS()
	open := func(fs vfs.FS) *Engine {
		t.Helper()
		e, _, err := Open(Options{Dir: "data", FS: fs, Policy: FsyncAlways, FlushInterval: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	e := open(fs)
	op := Op{NowMs: e.NowMs()}
	incr := func() {
		t.Helper()
		if _, err := e.IncrBy(&op, []byte("key"), 1); err != nil {
			t.Fatal(err)
		}
	}
	incr()
	if err := e.Commit(op.Seen); err != nil {
		t.Fatal(err)
	}
	if err := e.FlushDB(&op); err != nil {
		t.Fatal(err)
	}
	e.commit.Lock() // a flush, with a write between its closing and its visits
	e.commit.closed = e.epoch.Add(1) - 1
	incr()
	e.collect()
	err := e.writeFlush(FsyncAlways)
	e.durable.Store(e.commit.closed)
	crashed := fs.clone(vfs.CrashCloneCfg{})
	e.commit.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if n := e.commit.keys[0]; n != 0 {
		t.Errorf("the flush counts %d keys after FLUSHDB, want 0", n)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		fs   vfs.FS
		keys int64
	}{{crashed, 0}, {fs, 1}} {
		e := open(c.fs)
		if n, err := e.DBSize(&op); err != nil || n != c.keys {
			t.Errorf("%d keys came back, want %d (%v)", n, c.keys, err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
