package store

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// work busies the goroutine for d.
func work(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}

func TestOnlyCompactionsAreMadeToRest(t *testing.T) {
	p := newPacer(0.1)
	fs := &pacedFS{FS: vfs.NewMem(), pace: p}
	write := func(c vfs.DiskWriteCategory) time.Duration {
		f, err := fs.Create("f", c)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		start := time.Now()
		for range 3 {
			work(2 * paceSlice)
			if _, err := f.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		return time.Since(start)
	}
	// 6 ms of work at a tenth are 54 ms of rest; a busy machine only adds to it.
	if d := write(compactionCategory); d < 50*time.Millisecond {
		t.Errorf("a compaction took %v", d)
	}
	// Neither of these sleeps: the test would take minutes if they did.
	slow := newPacer(1e-6)
	slow.urgent.Add(1)
	slow.rest(time.Second)
	slow.urgent.Add(-1)
	slow.stop()
	slow.rest(time.Second)
	if f, _ := fs.Create("g", mergeCategory); f != nil {
		if _, paced := f.(*pacedFile); paced {
			t.Error("a merge is paced")
		}
		f.Close()
	}
}

// On a full disk every compaction fails. Pebble leaves the tables concerned alone for
// 30 seconds then; a store that tried again at once would take a whole processor.
func TestAFailingCompactionIsNotRetriedAtOnce(t *testing.T) {
	var tries atomic.Int64
	full := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") &&
			!strings.Contains(op.Path, temporaryDir) {
			tries.Add(1)
			return syscall.ENOSPC
		}
		return nil
	})
	s := mustOpen(t, errorfs.Wrap(vfs.NewMem(), full))
	m := merge{pos: "1", entries: map[string][]byte{"a": {1}, "b": {2}}}
	for range maxSublevels - 1 {
		if err := m.apply(s); err != nil {
			t.Fatal(err)
		}
	}
	for start := time.Now(); tries.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Since(start) > 2*time.Minute {
			t.Fatal("no compaction was tried")
		}
	}
	time.Sleep(300 * time.Millisecond)
	if n := tries.Load(); n > 3 {
		t.Errorf("%d tries", n)
	}
	if err := m.apply(s); err != nil { // merges need no compaction for a while
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
