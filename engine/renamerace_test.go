package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"countd/shards"
)

// TestNothingIsLostBetweenTwoKeys renames and moves counters at random between a few names of three
// databases, while they are incremented, promoted and demoted, and while others lock whole tables: no
// counter and no increment gets lost or doubled, and nobody waits for ever.
func TestNothingIsLostBetweenTwoKeys(t *testing.T) {
	seed := newSeed()
	t.Logf("seed %d", seed)
	e, _, err := Open(Options{Dir: "data", FS: vfs.NewMem(), Policy: FsyncNo, FlushInterval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	const (
		databases, names, counters = 3, 6, 8
		movers, steps              = 4, 20_000
	)
	name := func(i int) []byte { return fmt.Appendf(nil, "name%d", i) }
	setup := Op{NowMs: e.NowMs()}
	for i := range counters { // the millions tell which it is
		setup.DB = i % databases
		if _, err := e.IncrBy(&setup, name(i/databases), int64(i+1)*1_000_000); err != nil {
			t.Fatal(err)
		}
	}
	var moved, others sync.WaitGroup
	var incremented [movers]int64
	for m := range movers {
		op := Op{NowMs: e.NowMs(), Writer: e.NewWriter()}
		rng := rand.New(rand.NewPCG(seed, uint64(m)))
		moved.Go(func() {
			for range steps {
				op.DB = rng.IntN(databases)
				src, dst := name(rng.IntN(names)), name(rng.IntN(names))
				var err error
				switch rng.IntN(4) {
				case 0:
					_, err = e.Move(&op, src, rng.IntN(databases))
				case 1: // a counter there is, since an absent key would begin another
					var n int64
					if n, err = e.incrPresent(&op, src); n > 0 {
						incremented[m]++
					}
				default:
					_, err = e.Rename(&op, src, dst, true)
				}
				if err != nil && err != ErrNoKey {
					t.Error(err)
				}
			}
		})
	}
	stop := make(chan struct{})
	streams := uint64(movers)
	other := func(fn func(op *Op, rng *rand.Rand) error) {
		rng := rand.New(rand.NewPCG(seed, streams))
		streams++
		others.Go(func() {
			op := Op{NowMs: e.NowMs()}
			for {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Microsecond):
				}
				if err := fn(&op, rng); err != nil {
					t.Error(err)
				}
			}
		})
	}
	other(func(op *Op, rng *rand.Rand) error { return e.Commit(Epoch(e.epoch.Load())) })
	other(func(op *Op, rng *rand.Rand) error {
		op.DB = 9 // empty, but all of its locks are taken
		return e.FlushDB(op)
	})
	other(func(op *Op, rng *rand.Rand) error { return e.SetContract(op, Contract{Glob: "other"}) })
	other(func(op *Op, rng *rand.Rand) error {
		op.DB = rng.IntN(databases)
		keys := [][]byte{name(rng.IntN(names)), name(rng.IntN(names)), name(rng.IntN(names))}
		_, err := e.MGet(op, keys)
		return err
	})
	other(func(op *Op, rng *rand.Rand) error {
		op.DB = rng.IntN(databases)
		src, db := name(rng.IntN(names)), rng.IntN(databases)
		_, err := e.Copy(op, src, db, []byte("copy"), true)
		return err
	})
	other(func(op *Op, rng *rand.Rand) error {
		db, key := rng.IntN(databases), name(rng.IntN(names))
		if rng.IntN(3) == 0 {
			e.demote(db, key)
		} else {
			e.forceHot(db, key, shards.HotOptions{Cells: movers, Writers: movers})
		}
		return nil
	})
	moved.Wait()
	close(stop)
	others.Wait()

	total, ids := int64(0), []int64{}
	for db := range databases {
		for i := range names {
			op := Op{NowMs: e.NowMs(), DB: db}
			v, err := e.Get(&op, name(i))
			if err != nil {
				t.Fatal(err)
			}
			if v.Exists {
				ids = append(ids, v.Int/1_000_000)
				total += v.Int % 1_000_000
			}
		}
	}
	slices.Sort(ids)
	if want := []int64{1, 2, 3, 4, 5, 6, 7, 8}; !slices.Equal(ids, want) {
		t.Errorf("there are counters %v, want %v", ids, want)
	}
	want := int64(0)
	for _, n := range incremented {
		want += n
	}
	if total != want || want == 0 {
		t.Errorf("%d increments, want %d", total, want)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// incrPresent increments key if it is there, and returns its value.
func (e *Engine) incrPresent(op *Op, key []byte) (n int64, err error) {
	t := e.table(op.DB)
	if hot, current := e.hotOf(op, t, t.Hash(key), key); current {
		if sum, ok := e.incrHot(op, hot, 1); ok {
			return sum, nil
		}
	}
	en := e.lock(op, key)
	defer en.p.Unlock()
	if en.r == 0 {
		return 0, nil
	}
	return e.incrOther(op, &en, key, 1)
}
