package store

import (
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestAHeldStoreDoesNotCompact: a store that needs compaction is opened without it, and it comes when it is
// let go.
func TestAHeldStoreDoesNotCompact(t *testing.T) {
	fs := vfs.NewMem()
	open := func() *Store {
		s, err := Open(Options{FS: fs, Dir: "data/store", CompactionShare: 1, HoldCompaction: true,
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	const merges = 10 // above L0CompactionThreshold
	for i := range merges {
		m := merge{pos: fmt.Sprint(i), entries: map[string][]byte{"a": {byte(i)}, "b": {byte(i)}}}
		if err := m.apply(s); err != nil {
			t.Fatal(err)
		}
	}
	high := s.Metrics().Sublevels // the first merge fell to the bottom
	if high < merges-1 {
		t.Fatalf("%d merges lie on top of one another, want %d", high, merges-1)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open()
		time.Sleep(2 * scheduleTick)
		if n := s.Metrics().Sublevels; n != high {
			t.Fatalf("%d merges lie on top of one another, want %d as before", n, high)
		}
	}
	s.LetCompact()
	for deadline := time.Now().Add(2 * time.Minute); s.Metrics().Sublevels >= high; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not compact after it was let go")
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestTwoCompactionsRunWhileAnApplyWaits, else one, and none once the scheduler has ended.
func TestTwoCompactionsRunWhileAnApplyWaits(t *testing.T) {
	pace := newPacer(0.5)
	s := newCompactScheduler(pace, true)
	running := 0
	fill := func() int {
		for {
			ok, handle := s.TrySchedule()
			if !ok {
				return running
			}
			if running++; running > maxCompactions || handle == nil {
				t.Fatalf("%d run, the last with %v", running, handle)
			}
		}
	}
	end := func() { running--; s.Done() }
	if fill() != 0 {
		t.Error("one runs while it is held")
	}
	s.letGo()
	if fill() != 1 {
		t.Errorf("%d run, want 1", running)
	}
	pace.urgent.Add(1)
	if fill() != 2 {
		t.Errorf("%d run while an Apply waits, want 2", running)
	}
	pace.urgent.Add(-1)
	if end(); fill() != 1 {
		t.Errorf("%d run after one of two has ended, want 1", running)
	}
	if end(); fill() != 1 {
		t.Errorf("%d run after all have ended, want 1", running)
	}
	end()
	s.Unregister()
	if fill() != 0 {
		t.Error("one begins behind the end")
	}
}
