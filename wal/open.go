package wal

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Open lists the segments and checks that they follow one another, finds the last committed flush,
// overwrites a torn tail behind it with zeros, and syncs file and directory. It starts no segment:
// the first Append does, so that nothing is ever written behind a place that was torn.
//
// A bad record that is followed by proof that it had been synced is ErrCorrupt, and so is a segment
// that does not end where its successor says. The sealed segments are read through only by Replay.
// Opening the same directory twice at once is the caller's to prevent.
func Open(o Options) (*Log, error) {
	l := &Log{fs: o.FS, dirs: newDirectories(o.Dir), segmentBytes: o.SegmentBytes}
	if l.segmentBytes <= 0 {
		l.segmentBytes = defaultSegmentBytes
	}
	if o.Failover != nil {
		l.dirs = newDirectories(o.Dir, o.Failover.Dir)
	}
	if err := l.openDirs(); err != nil {
		return nil, err
	}
	if err := l.load(); err != nil {
		return nil, errors.Join(err, l.closeDirs())
	}
	if o.Failover != nil && !o.Failover.Leave {
		l.over = newFailover(*o.Failover, l)
	}
	return l, nil
}

// load fills in what the directory says.
func (l *Log) load() error {
	ids, err := l.list()
	if err != nil {
		return err
	}
	headers := make(map[SegmentID]header)
	last := SegmentID(0) // the newest with a header
	for _, id := range ids {
		h, ok, err := l.readHeader(id)
		if err != nil {
			return err
		}
		if ok {
			headers[id], last = h, id
		}
	}
	l.mu.next = 1
	if len(ids) > 0 {
		l.mu.next = ids[len(ids)-1] + 1
	}
	if last != 0 {
		end, err := l.finish(last, last != ids[len(ids)-1])
		if err != nil {
			return err
		}
		if err := l.chain(headers, last, end); err != nil {
			return err
		}
	}
	l.setStale(ids)
	l.clearNew()
	return syncDirs(l.dirs)
}

// readHeader reads the header of a segment. It answers false for a file in which no flush can be:
// the start of the segment did not end well. A bad header before anything synced is ErrCorrupt.
func (l *Log) readHeader(id SegmentID) (header, bool, error) {
	file, err := l.fs.Open(l.path(id))
	if err != nil {
		return header{}, false, fmt.Errorf("wal: open segment %s: %w", segmentName(id), err)
	}
	defer file.Close()
	var payload []byte
	err = blocks(file, 0, func(_ int64, block []byte) bool {
		if f, ok := decodeFragment(block, id); ok && f.kind == fragmentFull {
			payload = slices.Clone(f.payload)
		}
		return false
	})
	if err != nil {
		return header{}, false, fmt.Errorf("wal: segment %s: %w", segmentName(id), err)
	}
	if payload != nil {
		h, err := parseHeader(payload)
		if errors.Is(err, ErrFormat) {
			return header{}, false, fmt.Errorf("wal: segment %s: %w", segmentName(id), err)
		}
		if err != nil || h.id != id {
			return header{}, false, corrupt(id, 0, "bad header: %v", err)
		}
		return h, true, nil
	}
	proof, found, err := syncedBeyond(file, id, 0)
	if err != nil {
		return header{}, false, fmt.Errorf("wal: segment %s: %w", segmentName(id), err)
	}
	if found {
		return header{}, false, corrupt(id, 0, "bad header, synced as offset %d says", proof)
	}
	// A start that did not end well wrote a header, at most, and zeros: flushes come after its sync.
	stray := int64(-1)
	err = blocks(file, blockSize, func(off int64, block []byte) bool {
		if i := slices.IndexFunc(block, func(b byte) bool { return b != 0 }); i >= 0 {
			stray = off + int64(i)
		}
		return stray < 0
	})
	if err != nil {
		return header{}, false, fmt.Errorf("wal: segment %s: %w", segmentName(id), err)
	}
	if stray >= 0 {
		return header{}, false, corrupt(id, 0, "no header, but data at offset %d", stray)
	}
	return header{}, false, nil
}

// finish makes the newest segment end cleanly and durably behind its last committed flush, and
// answers that end. sealed says that a later file exists: then there can be no torn tail.
func (l *Log) finish(id SegmentID, sealed bool) (int64, error) {
	file, err := l.fs.OpenReadWrite(l.path(id), writeCategory)
	if err != nil {
		return 0, fmt.Errorf("wal: open segment %s: %w", segmentName(id), err)
	}
	defer file.Close()
	end, err := l.cutTail(file, id, sealed)
	if err != nil {
		return 0, err
	}
	trim(file, end)
	// Also without a torn tail: the flushes may be in the page cache only, and the header of the
	// next segment will say that they were synced.
	if err := file.SyncData(); err != nil {
		return 0, fmt.Errorf("wal: segment %s: %w: %w", segmentName(id), ErrSyncFailed, err)
	}
	return end, nil
}

// cutTail finds the end of the last committed flush and zeroes what is behind it, if it is torn.
func (l *Log) cutTail(file vfs.File, id SegmentID, sealed bool) (int64, error) {
	ioError := func(err error) error {
		return fmt.Errorf("wal: segment %s: %w", segmentName(id), err)
	}
	intact, err := intactEnd(file, id)
	if err != nil {
		return 0, ioError(err)
	}
	r := newFlushReader(io.NewSectionReader(file, 0, intact), id)
	if err := r.run(); err != nil {
		return 0, err
	}
	l.lastEpoch = r.lastEpoch
	tail, err := lastNonZero(file, r.end)
	if err != nil {
		return 0, ioError(err)
	}
	if sealed && tail > r.end {
		return 0, corrupt(id, intact, "bad record in a segment that was sealed")
	}
	proof, found, err := syncedBeyond(file, id, intact)
	if err != nil {
		return 0, ioError(err)
	}
	if found {
		return 0, corrupt(id, intact, "bad record, synced as offset %d says", proof)
	}
	if err := writeZeros(file, r.end, tail); err != nil {
		return 0, ioError(err)
	}
	l.truncated = tail - r.end
	return r.end, nil
}

// chain follows the headers from the newest segment to the oldest and fills in the sealed segments.
func (l *Log) chain(headers map[SegmentID]header, last SegmentID, end int64) error {
	for id := last; ; {
		h, ok := headers[id]
		if !ok {
			l.floor = id // removed, and with it all before; or 0
			break
		}
		l.mu.sealed = append(l.mu.sealed, SegmentInfo{id, end})
		id, end = h.prev, h.prevEnd
	}
	slices.Reverse(l.mu.sealed)
	for id := range headers {
		if id > l.floor && !l.isSealed(id) && !isVoid(headers, id) {
			return corrupt(id, 0, "no later segment follows this one")
		}
	}
	return nil
}

// isVoid reports whether one of headers says that a segment is void.
func isVoid(headers map[SegmentID]header, id SegmentID) bool {
	for _, h := range headers {
		if h.voids(id) {
			return true
		}
	}
	return false
}

func (l *Log) isSealed(id SegmentID) bool {
	return slices.ContainsFunc(l.mu.sealed, func(s SegmentInfo) bool { return s.ID == id })
}

// setStale notes the files that are not part of the chain, for Remove.
func (l *Log) setStale(ids []SegmentID) {
	for _, id := range ids {
		if !l.isSealed(id) {
			l.mu.stale = append(l.mu.stale, id)
		}
	}
}
