package engine

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// blockedSyncs is a file system whose syncs of data wait for the gate while blocked.
type blockedSyncs struct {
	mem     *crashFS
	blocked atomic.Bool
	stuck   chan struct{} // gets one for each that waits
	gate    chan struct{}
}

func newBlockedSyncs() (*blockedSyncs, vfs.FS) {
	b := &blockedSyncs{mem: newCrashFS(), stuck: make(chan struct{}, 100), gate: make(chan struct{})}
	return b, errorfs.Wrap(b.mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSyncData && b.blocked.Load() {
			b.stuck <- struct{}{}
			<-b.gate
		}
		return nil
	}))
}

// TestABlockedSyncHoldsOnlyWhatWaits: while the sync that a key waits for takes its time, other keys
// are written and read without a wait, their flushes go on being written, and no commit is asked for
// twice.
func TestABlockedSyncHoldsOnlyWhatWaits(t *testing.T) {
	for _, policy := range []FsyncPolicy{FsyncNo, FsyncEverySec, FsyncAlways} {
		disk, fs := newBlockedSyncs()
		e, w := openWith(t, fs, policy, func(o *Options) { o.FlushInterval = 2 * time.Millisecond })
		first, other := Op{NowMs: e.NowMs()}, Op{NowMs: e.NowMs()}
		mustIncr(t, e, &first, "always:n", 1)
		if err := w.wait(&first); err != nil {
			t.Fatal(err)
		}
		disk.blocked.Store(true)
		mustIncr(t, e, &first, "always:n", 2)
		done := make(chan error)
		go func() { done <- w.wait(&first) }()
		<-disk.stuck
		mustIncr(t, e, &other, "no:n", 1)
		mustIncr(t, e, &other, "everysec:n", 1)
		killed := vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 2))}
		waitUntil(t, func() bool {
			c := openPolicy(t, disk.mem.clone(killed), policy)
			defer c.Close()
			return getInt(t, c, "everysec:n") == 1
		})
		if other.Seen != 0 || e.Durable() >= first.Seen {
			t.Errorf("policy %d: another key waits for %d, durable is %d, the key that waits wrote %d",
				policy, other.Seen, e.Durable(), first.Seen)
		}
		if _, err := e.Get(&other, []byte("always:n")); err != nil || other.Seen < first.Seen {
			t.Errorf("policy %d: a read of what waits does not wait: %v", policy, err)
		}
		if e.CommitInPlace() {
			t.Errorf("policy %d: a loop is to sync while other keys' clients wait for it", policy)
		}
		epoch := e.epoch.Load()
		for range 20 {
			e.KickCommit(first.Seen)
			time.Sleep(time.Millisecond / 2)
		}
		if got := e.epoch.Load(); got != epoch {
			t.Errorf("policy %d: %d more commits of what is being synced", policy, got-epoch)
		}
		disk.blocked.Store(false)
		close(disk.gate)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWhoComesDuringASyncSharesTheNextFlush: however many ask for a commit while a sync runs beside.
func TestWhoComesDuringASyncSharesTheNextFlush(t *testing.T) {
	disk, fs := newBlockedSyncs()
	e, w := openWith(t, fs, FsyncEverySec, func(o *Options) {})
	op := Op{NowMs: e.NowMs()}
	mustIncr(t, e, &op, "always:n", 1)
	if err := w.wait(&op); err != nil {
		t.Fatal(err)
	}
	disk.blocked.Store(true)
	mustIncr(t, e, &op, "always:n", 2)
	e.KickCommit(op.Seen)
	<-disk.stuck
	before := e.Stats()
	for n := range int64(10) {
		mustIncr(t, e, &op, "always:n", 3+n)
		e.KickCommit(op.Seen)
		time.Sleep(time.Millisecond) // a chance to flush what should not be flushed
	}
	disk.blocked.Store(false)
	close(disk.gate)
	if err := w.wait(&op); err != nil {
		t.Fatal(err)
	}
	after := e.Stats()
	if n := after.FlushedImages - before.FlushedImages; n != 1 {
		t.Errorf("%d images were flushed of one counter", n)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDurableStopsBeforeAFlushThatIsStuck: a flush that finds no room behind a sync that runs beside
// is not durable when that and the next have ended.
func TestDurableStopsBeforeAFlushThatIsStuck(t *testing.T) {
	disk, fs := newBlockedSyncs()
	var full atomic.Bool
	fs = errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && (op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpFileWriteAt) {
			return syscall.ENOSPC
		}
		return nil
	}))
	e, w := openWith(t, fs, FsyncEverySec, func(o *Options) {})
	op := Op{NowMs: e.NowMs()}
	mustIncr(t, e, &op, "always:n", 1)
	if err := w.wait(&op); err != nil {
		t.Fatal(err)
	}
	disk.blocked.Store(true)
	mustIncr(t, e, &op, "always:n", 2)
	flushOnce(t, e, true)
	<-disk.stuck
	mustIncr(t, e, &op, "always:n", 3)
	flushOnce(t, e, true)
	written := op.Seen
	mustIncr(t, e, &op, "always:n", 4)
	full.Store(true)
	e.commit.Lock()
	err := e.commitLocked(e.flushSync(true))
	e.commit.Unlock()
	if !errors.Is(e.Err(), ErrDiskFull) {
		t.Fatalf("the flush was to find no room: %v", err)
	}
	disk.blocked.Store(false)
	close(disk.gate)
	waitUntil(t, func() bool { return e.Durable() >= written })
	e.commit.Lock()
	pending := e.commit.pending
	e.commit.Unlock()
	if pending != nil || e.Durable() >= op.Seen {
		t.Errorf("durable is %d, but the flush of %d is not written", e.Durable(), op.Seen)
	}
	if _, err := e.Get(&Op{}, []byte("always:n")); !errors.Is(err, ErrDiskFull) {
		t.Errorf("a read of what is not durable: %v", err)
	}
	full.Store(false)
	if err := e.Commit(op.Seen); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
