package wal

import (
	"errors"
	"fmt"
	"syscall"
)

var (
	// ErrCorrupt is matched by errors of Open, Replay and ReadSegment that found a bad record which
	// had been synced, or a segment missing. The text names the segment and the offset. Nothing was
	// changed on disk.
	ErrCorrupt = errors.New("the log is corrupt")

	// ErrFormat is matched by errors of Open, Replay and ReadSegment that found a record of a format version
	// that this program does not know. Its checksum is right: it is no damage.
	ErrFormat = errors.New("unknown format version")

	// ErrDiskFull is matched when there was no room for a segment or for a flush. The flush was not
	// appended, the log is as it was before the call, and the same epoch may be tried again.
	ErrDiskFull = errors.New("wal: no space left on device")

	// ErrFailed is matched by every error that is final: a write or a sync failed in a way that
	// leaves unknown what is on disk. Every later Append, Sync and Rotate returns the same error.
	ErrFailed = errors.New("the log has failed")

	// ErrSyncFailed is the ErrFailed of a failed sync. The kernel may have dropped the dirty pages,
	// so a second sync that answers success would prove nothing.
	ErrSyncFailed = fmt.Errorf("a sync failed: %w", ErrFailed)

	// ErrTooLarge is matched by an Append with a chunk above MaxChunkBytes or a meta above
	// MaxMetaBytes. Nothing was written.
	ErrTooLarge = errors.New("wal: too large")

	// ErrEpoch is matched by an Append whose epoch is not above the last one. Nothing was written.
	ErrEpoch = errors.New("wal: epochs must rise")

	// ErrNotSealed is matched by a ReadSegment of a segment that is not sealed or was removed.
	ErrNotSealed = errors.New("wal: not a sealed segment")

	// ErrClosed is matched by calls after Close.
	ErrClosed = errors.New("wal: closed")
)

// corrupt names the place of a bad record.
func corrupt(id SegmentID, off int64, format string, args ...any) error {
	return fmt.Errorf("wal: segment %s: offset %d: %s: %w",
		segmentName(id), off, fmt.Sprintf(format, args...), ErrCorrupt)
}

// noSpace says whether err means a full disk or an exhausted quota.
func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
