package engine

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"countd/shards"
)

// hotForms are the forms that a counter can have.
var hotForms = []shards.HotOptions{
	{Cells: 1, Writers: 2}, {Cells: 2, Writers: 2}, {Cells: 2, Writers: 2, Relaxed: true},
}

// openHot opens a database without a log, in which n is a hot counter of 1.
func openHot(t *testing.T, o shards.HotOptions) (*Engine, *Op) {
	t.Helper()
	e, _, err := Open(Options{Hot: quietDetector()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	op := &Op{Writer: e.NewWriter(), NowMs: e.NowMs()}
	mustIncr(t, e, op, "n", 1)
	if !e.forceHot(0, []byte("n"), o) {
		t.Fatal("not promoted")
	}
	return e, op
}

// TestReadsOfHotCountersAreHits: each read of a run counts.
func TestReadsOfHotCountersAreHits(t *testing.T) {
	for _, o := range hotForms {
		e, op := openHot(t, o)
		before := e.Stats().KeyspaceHits
		for _, times := range []int{1, 7} {
			if v, err := e.GetTimes(op, []byte("n"), times); err != nil || v.Int != 1 {
				t.Errorf("%v, %v", v, err)
			}
		}
		if hits := e.Stats().KeyspaceHits - before; hits != 8 {
			t.Errorf("%+v: 8 reads are %d hits", o, hits)
		}
	}
}

// TestAFailedSyncIsFinalForHotCounters: what TestAFailedSyncIsFinal says, where writes and reads need no
// lock.
func TestAFailedSyncIsFinalForHotCounters(t *testing.T) {
	for _, o := range hotForms {
		for _, policy := range []FsyncPolicy{FsyncAlways, FsyncEverySec} {
			t.Run(fmt.Sprintf("%+v,policy=%d", o, policy), func(t *testing.T) {
				var failing atomic.Bool
				fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
					if failing.Load() && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
						return errors.New("injected")
					}
					return nil
				}))
				opts := faultOptions(fs, nil)
				opts.Policy = policy
				e, _, err := Open(opts)
				if err != nil {
					t.Fatal(err)
				}
				op := Op{Writer: e.NewWriter(), NowMs: e.NowMs()}
				mustIncr(t, e, &op, "n", 1)
				if !e.forceHot(0, []byte("n"), o) || !e.TryCommit() {
					t.Fatal(e.Err())
				}
				failing.Store(true)
				mustIncr(t, e, &op, "n", 2)
				if e.TryCommit() {
					t.Fatal("a sync succeeded")
				}
				for range 2 { // the first may close the counter
					if n, err := e.IncrBy(&op, []byte("n"), 1); !errors.Is(err, ErrSyncFailed) {
						t.Errorf("a write answers %d, %v", n, err)
					}
					if v, err := e.Get(&op, []byte("n")); !errors.Is(err, ErrSyncFailed) {
						t.Errorf("a read of what is not durable answers %v, %v", v, err)
					}
				}
				_ = e.Close() // it says that the sync failed
			})
		}
	}
}

// TestTheExpiryOfAHotCounterIsThatOfItsKey, set, moved or taken away while it is hot.
func TestTheExpiryOfAHotCounterIsThatOfItsKey(t *testing.T) {
	for _, o := range hotForms {
		e, op := openHot(t, o)
		expire := func(inMs int64) {
			if set, err := e.Expire(op, []byte("n"), op.NowMs+inMs, 0); !set || err != nil {
				t.Fatal(set, err)
			}
		}
		expire(3600_000)
		expire(7200_000)
		op.NowMs += 3600_001
		mustIncr(t, e, op, "n", 2)
		expire(1)
		if had, err := e.Persist(op, []byte("n")); !had || err != nil {
			t.Fatal(had, err)
		}
		op.NowMs += 2
		mustIncr(t, e, op, "n", 3)
		expire(3600_000)
		op.NowMs += 3600_001
		if v, err := e.Get(op, []byte("n")); v.Exists || err != nil {
			t.Errorf("%+v: %v, %v after its time", o, v, err)
		}
		mustIncr(t, e, op, "n", 1)
	}
}

// TestAnIncrementThatIsClosedInOnAnswersTheValue: where a relaxed counter is closed before there is a
// sum, the answer comes from under the lock.
func TestAnIncrementThatIsClosedInOnAnswersTheValue(t *testing.T) {
	e, op := openHot(t, hotForms[2])
	hot := e.hots()[0][0]
	if _, added := hot.Add(0, 5, op.NowMs); added != shards.AddedYes {
		t.Fatal(added)
	}
	if sum := e.settleHot(hot, 0, shards.AddedBlind); sum != 6 {
		t.Errorf("it answers %d, want 6", sum)
	}
	if sum := e.settleHot(hot, 3, shards.AddedFull); sum != 3 {
		t.Errorf("one that has a sum, 3, answers %d", sum)
	}
}
