package wal

import (
	"errors"
	"fmt"
	"time"
)

// Append writes one flush: a record for each chunk, then a commit record with epoch, the number of
// chunks and meta. A flush of up to a MiB is one write call, a larger one is a call for each MiB. It
// does not sync. The slices are the caller's again when it returns.
//
// epoch must be above that of the last flush; each chunk holds at most MaxChunkBytes, meta at most
// MaxMetaBytes. No chunks at all is a valid flush.
//
// Errors: ErrTooLarge and ErrEpoch, nothing written. ErrDiskFull, the flush is not in the log and
// may be tried again. ErrFailed, final: the flush may or may not be found by the next Open.
func (l *Log) Append(epoch uint64, chunks [][]byte, meta []byte) error {
	if l.failed != nil {
		return l.failed
	}
	bytes, err := l.checkFlush(epoch, chunks, meta)
	if err != nil {
		return err
	}
	if l.over != nil {
		return l.appendGuarded(epoch, chunks, meta, bytes)
	}
	if l.active.file == nil {
		if err := l.startSegment(); err != nil {
			return err
		}
	}
	if err := l.neutralise(); err != nil {
		return err
	}
	return l.write(epoch, chunks, meta, bytes)
}

// write writes a flush to the active segment.
func (l *Log) write(epoch uint64, chunks [][]byte, meta []byte, bytes uint64) error {
	if err := l.wantsRoom(bytes); err != nil {
		return err
	}
	s := &l.active
	l.enc.begin(s.file, s.id, s.off, s.synced)
	err := l.enc.flush(epoch, chunks, meta, bytes)
	end := l.enc.end()
	if err == nil {
		l.enc.pad(s.zerosAhead(end))
		err = l.enc.write()
	}
	if err != nil {
		return l.appendFailed(err)
	}
	s.off, s.zeroed = end, max(s.zeroed, l.enc.end())
	l.lastEpoch, l.fullAt = epoch, time.Time{}
	l.activeBytes.Store(end)
	return nil
}

// checkFlush checks the limits of a flush and answers the bytes of its chunks.
func (l *Log) checkFlush(epoch uint64, chunks [][]byte, meta []byte) (uint64, error) {
	if epoch <= l.lastEpoch {
		return 0, fmt.Errorf("%w: %d after %d", ErrEpoch, epoch, l.lastEpoch)
	}
	if len(meta) > MaxMetaBytes {
		return 0, fmt.Errorf("%w: meta of %d bytes", ErrTooLarge, len(meta))
	}
	if uint64(len(chunks)) > 1<<32-1 {
		return 0, fmt.Errorf("%w: flush of %d chunks", ErrTooLarge, len(chunks))
	}
	bytes := uint64(0)
	for i, c := range chunks {
		if len(c) > MaxChunkBytes {
			return 0, fmt.Errorf("%w: chunk %d of %d bytes", ErrTooLarge, i, len(c))
		}
		bytes += uint64(len(c))
	}
	return bytes, nil
}

// flush encodes the records of a flush; what does not fit the encoder's buffer is written.
func (e *encoder) flush(epoch uint64, chunks [][]byte, meta []byte, bytes uint64) error {
	var head [chunkHeadSize]byte
	for i, c := range chunks {
		chunkHead{epoch: epoch, index: uint32(i)}.put(&head)
		if err := e.record(head[:], c); err != nil {
			return err
		}
	}
	var commit [commitHeadSize]byte
	commitHead{epoch, uint32(len(chunks)), bytes, e.synced}.put(&commit)
	return e.record(commit[:], meta)
}

// zerosAhead is how many zeros to write after a flush that ends at end.
func (s *segment) zerosAhead(end int64) int {
	if end <= s.zeroed || end-s.off > smallFlushBytes || end >= s.limit {
		return 0
	}
	return int(min(zeroAheadBytes, s.limit-end))
}

// appendFailed decides what a failed write means. No room is not final: what was written of the
// flush has no commit record, or has it behind missing bytes, and is overwritten with zeros.
func (l *Log) appendFailed(cause error) error {
	if errors.Is(cause, errStalled) {
		return cause
	}
	if !noSpace(cause) {
		return l.fail(ErrFailed, fmt.Errorf("write at offset %d: %w", l.enc.base, cause))
	}
	l.active.dirty, l.fullAt = l.enc.end(), time.Now()
	if err := l.neutralise(); err != nil {
		return err
	}
	return fmt.Errorf("%w: segment %s: %w", ErrDiskFull, segmentName(l.active.id), cause)
}

// neutralise overwrites what an Append that found no room left behind, and syncs. The sync matters:
// without it a crash could show blocks of that flush between those of the one written over it.
// If there is no room even for that, the bytes stay dirty and the next call tries again.
func (l *Log) neutralise() error {
	s := &l.active
	if s.dirty <= s.off {
		return nil
	}
	info, err := s.file.Stat()
	if err != nil {
		return l.fail(ErrFailed, err)
	}
	end := min(s.dirty, info.Size())
	if err := writeZeros(s.file, s.off, end); err != nil {
		if errors.Is(err, errStalled) {
			return err
		}
		if noSpace(err) {
			return fmt.Errorf("%w: segment %s: %w", ErrDiskFull, segmentName(s.id), err)
		}
		return l.fail(ErrFailed, fmt.Errorf("write at offset %d: %w", s.off, err))
	}
	s.dirty = 0
	s.zeroed = max(s.zeroed, end)
	return l.syncData()
}

// Sync makes every flush that was appended durable (fdatasync); without a new flush it is free.
// An error is final and matches ErrSyncFailed: what was appended may or may not survive.
func (l *Log) Sync() error {
	if l.failed != nil {
		return l.failed
	}
	if l.active.synced == l.active.off && !l.isAdrift() {
		return nil
	}
	err := errStalled
	if !l.isAdrift() {
		err = l.syncData()
	}
	if errors.Is(err, errStalled) {
		return l.moveOn()
	}
	return err
}

func (l *Log) syncData() error {
	err := l.active.file.SyncData()
	if errors.Is(err, errStalled) {
		return err
	}
	if err != nil {
		return l.fail(ErrSyncFailed, err)
	}
	l.syncedTo(l.active.off)
	return nil
}

// syncedTo says that the active segment is synced up to off.
func (l *Log) syncedTo(off int64) {
	l.active.synced = max(l.active.synced, off)
	if l.over != nil {
		l.over.synced(l.active.synced)
	}
}

// BeginSync returns a function that makes what was appended so far durable. It may run in another
// goroutine, beside Append. Its result goes to EndSync, which REQUIRES the goroutine that leads and must
// come before the next BeginSync, Sync, Rotate or Close: of two syncs of a file at one time the kernel
// may tell only one that a write was lost.
func (l *Log) BeginSync() (run func() error) {
	l.syncingOf = l.active.id
	if l.over != nil {
		l.over.syncing = l.dirOf(l.active.id)
	}
	if l.isAdrift() {
		return func() error { return errStalled }
	}
	if l.failed != nil || l.active.synced == l.active.off {
		l.syncing = l.active.synced
		return func() error { return nil }
	}
	l.syncing = l.active.off
	file := l.active.file
	return func() error { return file.SyncData() }
}

// EndSync takes the result of what BeginSync returned. An error is final, as that of Sync.
func (l *Log) EndSync(err error) error {
	switch {
	case l.failed != nil:
		return l.failed
	case l.over != nil && l.syncingOf != l.active.id:
		// It was given up meanwhile: all that was in it is synced elsewhere.
		l.over.broken(l.over.syncing, err)
		return nil
	case errors.Is(err, errStalled):
		return l.moveOn()
	case err != nil:
		return l.fail(ErrSyncFailed, err)
	}
	l.syncedTo(l.syncing)
	return nil
}

// ActiveBytes is what the active segment holds; see SegmentInfo.Bytes.
func (l *Log) ActiveBytes() int64 { return l.active.off }

// ShouldRotate says whether the active segment has reached Options.SegmentBytes, or is not in the
// directory that segments are to be in.
func (l *Log) ShouldRotate() bool {
	return l.active.off >= l.segmentBytes || l.over != nil && l.over.home.Load() != l.over.active.Load()
}

// Rotate syncs and seals the active segment and starts a new one. It answers the newest sealed
// segment: every flush appended so far is in it or in one before it. Without a flush in the active
// segment there is nothing to seal, and it only answers.
//
// After ErrDiskFull the old segment is still the active one; the call may be repeated.
func (l *Log) Rotate() (sealed SegmentID, err error) {
	if l.failed != nil {
		return 0, l.failed
	}
	switch {
	case l.over != nil:
		if err := l.rotateGuarded(); err != nil {
			return 0, err
		}
	case l.active.off > l.active.first:
		if err := l.neutralise(); err != nil {
			return 0, err
		}
		if err := l.Sync(); err != nil {
			return 0, err
		}
		if err := l.startSegment(); err != nil {
			return 0, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.mu.sealed); n > 0 {
		return l.mu.sealed[n-1].ID, nil
	}
	return 0, nil
}
