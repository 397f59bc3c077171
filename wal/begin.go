package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// attempt is the making of one segment, in one directory or, where that takes long, in two at one time.
// The first to set won is given its name; the other is given up.
type attempt struct {
	header header // but for id
	kept   []keptFlush
	won    atomic.Bool
	built  chan built // has room for all that come while nobody receives
}

// built is how the making of a segment in a directory ended: with a segment or with an error.
type built struct {
	dir  *directory
	seg  segment
	err  error
	kind buildError
}

// buildError says what an error in the making of a segment means.
type buildError int

const (
	// errPlace: there is no room, or no descriptor. It may be tried again.
	errPlace buildError = iota + 1
	// errBroken: a write or a sync failed. The directory is not used any more; nothing is lost, since
	// the segment has no name yet.
	errBroken
	// errNamed: whether the segment has its name, and for how long, is unknown. That is final.
	errNamed
	// errUnnamed: the disk stalls in the naming. The segment may get its name, but is void.
	errUnnamed
	// errLost: it was given up for another that was ready before.
	errLost
)

// drift notes that an operation of the active segment stalled.
func (l *Log) drift() {
	l.over.adrift = true
	l.enc.buf = nil // it may be written still
}

// begin makes a new segment the active one, in a directory that works, with all flushes in it that were
// kept. It is durable when begin returns. The segment before ends where that is known to be synced.
//
// Where no directory has a place for it, the error is ErrDiskFull, or of the file system, and the old
// segment is as it was; with wait, begin tries again instead. Other errors are final.
func (l *Log) begin(wait bool) error {
	f := l.over
	a := l.newAttempt()
	order := f.beginOrder()
	causes := map[*directory]error{} // why a directory has no place now
	late := f.After(f.Threshold)     // nil: it has passed, and all directories are tried
	for underWay := 0; ; {
		for (underWay == 0 || late == nil) && l.start(a, order, causes) {
			underWay++
		}
		var again <-chan time.Time
		if underWay == 0 {
			switch {
			case f.allFailed():
				return l.fail(ErrFailed, f.reasons(nil))
			case len(causes) > 0 && !wait:
				return f.noPlace(causes)
			case len(causes) > 0:
				again = f.After(f.Threshold)
			}
		}
		select {
		case b := <-a.built:
			underWay--
			switch b.kind {
			case 0:
				l.take(b.seg, b.dir)
				return nil
			case errNamed:
				return l.fail(ErrSyncFailed, fmt.Errorf("new segment %s: %w", segmentName(b.seg.id), b.err))
			case errUnnamed:
				l.drift() // if it has its name the old segment has ended
				if f.void == 0 {
					f.void = b.seg.id
				}
				a, underWay = l.newAttempt(), 0
			case errPlace:
				causes[b.dir] = b.err
			}
		case <-late:
			f.stalls.Add(1)
			late = nil
		case <-f.wake: // a directory may be free
		case <-again:
			clear(causes)
		}
	}
}

func (l *Log) newAttempt() *attempt {
	f := l.over
	h := header{lastEpoch: f.base, void: f.void}
	h.prev, h.prevEnd = l.lastSegment()
	if l.active.file != nil {
		h.prevEnd = l.active.synced
	}
	return &attempt{header: h, kept: f.kept, built: make(chan built, 2*len(f.dirs))}
}

// start has a segment made in the first directory that can be tried, and reports whether there is one.
func (l *Log) start(a *attempt, order []*directory, causes map[*directory]error) bool {
	f := l.over
	if a.won.Load() {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range order {
		if d.failed != nil || d.stalled > 0 || d.building || causes[d] != nil {
			continue
		}
		d.building = true
		l.mu.Lock()
		id := l.mu.next
		l.mu.next++
		l.mu.Unlock()
		go l.build(a, d, id)
		return true
	}
	return false
}

// build makes a segment in d and says how that ended.
func (l *Log) build(a *attempt, d *directory, id SegmentID) {
	f := l.over
	b := built{dir: d}
	b.seg, b.kind, b.err = l.makeSegment(a, d, id)
	if b.kind == 0 {
		l.name(a, &b)
	} else {
		a.built <- b
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	d.building = false
	if b.kind == errBroken && d.failed == nil {
		d.failed = b.err
	}
	f.awake()
}

func (l *Log) makeSegment(a *attempt, d *directory, id SegmentID) (segment, buildError, error) {
	path := l.fs.PathJoin(d.name, segmentName(id))
	tmp := path + newSegmentSuffix
	if err := l.fs.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return segment{id: id}, errPlace, err
	}
	file, err := l.fs.OpenReadWrite(tmp, writeCategory)
	if err != nil {
		return segment{id: id}, errPlace, err
	}
	s := segment{id: id, file: &guarded{File: file, dir: d, over: l.over},
		limit: l.segmentBytes + smallFlushBytes}
	kind, err := l.fill(a, &s, file)
	if err == nil && a.won.Swap(true) {
		kind = errLost
	}
	if kind != 0 {
		file.Close()
		_ = l.fs.Remove(tmp) // else the next start does
		return s, kind, err
	}
	return s, 0, nil
}

// name gives a segment its name, durably, and says so; or says that this takes too long.
func (l *Log) name(a *attempt, b *built) {
	path := l.fs.PathJoin(b.dir.name, segmentName(b.seg.id))
	done := make(chan error, 1)
	late := l.over.After(l.over.Threshold)
	go func() {
		err := l.fs.Rename(path+newSegmentSuffix, path)
		if err == nil {
			err = syncDir(l.fs, b.dir.name) // with a handle of its own: Close does not wait for this
		}
		done <- err
	}()
	select {
	case b.err = <-done:
		if b.err != nil {
			b.kind = errNamed
		}
		a.built <- *b
	case <-late:
		l.over.stalls.Add(1)
		a.built <- built{dir: b.dir, seg: b.seg, kind: errUnnamed, err: errStalled}
		if b.err = <-done; b.err != nil {
			b.kind = errBroken
		}
		b.seg.file.Close()
		_ = l.fs.Remove(path) // the header of a later segment says that it is void
	}
}

// fill writes and syncs what a segment begins with.
func (l *Log) fill(a *attempt, s *segment, file vfs.File) (buildError, error) {
	size := uint64(4 * blockSize)
	for i := range a.kept {
		size += a.kept[i].bytes + uint64(len(a.kept[i].meta))
	}
	enc := encoder{buf: make([]byte, 0, min(size, encodeBufferBytes))}
	enc.begin(file, s.id, 0, 0)
	err := file.Preallocate(0, s.limit)
	if !noSpace(err) {
		h := a.header
		h.id = s.id
		var b [voidHeaderSize]byte
		err = enc.record(h.put(&b), nil)
		s.first = enc.end()
	}
	for i := range a.kept {
		if k := &a.kept[i]; err == nil {
			err = enc.flush(k.epoch, k.chunks, k.meta, k.bytes)
		}
	}
	if err == nil {
		err = enc.write()
	}
	if err == nil {
		err = file.SyncData()
	}
	s.off = enc.end()
	s.synced, s.zeroed = s.off, s.off
	switch {
	case noSpace(err):
		return errPlace, err
	case err != nil:
		return errBroken, err
	}
	return 0, nil
}

func (f *failover) allFailed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.dirs {
		if d.failed == nil {
			return false
		}
	}
	return true
}

// noPlace is the error of a begin that may be tried again.
func (f *failover) noPlace(causes map[*directory]error) error {
	err := f.reasons(causes)
	if noSpace(err) {
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	return fmt.Errorf("wal: no new segment: %w", err)
}

// reasons says why no segment can begin in any directory.
func (f *failover) reasons(causes map[*directory]error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, d := range f.dirs {
		if err := errors.Join(d.failed, causes[d]); err != nil {
			errs = append(errs, fmt.Errorf("directory %s: %w", d.name, err))
		} else if d.stalled > 0 || d.building {
			errs = append(errs, fmt.Errorf("directory %s: %w", d.name, errStalled))
		}
	}
	return errors.Join(errs...)
}
