package store

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// On a full disk a merge or a compaction fails and is tried again later. Not so the record that ends it: a
// MANIFEST that cannot be written is fatal to Pebble, since it no longer knows what that holds. So these
// few bytes wait until there is room for them. Pebble holds no lock meanwhile that a read needs; other merges
// and compactions wait, too. In an Open, and where the store is about to be closed, nobody waits, and what is
// fatal to Pebble is an error to its caller.

// roomTick is how often it is tried again.
const roomTick = 100 * time.Millisecond

// room waits for room on the disk.
type room struct {
	log     *slog.Logger
	opened  atomic.Bool   // Open has ended: before that a full disk is an error
	full    chan error    // takes one, from an Open
	givenUp chan struct{} // closed by giveUp: it is one again
	once    sync.Once
}

func newRoom(log *slog.Logger) *room {
	return &room{log: log, full: make(chan error, 1), givenUp: make(chan struct{})}
}

// open calls op, which is pebble.Open, and returns what that returns, or the error of a full disk that is
// fatal to Pebble.
func (r *room) open(op func() (*pebble.DB, error)) (*pebble.DB, error) {
	type result struct {
		db  *pebble.DB
		err error
	}
	done := make(chan result, 1)
	go func() {
		db, err := op()
		done <- result{db, err}
	}()
	select {
	case got := <-done:
		r.opened.Store(got.err == nil)
		return got.db, got.err
	case err := <-r.full:
		return nil, err
	}
}

// isTold reports whether the caller of Pebble gets err, which is that of a full disk. It does not come back
// in an Open, which would try again without end.
func (r *room) isTold(err error) bool {
	if !r.opened.Load() {
		select {
		case r.full <- err:
		default:
		}
		select {}
	}
	return !r.waits()
}

// giveUp ends all waiting. It may be called more than once.
func (r *room) giveUp() { r.once.Do(func() { close(r.givenUp) }) }

// waits reports whether a full disk is waited for now.
func (r *room) waits() bool {
	select {
	case <-r.givenUp:
		return false
	default:
		return r.opened.Load()
	}
}

// try calls op until it does not fail for want of room, and returns what it returned last.
func (r *room) try(op func() error) error {
	waited := false
	for {
		err := op()
		if !DiskFull(err) || !r.waits() {
			if waited && err == nil {
				r.log.Info("the store goes on: there is room on the disk")
			}
			return err
		}
		if !waited {
			waited = true
			r.log.Error("the store waits until there is room on the disk", "err", err)
		}
		select {
		case <-r.givenUp:
			return err
		case <-time.After(roomTick):
		}
	}
}

// DiskFull reports whether err means a full disk, or an exhausted quota.
func DiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// roomFS is FS where what Pebble cannot do without waits for room, in the store's own directory: a checkpoint
// on a full disk fails.
type roomFS struct {
	vfs.FS
	own  string
	room *room
}

const manifestPrefix = "MANIFEST-"

func (fs *roomFS) Create(name string, c vfs.DiskWriteCategory) (f vfs.File, err error) {
	switch base := fs.PathBase(name); {
	case fs.PathDir(name) != fs.own:
	case strings.HasPrefix(base, markerPrefix):
		err = fs.room.try(func() error {
			f, err = fs.FS.Create(name, c)
			return err
		})
		return f, err
	case strings.HasPrefix(base, manifestPrefix):
		if f, err = fs.FS.Create(name, c); err != nil {
			return nil, err
		}
		return roomyFile{f, fs.room}, nil
	}
	return fs.FS.Create(name, c)
}

// Unwrap is part of vfs.FS.
func (fs *roomFS) Unwrap() vfs.FS { return fs.FS }

type roomyFile struct {
	vfs.File
	room *room
}

// Write is part of io.Writer. What was written before the disk was full is not written again.
func (f roomyFile) Write(p []byte) (n int, err error) {
	err = f.room.try(func() error {
		m, err := f.File.Write(p[n:])
		n += m
		return err
	})
	return n, err
}
