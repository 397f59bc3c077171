package wal

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// zeroAheadBytes of zeros are written after a small flush that reaches the end of the last zeros.
// A sync of a write into them need not make the file's size or extents durable: see doc.go.
const zeroAheadBytes = 256 << 10

// smallFlushBytes bounds the flushes that write zeros ahead. A larger flush would pay for its bytes
// twice, and is dominated by them.
const smallFlushBytes = 80 << 10

// writeCategory names the log in the file system's statistics.
const writeCategory = vfs.DiskWriteCategory("countd-wal")

// segment is the segment that is appended to. It belongs to the goroutine that leads the flush.
//
//	0 ─── flushes ─── synced ─── flushes ─── off ─── zeros ─── zeroed ─── reserved, maybe ─── limit
type segment struct {
	id     SegmentID
	file   vfs.File // nil: none yet
	first  int64    // where the first flush starts
	off    int64    // where the next flush starts
	synced int64    // bytes before here are durable
	zeroed int64    // [off, zeroed) holds zeros on disk
	limit  int64    // preallocated up to here; zeros are not written beyond
	dirty  int64    // if above off: [off, dirty) may hold part of a flush that found no room
}

// SegmentName is the name of a segment's file in the log's directory.
func SegmentName(id SegmentID) string { return segmentName(id) }

func segmentName(id SegmentID) string { return fmt.Sprintf("%06d.log", uint64(id)) }

// parseSegmentName answers false for any name that segmentName does not make.
func parseSegmentName(name string) (SegmentID, bool) {
	digits, ok := strings.CutSuffix(name, ".log")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || n == 0 || segmentName(SegmentID(n)) != name {
		return 0, false
	}
	return SegmentID(n), true
}

// startSegment makes a new segment the active one: file, space, header, all durable. The segment
// before must be complete and synced. A full disk is ErrDiskFull and changes nothing; a file that
// could not be created is an error that changes nothing; what fails later is final.
//
// The header says where the segment before ends, and a file that follows it proves that it was
// sealed. So nothing of a try that failed may stay behind once the old segment is appended to again.
func (l *Log) startSegment() error {
	l.mu.Lock()
	id := l.mu.next
	l.mu.Unlock()

	file, err := l.fs.OpenReadWrite(l.path(id), writeCategory)
	if err != nil {
		if noSpace(err) {
			return fmt.Errorf("%w: create segment %s: %w", ErrDiskFull, segmentName(id), err)
		}
		return fmt.Errorf("wal: create segment %s: %w", segmentName(id), err)
	}
	limit := l.segmentBytes + smallFlushBytes
	if err := file.Preallocate(0, limit); err != nil && noSpace(err) {
		return l.dropSegment(id, file, err)
	}
	next := segment{id: id, file: file, limit: limit}
	if err := l.writeHeader(&next); err != nil {
		if noSpace(err) {
			return l.dropSegment(id, file, err)
		}
		file.Close()
		return l.fail(ErrFailed, fmt.Errorf("header of segment %s: %w", segmentName(id), err))
	}
	err = file.SyncData()
	if err == nil {
		err = l.dirs[0].handle.Sync()
	}
	if err != nil {
		file.Close()
		return l.fail(ErrSyncFailed, fmt.Errorf("new segment %s: %w", segmentName(id), err))
	}
	next.synced = next.off
	l.install(next)
	return nil
}

// install seals the active segment, if there is one, and makes next the active one.
func (l *Log) install(next segment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active.file != nil {
		l.mu.sealed = append(l.mu.sealed, SegmentInfo{l.active.id, l.active.off})
		trim(l.active.file, l.active.off)
		l.active.file.Close() // synced before; it holds nothing that an error could lose
	}
	l.active = next
	l.mu.active, l.mu.next = next.id, next.id+1
	l.activeBytes.Store(next.off)
}

// trim gives back the zeros and the preallocated space behind end, where the file system's files
// can do that: vfs.File has no Truncate, but those of vfs.Default are *os.File underneath. It is
// only thrift; an error, or a crash that undoes it, does no harm.
func trim(file vfs.File, end int64) {
	if f, ok := file.(interface{ Truncate(size int64) error }); ok {
		_ = f.Truncate(end)
	}
}

// writeHeader writes the header of s in one write of its own, so that it is there whole or not.
func (l *Log) writeHeader(s *segment) error {
	h := header{lastEpoch: l.lastEpoch, id: s.id}
	h.prev, h.prevEnd = l.lastSegment()
	var b [voidHeaderSize]byte
	if l.enc.buf == nil {
		l.enc.buf = make([]byte, 0, encodeBufferBytes)
	}
	l.enc.begin(s.file, s.id, 0, 0)
	if err := l.enc.record(h.put(&b), nil); err != nil {
		return err
	}
	if err := l.enc.write(); err != nil {
		return err
	}
	s.off = l.enc.end()
	s.first, s.zeroed = s.off, s.off
	return nil
}

// lastSegment answers the newest segment with a header and the end of its flushes.
func (l *Log) lastSegment() (SegmentID, int64) {
	if l.active.file != nil {
		return l.active.id, l.active.off
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.mu.sealed); n > 0 {
		return l.mu.sealed[n-1].ID, l.mu.sealed[n-1].Bytes
	}
	return l.floor, 0
}

// dropSegment undoes a start that found no room, durably, and answers ErrDiskFull.
func (l *Log) dropSegment(id SegmentID, file vfs.File, cause error) error {
	file.Close()
	if err := l.removeFile(id); err != nil {
		return l.fail(ErrFailed, err)
	}
	if err := l.dirs[0].handle.Sync(); err != nil {
		return l.fail(ErrSyncFailed, err)
	}
	return fmt.Errorf("%w: segment %s: %w", ErrDiskFull, segmentName(id), cause)
}
