package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// MaxChunkBytes is the most that one chunk of a flush may hold.
	MaxChunkBytes = 1 << 20
	// MaxMetaBytes is the most that the meta of a flush may hold.
	MaxMetaBytes = 4 << 10
	// defaultSegmentBytes is Options.SegmentBytes when it is 0.
	defaultSegmentBytes = 64 << 20
)

// Options say where a log lives. FS and Dir are required.
type Options struct {
	// FS is the file system; tests replace it.
	FS vfs.FS
	// Dir holds the segments and is created if it does not exist. Other files in it are left alone.
	Dir string
	// SegmentBytes is the size at which ShouldRotate answers true and which is preallocated. A
	// flush never spans segments, so the last one of a segment may make it larger.
	SegmentBytes int64
	// Failover is where the log goes on while Dir's disk stalls; nil: it waits.
	Failover *Failover
}

// SegmentID numbers segments from 1. Ids rise and may have gaps.
type SegmentID uint64

// SegmentInfo describes a sealed segment.
type SegmentInfo struct {
	ID SegmentID
	// Bytes is what its header and its committed flushes take. The file may be larger.
	Bytes int64
}

// Log is a log that is open for replay and appending.
//
// Append, Sync, ActiveBytes, ShouldRotate, Rotate, Replay and Close are for one goroutine at a time: whoever
// leads the flush. Sealed, ReadSegment, Remove, Size and SizeAfter may be called at any time by any goroutine.
type Log struct {
	fs           vfs.FS
	dirs         []*directory // Options.Dir, then that of Options.Failover
	places       places
	segmentBytes int64
	floor        SegmentID // segments up to here were removed before Open
	truncated    int64     // bytes of the torn tail that Open cut off

	// The rest belongs to the goroutine that leads the flush.
	active    segment
	lastEpoch uint64
	syncing   int64     // the offset that a sync between BeginSync and EndSync covers
	syncingOf SegmentID // the segment of that
	enc       encoder
	fullAt    time.Time // when the last flush found no room; zero: it did not
	failed    error     // sticky, matches ErrFailed; or ErrClosed
	over      *failover // nil: there is none

	mu struct {
		sync.Mutex
		sealed []SegmentInfo // ascending, not yet removed
		stale  []SegmentID   // files without content: left by a crash in Rotate or in Remove
		active SegmentID     // 0: none
		next   SegmentID
		closed bool
	}

	// removing is held by a Remove, which does its I/O without mu.
	removing sync.Mutex

	// activeBytes publishes active.off to Size.
	activeBytes atomic.Int64
}

// fail makes err final.
func (l *Log) fail(kind, err error) error {
	l.failed = fmt.Errorf("wal: segment %s: %w: %w", segmentName(l.active.id), kind, err)
	return l.failed
}

// Sealed lists the sealed segments that were not removed, ascending. The caller owns the slice.
func (l *Log) Sealed() []SegmentInfo {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.mu.sealed)
}

// Size is the bytes of all segments that were not removed, as SegmentInfo.Bytes counts them.
func (l *Log) Size() int64 { return l.SizeAfter(0) }

// SizeAfter is the part of Size that is in segments newer than id; the active one always is.
func (l *Log) SizeAfter(id SegmentID) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.activeBytes.Load()
	for _, s := range l.mu.sealed {
		if s.ID > id {
			n += s.Bytes
		}
	}
	return n
}

// Remove deletes the sealed segments up to and including upTo, oldest first, and syncs the
// directory. As long as nothing was appended since Open, the newest sealed segment stays: its name
// is what keeps ids from starting over. After an error some may be gone; the call may be repeated.
//
// A crash in Remove may leave an older segment and not a newer one. Open sees that by the headers
// and leaves such a segment out.
func (l *Log) Remove(upTo SegmentID) error {
	l.removing.Lock()
	defer l.removing.Unlock()
	files, err := l.removable(upTo)
	if err != nil || len(files) == 0 {
		return err
	}
	var changed []*directory
	for _, id := range files {
		d := l.dirOf(id)
		if err := l.removeFile(id); err != nil {
			return err
		}
		l.forget(id)
		if !slices.Contains(changed, d) {
			changed = append(changed, d)
		}
	}
	return syncDirs(changed)
}

// removable lists the files that Remove(upTo) deletes, ascending.
func (l *Log) removable(upTo SegmentID) ([]SegmentID, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed {
		return nil, ErrClosed
	}
	files := slices.Clone(l.mu.stale)
	for _, s := range l.mu.sealed {
		files = append(files, s.ID)
	}
	if l.mu.active == 0 {
		if n := len(l.mu.sealed); n > 0 {
			upTo = min(upTo, l.mu.sealed[n-1].ID-1)
		}
	}
	slices.Sort(files)
	return slices.DeleteFunc(files, func(id SegmentID) bool { return id > upTo }), nil
}

// forget takes a deleted file out of the lists.
func (l *Log) forget(id SegmentID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.stale = slices.DeleteFunc(l.mu.stale, func(s SegmentID) bool { return s == id })
	l.mu.sealed = slices.DeleteFunc(l.mu.sealed, func(s SegmentInfo) bool { return s.ID == id })
	l.unplace(id)
}

func (l *Log) removeFile(id SegmentID) error {
	err := l.fs.Remove(l.path(id))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("wal: segment %s: remove: %w", segmentName(id), err)
	}
	return nil
}

// Close syncs what was appended and closes the files. Later calls answer ErrClosed. After a failure
// it syncs nothing and answers that failure.
func (l *Log) Close() error {
	if errors.Is(l.failed, ErrClosed) {
		return ErrClosed
	}
	l.removing.Lock()
	defer l.removing.Unlock()
	err := l.Sync()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active.file != nil {
		err = errors.Join(err, l.active.file.Close())
	}
	if l.over != nil {
		l.over.stop()
	}
	err = errors.Join(err, l.closeDirs())
	l.failed = ErrClosed
	l.mu.closed = true
	return err
}
