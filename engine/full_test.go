package engine

import (
	"errors"
	"io/fs"
	"math"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// fullWhen is a file system that has no room for what full says.
func fullWhen(disk vfs.FS, full func(op errorfs.Op) bool) vfs.FS {
	return errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpFilePreallocate, errorfs.OpCreate:
			if full(op) {
				return &fs.PathError{Op: "write", Path: op.Path, Err: syscall.ENOSPC}
			}
		}
		return nil
	}))
}

// TestAStartOnAFullDiskSaysSo: Open is ErrDiskFull wherever the room ends, and the data is as it was.
func TestAStartOnAFullDiskSaysSo(t *testing.T) {
	for _, there := range []bool{false, true} {
		for room := int64(0); ; room++ { // for so many writes
			mem := newCrashFS()
			if there {
				e, _, err := Open(faultOptions(mem, nil))
				if err != nil {
					t.Fatal(err)
				}
				addToN(t, e, 3)
				if err := e.Close(); err != nil {
					t.Fatal(err)
				}
			}
			var left atomic.Int64
			left.Store(room)
			e, _, err := Open(faultOptions(fullWhen(mem, func(errorfs.Op) bool { return left.Add(-1) < 0 }),
				func(msg string) { t.Errorf("there: %v, room %d: fatal: %s", there, room, msg) }))
			if err == nil {
				if err := e.Close(); err != nil {
					t.Error(err)
				}
				break
			}
			if !errors.Is(err, ErrDiskFull) {
				t.Fatalf("there: %v, room %d: %v", there, room, err)
			}
			if there { // the store may keep files open
				if n := readCount(t, mem.clone(vfs.CrashCloneCfg{})); n != 3 {
					t.Fatalf("room %d: n is %d", room, n)
				}
			}
		}
	}
}

// addToN adds to "n" and makes that durable.
func addToN(t *testing.T, e *Engine, by int64) {
	t.Helper()
	_, err := e.IncrBy(&Op{NowMs: e.NowMs()}, []byte("n"), by)
	if err = errors.Join(err, e.Commit(math.MaxUint64)); err != nil {
		t.Fatal(err)
	}
}
