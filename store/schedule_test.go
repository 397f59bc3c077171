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
