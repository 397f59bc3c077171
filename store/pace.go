package store

import (
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Compaction is paced where it writes: Go has no priorities among goroutines, but
// one that sleeps takes no processor. After each slice of work the writer of a
// compaction's table sleeps so long that work is the given share of the time. A
// slice is about a millisecond, so an event loop that finds both processors taken
// waits for no more than that, in place of the scheduler's 10 ms.

// compactionCategory is Pebble's word for what compactions write, mergeCategory ours
// for the tables of Apply.
const (
	compactionCategory = "pebble-compaction"
	mergeCategory      = "countd-merge"
	paceSlice          = time.Millisecond
)

// pacer says how much of the time compactions may work.
type pacer struct {
	share   float64
	urgent  atomic.Int32  // above 0: an Apply waits for compaction, do not sleep
	stopped chan struct{} // closed by stop: do not sleep any more
}

func newPacer(share float64) *pacer {
	return &pacer{share: share, stopped: make(chan struct{})}
}

// stop ends all pacing. Close calls it, once.
func (p *pacer) stop() { close(p.stopped) }

// rest sleeps for what work costs.
func (p *pacer) rest(work time.Duration) {
	if p.share >= 1 || p.urgent.Load() > 0 {
		return
	}
	// A writer that was itself kept waiting, for the disk or for a processor, need
	// not rest for that at length.
	work = min(work, 20*paceSlice)
	t := time.NewTimer(time.Duration(float64(work) * (1 - p.share) / p.share))
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.stopped:
	}
}

// pacedFS is FS with paced writing of compactions' tables.
type pacedFS struct {
	vfs.FS
	pace *pacer
}

func (fs *pacedFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.Create(name, c)
	if err != nil || c != compactionCategory || fs.pace.share >= 1 {
		return f, err
	}
	return &pacedFile{File: f, pace: fs.pace, awake: time.Now()}, nil
}

// Unwrap is part of vfs.FS.
func (fs *pacedFS) Unwrap() vfs.FS { return fs.FS }

// pacedFile belongs to the compaction that writes it.
type pacedFile struct {
	vfs.File
	pace  *pacer
	awake time.Time // when the current slice of work began
}

func (f *pacedFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	if work := time.Since(f.awake); work >= paceSlice {
		f.pace.rest(work)
		f.awake = time.Now()
	}
	return n, err
}
