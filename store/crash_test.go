package store

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// history is a fixed run of merges and the states between them.
func history(seed uint64, n int) (merges []merge, states []state) {
	rng := rand.New(rand.NewPCG(seed, 7))
	states = []state{{entries: map[string]string{}}}
	for i := range n {
		m := randomMerge(rng, i+1)
		merges = append(merges, m)
		states = append(states, m.after(states[i]))
	}
	return merges, states
}

// survives opens what a crash left and demands one of the states as a whole.
func survives(t *testing.T, fs vfs.FS, possible ...state) {
	t.Helper()
	s := mustOpen(t, fs)
	defer s.Close()
	var errs []error
	for _, st := range possible {
		err := differs(s, st)
		if err == nil {
			return
		}
		errs = append(errs, err)
	}
	t.Fatalf("neither state: %v", errors.Join(errs...))
}

// A crash before any I/O of an Apply, with none, some or all of what was not yet
// synced lost, leaves the old state or the new one, with its position.
func TestACrashLeavesOneStateAsAWhole(t *testing.T) {
	const seed = 1
	merges, states := history(seed, 6)
	var (
		mem    = vfs.NewCrashableMem()
		mu     sync.Mutex
		rng    = rand.New(rand.NewPCG(seed, 8))
		clones []*vfs.MemFS
	)
	hook := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			mu.Lock()
			defer mu.Unlock()
			lost := []int{0, 50, 100}[rng.IntN(3)]
			clones = append(clones, mem.CrashClone(vfs.CrashCloneCfg{
				UnsyncedDataPercent: lost, RNG: rng,
			}))
		}
		return nil
	})
	taken := func() []*vfs.MemFS {
		mu.Lock()
		defer mu.Unlock()
		all := clones
		clones = nil
		return all
	}
	s := mustOpenHeld(t, errorfs.Wrap(mem, hook), nil)
	for _, fs := range taken() { // of the first Open
		survives(t, fs, states[0])
	}
	total := 0
	for i, m := range merges {
		if err := m.apply(s); err != nil {
			t.Fatal(err)
		}
		during := taken()
		total += len(during)
		for _, fs := range during {
			survives(t, fs, states[i], states[i+1])
		}
		survives(t, mem.CrashClone(vfs.CrashCloneCfg{}), states[i+1])
	}
	t.Logf("%d crashes", total)
	s.Close()
}

// Copying a merge's tables into the store would write everything twice.
func TestTablesAreLinkedNotCopied(t *testing.T) {
	var links, creates atomic.Int64
	hook := errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpLink:
			links.Add(1)
		case errorfs.OpCreate:
			creates.Add(1)
		}
		return nil
	})
	s := mustOpenHeld(t, errorfs.Wrap(vfs.NewMem(), hook), nil)
	defer s.Close()
	creates.Store(0)
	m := merge{pos: "1", entries: map[string][]byte{"a": {1}}}
	if err := m.apply(s); err != nil {
		t.Fatal(err)
	}
	if links.Load() != 2 || creates.Load() != 2 {
		t.Errorf("%d links and %d creates for a position and one table", links.Load(), creates.Load())
	}
}

// failOnce fails the nth operation after arm.
type failOnce struct {
	left  atomic.Int64
	fired atomic.Bool
}

func (f *failOnce) String() string { return "fail once" }

func (f *failOnce) MaybeError(op errorfs.Op) error {
	if f.left.Add(-1) == 0 {
		f.fired.Store(true)
		return fmt.Errorf("injected: %w", errorfs.ErrInjected)
	}
	return nil
}

// Every I/O of an Apply fails once: Apply either fails, and the store holds the old
// state or (a fatal error only) either, or succeeds, and it holds the new state.
// Unless the error was fatal, Apply succeeds when called again.
func TestEveryFailingIOOfAnApplyIsSurvived(t *testing.T) {
	merges, states := history(2, 4)
	last := len(merges) - 1
	for n := int64(1); ; n++ {
		mem, fault, fatal := vfs.NewCrashableMem(), &failOnce{}, atomic.Bool{}
		s := mustOpenHeld(t, errorfs.Wrap(mem, fault), func(string) { fatal.Store(true) })
		for _, m := range merges[:last] {
			if err := m.apply(s); err != nil {
				t.Fatal(err)
			}
		}
		fault.left.Store(n)
		err := merges[last].apply(s)
		fault.left.Store(-1)
		crashed := mem.CrashClone(vfs.CrashCloneCfg{})
		switch {
		case fatal.Load():
			if !errors.Is(merges[last].apply(s), ErrFailed) {
				t.Fatalf("I/O %d: Apply goes on after a fatal error", n)
			}
			survives(t, crashed, states[last], states[last+1])
		case err != nil:
			survives(t, crashed, states[last])
			if err := merges[last].apply(s); err != nil {
				t.Fatalf("I/O %d: Apply does not recover: %v", n, err)
			}
			survives(t, mem.CrashClone(vfs.CrashCloneCfg{}), states[last+1])
		default:
			survives(t, crashed, states[last+1])
		}
		s.Close()
		if !fault.fired.Load() {
			t.Logf("%d I/Os", n-1)
			return
		}
	}
}

// Every I/O of an Open fails once: Open may fail, and loses nothing. After a fatal
// error Open need not return (Pebble tries again without end), so Fatal must not
// either: here it blocks, and what waits for it is left behind. The one I/O that fails
// may be that of a Pebble goroutine which opens a table while the first read waits for
// the same table: that read returns the error too, and the next must not.
func TestEveryFailingIOOfAnOpenIsSurvived(t *testing.T) {
	merges, states := history(3, 4)
	mem := vfs.NewCrashableMem()
	s := mustOpen(t, mem)
	for _, m := range merges {
		if err := m.apply(s); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	want := states[len(merges)]
	for n := int64(1); ; n++ {
		fs, fault := mem.CrashClone(vfs.CrashCloneCfg{}), &failOnce{}
		fatal, opened := make(chan struct{}), make(chan *Store)
		fault.left.Store(n)
		go func() {
			s, err := openWith(Options{FS: errorfs.Wrap(fs, fault), HoldCompaction: true, Fatal: func(string) {
				fatal <- struct{}{}
				select {}
			}, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				s = nil
			}
			opened <- s
		}()
		select {
		case <-fatal:
		case s := <-opened:
			fault.left.Store(-1)
			if s != nil {
				err := differs(s, want)
				if errors.Is(err, errorfs.ErrInjected) { // see the comment
					err = differs(s, want)
				}
				if err != nil {
					t.Fatalf("I/O %d: %v", n, err)
				}
				s.Close()
			}
		}
		survives(t, fs.CrashClone(vfs.CrashCloneCfg{}), want)
		if !fault.fired.Load() {
			t.Logf("%d I/Os", n-1)
			return
		}
	}
}

// Every I/O of a Checkpoint fails once: it either fails, and leaves nothing, or succeeds,
// and its copy survives a crash as a whole. No failure is fatal: the store takes the next
// merge, and the next checkpoint.
func TestEveryFailingIOOfACheckpointIsSurvived(t *testing.T) {
	merges, states := history(4, 4)
	last := len(merges) - 1
	for n := int64(1); ; n++ {
		mem, fault := vfs.NewCrashableMem(), &failOnce{}
		s := mustOpenHeld(t, errorfs.Wrap(mem, fault), func(msg string) { t.Errorf("I/O %d: fatal: %s", n, msg) })
		for _, m := range merges[:last] {
			if err := m.apply(s); err != nil {
				t.Fatal(err)
			}
		}
		fault.left.Store(n)
		err := s.Checkpoint("data/copy")
		fault.left.Store(-1)
		if err != nil {
			if _, serr := mem.Stat("data/copy"); serr == nil {
				t.Errorf("I/O %d: %v, but a copy is there", n, err)
			}
		} else {
			copied, err := Open(Options{FS: mem.CrashClone(vfs.CrashCloneCfg{}), Dir: "data/copy"})
			if err != nil {
				t.Fatalf("I/O %d: %v", n, err)
			}
			if err := differs(copied, states[last]); err != nil {
				t.Errorf("I/O %d: the copy: %v", n, err)
			}
			copied.Close()
		}
		if err := merges[last].apply(s); err != nil {
			t.Fatalf("I/O %d: %v", n, err)
		}
		if err := s.Checkpoint("data/copy 2"); err != nil {
			t.Fatalf("I/O %d: %v", n, err)
		}
		survives(t, mem.CrashClone(vfs.CrashCloneCfg{}), states[last+1])
		s.Close()
		if !fault.fired.Load() {
			t.Logf("%d I/Os", n-1)
			return
		}
	}
}
