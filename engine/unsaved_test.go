package engine

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestCloseOnAFullDisk: it is well where no write was acknowledged that is not synced, else ErrUnsaved.
func TestCloseOnAFullDisk(t *testing.T) {
	for _, test := range []struct {
		name   string
		policy FsyncPolicy
		before func(e *Engine) error // while there is room
		after  func(e *Engine) error // when there is none
		lost   bool
	}{
		{name: "nothing new", policy: FsyncEverySec},
		{name: "always", policy: FsyncAlways, after: incrN},
		{name: "everysec", policy: FsyncEverySec, after: incrN, lost: true},
		{name: "no", policy: FsyncNo, after: incrN, lost: true},
		{name: "an exception", policy: FsyncAlways, after: incrN, lost: true,
			before: func(e *Engine) error {
				return e.SetContract(&Op{}, Contract{Glob: "n", Durability: FsyncEverySec})
			}},
		{name: "no exception any more", policy: FsyncAlways, lost: true,
			before: func(e *Engine) error {
				return e.SetContract(&Op{}, Contract{Glob: "n", Durability: FsyncEverySec})
			},
			after: func(e *Engine) error {
				_, err := e.DelContract(&Op{}, "n")
				return errors.Join(incrN(e), err)
			}},
		{name: "always of late", policy: FsyncEverySec, lost: true,
			after: func(e *Engine) error {
				if err := e.SetPolicy(FsyncAlways); err == nil {
					return errors.New("SetPolicy can sync what was acknowledged")
				}
				return nil
			}, before: incrN},
		{name: "always for long", policy: FsyncEverySec, after: incrN,
			before: func(e *Engine) error { return errors.Join(incrN(e), e.SetPolicy(FsyncAlways)) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			var full atomic.Bool
			mem := newCrashFS()
			o := faultOptions(fullWhen(mem, func(errorfs.Op) bool { return full.Load() }), nil)
			o.Policy = test.policy
			e, _, err := Open(o)
			if err != nil {
				t.Fatal(err)
			}
			addToN(t, e, 5)
			if test.before != nil {
				err = test.before(e)
			}
			full.Store(true)
			if err == nil && test.after != nil {
				err = test.after(e)
			}
			if err != nil {
				t.Fatal(err)
			}
			switch err := e.Close(); {
			case test.lost && !errors.Is(err, ErrUnsaved):
				t.Errorf("acknowledged writes are lost, Close: %v", err)
			case !test.lost && err != nil:
				t.Errorf("nothing is lost, Close: %v", err)
			}
			if n := readCount(t, mem.clone(vfs.CrashCloneCfg{})); n < 5 {
				t.Errorf("n is %d", n)
			}
		})
	}
}

func incrN(e *Engine) error {
	_, err := e.IncrBy(&Op{NowMs: e.NowMs()}, []byte("n"), 1)
	return err
}

// TestCloseEndsAMergeThatWaitsForRoom: the log has what it was to merge.
func TestCloseEndsAMergeThatWaitsForRoom(t *testing.T) {
	var full, waits atomic.Bool
	mem := newCrashFS()
	e, _, err := Open(faultOptions(fullWhen(mem, func(op errorfs.Op) bool {
		if !full.Load() || !strings.Contains(op.Path, "MANIFEST") {
			return false
		}
		waits.Store(true)
		return true
	}), func(msg string) { t.Errorf("fatal: %s", msg) }))
	if err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	n := int64(0)
	for ; !waits.Load(); n++ {
		addToN(t, e, 1)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if got := readCount(t, mem.clone(vfs.CrashCloneCfg{})); got != n {
		t.Errorf("n is %d, want %d", got, n)
	}
}
