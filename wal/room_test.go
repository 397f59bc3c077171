package wal

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// measuredDisk is a smallDisk that says how much room it has.
type measuredDisk struct{ smallDisk }

func (d *measuredDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{TotalBytes: 1 << 40, UsedBytes: 1<<40 - uint64(d.room)}, nil
}

// TestAFlushLeavesTheRoomThatIsTooLittle: what is freed is there for others until the flush fits.
func TestAFlushLeavesTheRoomThatIsTooLittle(t *testing.T) {
	disk := &measuredDisk{smallDisk{FS: vfs.NewMem(), room: 1 << 20}}
	l := openTest(t, disk, 10_000)
	chunks := [][]byte{make([]byte, 300_000)}
	epoch := uint64(1)
	for ; ; epoch++ {
		if err := l.Append(epoch, chunks, nil); errors.Is(err, ErrDiskFull) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	disk.room += 100
	if err := l.Append(epoch, chunks, nil); !errors.Is(err, ErrDiskFull) || errors.Is(err, ErrFailed) {
		t.Fatal(err)
	}
	if disk.room != 100 {
		t.Errorf("of 100 bytes %d are left", disk.room)
	}
	if err := l.Append(epoch, [][]byte{[]byte("less")}, nil); err != nil {
		t.Errorf("a flush that fits: %v", err)
	}
	disk.room += 400_000
	if err := l.Append(epoch+1, chunks, nil); err != nil {
		t.Error(err)
	}
}
