package wal

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2/record"
)

// ReplayInfo says what a Replay found.
type ReplayInfo struct {
	Flushes int
	Chunks  int
	Bytes   int64 // of the chunks
	// TruncatedBytes is the length of the torn tail that Open cut off.
	TruncatedBytes int64
	// LastEpoch is the epoch of the last flush that was ever appended as far as the segments tell,
	// replayed or not; 0 if there is none.
	LastEpoch uint64
	// LastChunks is the number of chunks of the last flush that was replayed.
	LastChunks int
	// LastMeta is the meta of the last flush that was replayed; nil if there is none.
	LastMeta []byte
}

// Replay calls fn for every chunk of every committed flush in segments with id > after, in order.
// chunk is only valid during the call. An error of fn ends the replay and is returned.
//
// after is the last segment whose content the caller has elsewhere, 0 if none. Every segment behind
// it must be there: if one is missing, or damaged behind what was synced, the error matches
// ErrCorrupt; fn may have seen chunks of the flush in which the damage was found. New segments get
// ids above after. REQUIRES: nothing was appended since Open.
func (l *Log) Replay(
	after SegmentID, fn func(epoch uint64, chunk []byte) error,
) (ReplayInfo, error) {
	info := ReplayInfo{TruncatedBytes: l.truncated, LastEpoch: l.lastEpoch}
	l.mu.Lock()
	sealed := slices.Clone(l.mu.sealed)
	if len(sealed) == 0 {
		l.floor = max(l.floor, after)
	}
	l.mu.next = max(l.mu.next, after+1)
	l.mu.Unlock()
	if l.floor > after {
		return info, fmt.Errorf("wal: replay after segment %d: segments up to %s are missing: %w",
			uint64(after), segmentName(l.floor), ErrCorrupt)
	}
	for _, s := range sealed {
		if s.ID <= after {
			continue
		}
		if err := l.readSealed(s, &info, fn); err != nil {
			return info, err
		}
	}
	return info, nil
}

// ReadSegment calls fn for every chunk of a sealed segment, in order. chunk is only valid during the
// call. An error of fn ends the reading and is returned. Damage matches ErrCorrupt; fn may have seen
// chunks of the flush in which it was found. It may run while flushes are appended. lastMeta is the meta
// of the segment's last flush, nil where it has none.
func (l *Log) ReadSegment(
	id SegmentID, fn func(epoch uint64, chunk []byte) error,
) (lastMeta []byte, err error) {
	l.mu.Lock()
	i := slices.IndexFunc(l.mu.sealed, func(s SegmentInfo) bool { return s.ID == id })
	var s SegmentInfo
	if i >= 0 {
		s = l.mu.sealed[i]
	}
	l.mu.Unlock()
	if i < 0 {
		return nil, fmt.Errorf("%w: %s", ErrNotSealed, segmentName(id))
	}
	info := new(ReplayInfo)
	err = l.readSealed(s, info, fn)
	return info.LastMeta, err
}

// readSealed reads a segment whose end is known: all flushes up to there are committed.
func (l *Log) readSealed(
	s SegmentInfo, info *ReplayInfo, fn func(epoch uint64, chunk []byte) error,
) error {
	file, err := l.fs.Open(l.path(s.ID))
	if err != nil {
		return fmt.Errorf("wal: open segment %s: %w", segmentName(s.ID), err)
	}
	defer file.Close()
	r := newFlushReader(io.NewSectionReader(file, 0, s.Bytes), s.ID)
	r.fn, r.info = fn, info
	if err := r.run(); err != nil {
		return err
	}
	if r.end != s.Bytes {
		return corrupt(s.ID, r.end, "synced up to %d, readable up to here", s.Bytes)
	}
	return nil
}

// flushReader reads the flushes of one segment through Pebble's record reader.
type flushReader struct {
	id      SegmentID
	records *record.Reader
	buf     []byte // the record at hand
	fn      func(epoch uint64, chunk []byte) error
	info    *ReplayInfo

	header    header
	end       int64  // after the last committed flush, or the header
	lastEpoch uint64 // of the last committed flush, or as the header says

	// The flush at hand.
	epoch  uint64
	chunks uint32
	bytes  uint64
}

func newFlushReader(r io.Reader, id SegmentID) *flushReader {
	return &flushReader{
		id:      id,
		records: recordReader(record.NewReader, r, id),
		fn:      func(uint64, []byte) error { return nil },
		info:    new(ReplayInfo),
	}
}

// recordReader calls record.NewReader, whose log number has a type that only Pebble can name.
func recordReader[N ~uint64](
	newReader func(io.Reader, N) *record.Reader, r io.Reader, id SegmentID,
) *record.Reader {
	return newReader(r, N(id))
}

// run reads to the end of the intact records. What is left of a flush without a commit record is
// not an error; the caller compares r.end with what should be there.
func (r *flushReader) run() error {
	for {
		off := r.records.Offset()
		intact, err := r.next()
		if err != nil {
			return fmt.Errorf("wal: segment %s: offset %d: %w", segmentName(r.id), off, err)
		}
		if !intact {
			return nil
		}
		if err := r.dispatch(); err != nil {
			var bad badRecord
			if errors.As(err, &bad) {
				return corrupt(r.id, off, "%s", bad.reason)
			}
			return err
		}
	}
}

// badRecord is a record with a valid checksum that cannot stand where it stands.
type badRecord struct{ reason string }

func (e badRecord) Error() string { return e.reason }

func badf(format string, args ...any) error { return badRecord{fmt.Sprintf(format, args...)} }

// next reads a record into buf. It answers false where the intact records end.
func (r *flushReader) next() (bool, error) {
	rec, err := r.records.Next()
	if err != nil {
		return false, endOfRecords(err)
	}
	r.buf = r.buf[:0]
	for {
		if len(r.buf) > maxRecordBytes {
			return true, nil // dispatch refuses it
		}
		if len(r.buf) == cap(r.buf) {
			r.buf = slices.Grow(r.buf, blockSize)
		}
		n, err := rec.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, endOfRecords(err)
		}
	}
}

// endOfRecords answers nil for the errors by which Pebble's reader says that no intact record
// follows, and other errors as they are.
func endOfRecords(err error) error {
	for _, end := range []error{
		io.EOF, record.ErrUnexpectedEOF, record.ErrInvalidChunk, record.ErrZeroedChunk,
	} {
		if errors.Is(err, end) {
			return nil
		}
	}
	return err
}

// dispatch takes the record in buf as the next step of the segment.
func (r *flushReader) dispatch() error {
	if len(r.buf) > maxRecordBytes {
		return badf("record above %d bytes", maxRecordBytes)
	}
	kind, _, err := parsePrefix(r.buf)
	if errors.Is(err, ErrFormat) {
		return fmt.Errorf("wal: segment %s: offset %d: %w", segmentName(r.id), r.end, err)
	}
	if err != nil {
		return badf("%v", err)
	}
	if (kind == kindHeader) != (r.end == 0) {
		return badf("record of kind %d", kind)
	}
	switch kind {
	case kindHeader:
		return r.takeHeader()
	case kindChunk:
		return r.takeChunk()
	case kindCommit:
		return r.takeCommit()
	default:
		return badf("record of kind %d", kind)
	}
}

func (r *flushReader) takeHeader() error {
	h, err := parseHeader(r.buf)
	if err != nil {
		return badf("%v", err)
	}
	if h.id != r.id {
		return badf("header of segment %s", segmentName(h.id))
	}
	r.header, r.lastEpoch = h, h.lastEpoch
	r.end = r.records.Offset()
	return nil
}

func (r *flushReader) takeChunk() error {
	h, chunk, err := parseChunk(r.buf)
	switch {
	case err != nil:
		return badf("%v", err)
	case h.index != r.chunks:
		return badf("chunk %d where %d should be", h.index, r.chunks)
	case h.epoch <= r.lastEpoch || r.chunks > 0 && h.epoch != r.epoch:
		return badf("chunk of epoch %d after %d", h.epoch, max(r.epoch, r.lastEpoch))
	}
	r.epoch = h.epoch
	r.chunks++
	r.bytes += uint64(len(chunk))
	return r.fn(h.epoch, chunk)
}

func (r *flushReader) takeCommit() error {
	h, meta, err := parseCommit(r.buf)
	switch {
	case err != nil:
		return badf("%v", err)
	case h.chunks != r.chunks || h.bytes != r.bytes:
		return badf("commit of %d chunks and %d bytes after %d and %d",
			h.chunks, h.bytes, r.chunks, r.bytes)
	case h.epoch <= r.lastEpoch || r.chunks > 0 && h.epoch != r.epoch:
		return badf("commit of epoch %d after %d", h.epoch, max(r.epoch, r.lastEpoch))
	}
	r.info.Flushes++
	r.info.Chunks += int(h.chunks)
	r.info.LastChunks = int(h.chunks)
	r.info.Bytes += int64(h.bytes)
	r.info.LastMeta = append(r.info.LastMeta[:0], meta...)
	r.end, r.lastEpoch = r.records.Offset(), h.epoch
	r.chunks, r.bytes = 0, 0
	return nil
}
