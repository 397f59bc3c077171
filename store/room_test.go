package store

import (
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// fullFor is a file system that has no room for the MANIFEST and for markers while full is set; tried is
// called for each attempt.
func fullFor(fs vfs.FS, full *atomic.Bool, tried func()) vfs.FS {
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		written := op.Kind == errorfs.OpFileWrite && strings.Contains(op.Path, manifestPrefix) ||
			op.Kind == errorfs.OpCreate && strings.Contains(op.Path, markerPrefix)
		if written && full.Load() {
			tried()
			return syscall.ENOSPC
		}
		return nil
	}))
}

// TestAMergeWaitsForRoom: where only the record that ends a merge finds the disk full, the merge ends when
// there is room, and nothing is fatal; reads go on meanwhile.
func TestAMergeWaitsForRoom(t *testing.T) {
	var full atomic.Bool
	tried := make(chan struct{}, 1000)
	mem := vfs.NewCrashableMem()
	s := mustOpenHeld(t, fullFor(mem, &full, func() { tried <- struct{}{} }), nil)
	first := merge{pos: "1", entries: map[string][]byte{"a": {1}, "b": {2}}}
	second := merge{pos: "2", entries: map[string][]byte{"b": {3}, "c": {4}}}
	if err := first.apply(s); err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	applied := make(chan error, 1)
	go func() { applied <- second.apply(s) }()
	for range 3 {
		<-tried
	}
	if v, ok, err := s.Get([]byte("b"), nil); err != nil || !ok || v[0] != 2 {
		t.Errorf("while the merge waits: %v, %v, %v", v, ok, err)
	}
	select {
	case err := <-applied:
		t.Fatalf("the merge has ended: %v", err)
	default:
	}
	full.Store(false)
	if err := <-applied; err != nil {
		t.Fatal(err)
	}
	want := second.after(first.after(state{entries: map[string]string{}}))
	if err := differs(s, want); err != nil {
		t.Error(err)
	}
	crashed := mem.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	survives(t, crashed, want)
}

// TestAMergeWaitsForRoomWhateverTheDirectoryIsCalled: Pebble joins paths, and so shortens them.
func TestAMergeWaitsForRoomWhateverTheDirectoryIsCalled(t *testing.T) {
	var full atomic.Bool
	fs := fullFor(vfs.Default, &full, func() { full.Store(false) })
	s, err := Open(Options{FS: fs, Dir: t.TempDir() + "/./store//", HoldCompaction: true,
		Fatal: func(msg string) { t.Errorf("fatal: %s", msg) }})
	if err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	m := merge{pos: "1", entries: map[string][]byte{"a": {1}}}
	if err := m.apply(s); err != nil || full.Load() {
		t.Errorf("%v; it was tried without room: %v", err, !full.Load())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestCloseDoesNotWaitForRoom: the merge that waits gets the error, Close none, since there is nothing to be
// written, and the next Open finds the old state. GiveUp does the same before.
func TestCloseDoesNotWaitForRoom(t *testing.T) {
	for _, giveUp := range []bool{false, true} {
		var full atomic.Bool
		tried := make(chan struct{}, 1000)
		mem := vfs.NewCrashableMem()
		s := mustOpenHeld(t, fullFor(mem, &full, func() { tried <- struct{}{} }), nil)
		first := merge{pos: "1", entries: map[string][]byte{"a": {1}}}
		if err := first.apply(s); err != nil {
			t.Fatal(err)
		}
		full.Store(true)
		applied, closed := make(chan error, 1), make(chan error, 1)
		go func() { applied <- merge{pos: "2", entries: map[string][]byte{"a": {2}}}.apply(s) }()
		<-tried
		crashed := mem.CrashClone(vfs.CrashCloneCfg{})
		if giveUp {
			s.GiveUp()
		} else {
			go func() { closed <- s.Close() }()
		}
		if err := <-applied; !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Apply: %v", err)
		}
		if giveUp {
			if v, ok, err := s.Get([]byte("a"), nil); err != nil || !ok || v[0] != 1 {
				t.Errorf("after GiveUp: %v, %v, %v", v, ok, err)
			}
			closed <- s.Close()
		}
		if err := <-closed; err != nil {
			t.Errorf("Close: %v", err)
		}
		survives(t, crashed, first.after(state{entries: map[string]string{}}))
	}
}

// TestAStoreIsClosedOnAFullDisk: Pebble has something to write then, which nobody reads.
func TestAStoreIsClosedOnAFullDisk(t *testing.T) {
	var full atomic.Bool
	mem := vfs.NewMem()
	s := mustOpenHeld(t, errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind == errorfs.OpFileWrite {
			return syscall.ENOSPC
		}
		return nil
	})), nil)
	m := merge{pos: "1", entries: map[string][]byte{"a": {1}}}
	if err := m.apply(s); err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	survives(t, mem, m.after(state{entries: map[string]string{}}))
}

// TestAFullDiskStopsAnOpen: there is nothing to wait for yet. Open returns the error, of any of its writes.
func TestAFullDiskStopsAnOpen(t *testing.T) {
	for _, there := range []bool{false, true} {
		for room := 0; ; room++ { // for so many writes
			mem := vfs.NewCrashableMem()
			m := merge{pos: "1", entries: map[string][]byte{"a": {1}}}
			if there {
				s := mustOpen(t, mem)
				if err := errors.Join(m.apply(s), s.Close()); err != nil {
					t.Fatal(err)
				}
			}
			left := room
			fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				switch op.Kind {
				case errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpCreate, errorfs.OpMkdirAll:
					if left--; left < 0 {
						return syscall.ENOSPC
					}
				}
				return nil
			}))
			s, err := openWith(Options{FS: fs, HoldCompaction: true, Logger: slog.New(slog.DiscardHandler),
				Fatal: func(msg string) { t.Errorf("there: %v, room %d: fatal: %s", there, room, msg) }})
			if err == nil {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				break
			}
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("there: %v, room %d: %v", there, room, err)
			}
			if there { // of files that may be open yet
				survives(t, mem.CrashClone(vfs.CrashCloneCfg{}), m.after(state{entries: map[string]string{}}))
			}
		}
	}
}
