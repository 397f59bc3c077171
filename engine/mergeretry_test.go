package engine

import (
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// measuredFS is a file system that says how much room it has.
type measuredFS struct {
	vfs.FS
	room, asked atomic.Int64
}

func (fs *measuredFS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	fs.asked.Add(1)
	return vfs.DiskUsage{TotalBytes: 1 << 40, UsedBytes: 1<<40 - uint64(fs.room.Load())}, nil
}

// TestAMergeIsTriedWhenThereIsRoom: one that found the disk full is tried again when there is more room, and
// not before; and with it the flush that the log had no room for.
func TestAMergeIsTriedWhenThereIsRoom(t *testing.T) {
	var mergeFull, logFull atomic.Bool
	var tried atomic.Int64
	disk := &measuredFS{}
	disk.FS = fullWhen(vfs.NewMem(), func(op errorfs.Op) bool {
		if op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") && mergeFull.Load() {
			tried.Add(1)
			return true
		}
		return strings.HasSuffix(op.Path, ".log") && logFull.Load()
	})
	o := faultOptions(disk, nil)
	o.mergeRetry = 24 * time.Hour
	e, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	mergeFull.Store(true)
	for tried.Load() == 0 {
		addToN(t, e, 1)
	}
	logFull.Store(true)
	if err := errors.Join(incrN(e), e.Commit(math.MaxUint64)); err == nil {
		t.Fatal("the log is not full")
	}
	disk.room.Add(1) // which is not enough
	looked := disk.asked.Load()
	waitUntil(t, func() bool { return disk.asked.Load() > looked+3 })
	if n := tried.Load(); n != 1 {
		t.Errorf("without room it was tried %d times", n)
	}
	mergeFull.Store(false)
	logFull.Store(false)
	disk.room.Add(10 << 10)
	waitUntil(t, func() bool { return e.Stats().Merges > 0 && e.Err() == nil })
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
