package wal

import (
	"fmt"
	"time"
)

// A flush that found the disk full is not even begun again until it fits, where the file system says how much
// room there is. Each try would keep the room that it found, as zeros; so room that is made little by little
// would be used up in vain, and a merge that needs some to give back much more would find none.

// tryAnyway is after how long it is begun all the same: what a file system says of its room may be wrong.
const tryAnyway = 10 * time.Second

// wantsRoom is nil unless the disk was full, and has no room yet for a flush of so many bytes. It allows for
// all that root may use, and for what was preallocated, which need not have worked. With a failover it does not
// ask, since nobody waits for a disk that stalls there.
func (l *Log) wantsRoom(bytes uint64) error {
	if l.over != nil || l.fullAt.IsZero() || time.Since(l.fullAt) >= tryAnyway {
		return nil
	}
	s := &l.active
	usage, err := l.fs.GetDiskUsage(l.dirOf(s.id).name)
	if err != nil {
		return nil
	}
	free := usage.TotalBytes - usage.UsedBytes
	if have := free + uint64(max(s.zeroed, s.limit, s.off)-s.off); bytes > have {
		return fmt.Errorf("%w: segment %s: %d bytes more are needed", ErrDiskFull, segmentName(s.id), bytes-have)
	}
	return nil
}
