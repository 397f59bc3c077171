package wal

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// stallRun is a workload on a log with a failover on disks that stall at random.
type stallRun struct {
	mu       sync.Mutex // guards what follows: a crash may come in another goroutine
	appended map[uint64]flush
	acked    uint64
	merged   SegmentID
	mergedTo uint64

	crashes []stallCrash
}

type stallCrash struct {
	fs       *vfs.MemFS
	appended map[uint64]flush
	acked    uint64
	merged   SegmentID
	mergedTo uint64
}

func (w *stallRun) crash(s *stallFS, cfg vfs.CrashCloneCfg) {
	w.mu.Lock()
	acked := w.acked
	w.mu.Unlock()
	fs := s.crash(cfg)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.crashes = append(w.crashes, stallCrash{fs, maps.Clone(w.appended), acked, w.merged, w.mergedTo})
}

func (w *stallRun) ack(epoch uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acked = epoch
}

// Disks that stall at random, one or both, before or after they have done what was asked, and that work
// again at random: a crash at any moment keeps what was synced, and a prefix of the rest.
func TestStallsAtRandom(t *testing.T) {
	stalls, switches := int64(0), int64(0)
	for seed := range uint64(20) {
		rng := testRand(t, seed)
		s := newStallFS(t)
		w := &stallRun{appended: map[uint64]flush{}}
		l := s.open(t, 20_000)
		if _, err := l.Replay(0, func(uint64, []byte) error { return nil }); err != nil {
			t.Fatal(err)
		}
		s.setStall(func(dir, op string) (bool, bool) { // s.mu is held
			if rng.IntN(15) > 0 || len(s.held) == 1 && len(s.held[dir]) == 0 && rng.IntN(3) > 0 {
				return false, false
			}
			if len(s.held) == 2 || len(s.held) == 1 && len(s.held[dir]) == 0 { // both: one works again soon
				go s.release([]string{testDir, otherDir}[rng.IntN(2)])
				go func() { s.release(testDir); s.release(otherDir) }()
			}
			return true, rng.IntN(2) == 0
		})
		random := func(n int) int {
			s.mu.Lock()
			defer s.mu.Unlock()
			return rng.IntN(n)
		}
		for epoch := uint64(1); epoch <= 40; epoch++ {
			f := flush{epoch: epoch}
			for range 1 + random(3) {
				f.chunks = append(f.chunks, randomBytes(rand.New(rand.NewPCG(seed, epoch)), random(5000)))
			}
			w.mu.Lock()
			w.appended[epoch] = f
			w.mu.Unlock()
			if err := l.Append(epoch, f.chunks, nil); err != nil {
				t.Fatal(err)
			}
			switch random(4) {
			case 0, 1:
				syncLog(t, l)
				w.ack(epoch)
			case 2:
				w.beside(t, l, s, epoch)
			}
			if random(4) == 0 {
				s.release([]string{testDir, otherDir}[random(2)])
			}
			if random(3) == 0 {
				w.crash(s, vfs.CrashCloneCfg{UnsyncedDataPercent: random(3) * 50, RNG: rand.New(rand.NewPCG(seed, epoch))})
			}
			if !l.ShouldRotate() {
				continue
			}
			id, err := l.Rotate()
			if err != nil {
				t.Fatal(err)
			}
			w.ack(epoch)
			if random(2) == 0 {
				w.mu.Lock()
				w.merged, w.mergedTo = id, epoch
				w.mu.Unlock()
				s.setQuiet(func() {
					if err := l.Remove(id); err != nil {
						t.Fatal(err)
					}
				})
			}
		}
		got := l.FailoverStats()
		stalls, switches = stalls+got.Stalls, switches+got.Switches
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		w.ack(40)
		w.crash(s, vfs.CrashCloneCfg{})
		s.releaseAll()
		w.crash(s, vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(seed, 99))})
		for _, c := range w.crashes {
			c.check(t)
		}
	}
	t.Logf("%d stalls, %d switches", stalls, switches)
	if stalls < 50 || switches < 25 {
		t.Errorf("%d stalls and %d switches are few", stalls, switches)
	}
}

// beside syncs while a flush of nothing is appended, and a crash may come.
func (w *stallRun) beside(t *testing.T, l *Log, s *stallFS, epoch uint64) {
	t.Helper()
	run := l.BeginSync()
	done := make(chan error, 1)
	go func() { done <- run() }()
	w.crash(s, vfs.CrashCloneCfg{})
	if err := l.EndSync(<-done); err != nil {
		t.Fatal(err)
	}
	w.ack(epoch)
}

// setQuiet runs fn while nothing begins to stall.
func (s *stallFS) setQuiet(fn func()) {
	s.mu.Lock()
	old := s.stall
	s.stall = func(string, string) (bool, bool) { return false, false }
	s.mu.Unlock()
	fn()
	s.setStall(old)
}

func (c *stallCrash) check(t *testing.T) {
	t.Helper()
	l, err := Open(Options{FS: c.fs, Dir: testDir, Failover: &Failover{Dir: otherDir, Leave: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got, _, err := replayed(l, c.merged)
	if err != nil {
		t.Fatal(err)
	}
	next := c.mergedTo + 1
	for _, f := range got {
		if f.epoch != next || !equalFlushes([]flush{f}, []flush{c.appended[f.epoch]}) {
			t.Fatalf("epoch %d is replayed where %d should be, or altered", f.epoch, next)
		}
		next++
	}
	if next <= c.acked {
		t.Fatalf("replay ends before epoch %d, synced up to %d", next, c.acked)
	}
	x, err := Examine(c.fs, c.merged, testDir, otherDir)
	if err != nil || x.Damaged() {
		t.Fatal(x, err)
	}
}

// Every I/O of a failover fails once, with an error and with a full disk, after a write or a sync of
// the first directory has stalled. Then the machine crashes.
func TestEveryOperationOfAFailoverFailsOnce(t *testing.T) {
	for _, cause := range []error{syscall.EIO, syscall.ENOSPC} {
		for _, stalled := range []string{"write", "sync"} {
			for index := 0; ; index++ {
				s := newStallFS(t)
				at, on := index, false
				s.FS = errorfs.Wrap(s.mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
					s.mu.Lock()
					defer s.mu.Unlock()
					if !on || op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
						return nil
					}
					if at--; at != -1 {
						return nil
					}
					go s.release(testDir) // else a failed other directory is waited for in vain
					return cause
				}))
				l := s.open(t, 0)
				appendNumber(t, l, 1)
				syncLog(t, l)
				s.mu.Lock()
				on = true
				s.mu.Unlock()
				s.setStall(once(testDir, stalled, true))
				acked := uint64(1)
				var err error
				for epoch := uint64(2); epoch <= 4 && err == nil; epoch++ {
					for {
						err = l.Append(epoch, [][]byte{fmt.Append(nil, epoch)}, nil)
						if err == nil || !errors.Is(err, ErrDiskFull) || errors.Is(err, ErrFailed) {
							break
						}
					}
					if err == nil {
						err = l.Sync()
					}
					if err == nil {
						acked = epoch
						if epoch == 3 {
							_, err = l.Rotate()
						}
					}
				}
				s.wantEpochs(t, acked, acked+1)
				s.releaseAll()
				s.wantEpochs(t, acked, acked+1)
				if err != nil && !errors.Is(err, ErrFailed) && !errors.Is(err, ErrDiskFull) {
					t.Fatal(index, err)
				}
				s.mu.Lock() // what was released may be at it still
				passed := at >= 0
				s.mu.Unlock()
				if passed {
					t.Logf("%v, %s: %d operations", cause, stalled, index)
					break
				}
			}
		}
	}
}
