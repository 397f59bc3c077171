package wal

import (
	"errors"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// workload appends, syncs, rotates and removes on fs, and stops at the first error that is final.
type workload struct {
	appended map[uint64]flush
	acked    uint64    // every flush up to here was synced
	last     uint64    // the last epoch that was tried
	merged   SegmentID // Remove(merged) was called
	mergedTo uint64    // the last epoch in those segments
}

func (w *workload) run(fs vfs.FS, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 1))
	l, err := Open(Options{FS: fs, Dir: testDir, SegmentBytes: 20_000})
	if err != nil {
		return err
	}
	defer l.Close()
	if _, err = l.Replay(w.merged, func(uint64, []byte) error { return nil }); err != nil {
		return err
	}
	for range 25 {
		if err := w.step(l, rng); err != nil {
			return err
		}
	}
	return nil
}

func (w *workload) step(l *Log, rng *rand.Rand) error {
	epoch := w.last + 1
	f := flush{epoch: epoch}
	for range 1 + rng.IntN(3) {
		f.chunks = append(f.chunks, randomBytes(rng, rng.IntN(5000)))
	}
	w.appended[epoch] = f // also before the call: a crash in it may keep it
	if err := l.Append(epoch, f.chunks, nil); err != nil {
		return err
	}
	w.last = epoch
	if rng.IntN(3) > 0 {
		if err := l.Sync(); err != nil {
			return err
		}
		w.acked = w.last
	}
	if !l.ShouldRotate() {
		return nil
	}
	id, err := l.Rotate()
	if err != nil {
		return err
	}
	w.acked = w.last
	if rng.IntN(2) == 0 {
		w.merged, w.mergedTo = id, w.last
		return l.Remove(id)
	}
	return nil
}

// check opens what is left and compares: a prefix of what was appended, with all that was synced.
func (w *workload) check(t *testing.T, fs vfs.FS) {
	t.Helper()
	l, err := Open(Options{FS: fs, Dir: testDir, SegmentBytes: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got, _, err := replayed(l, w.merged)
	if err != nil {
		t.Fatal(err)
	}
	next := w.mergedTo + 1
	for _, f := range got {
		if f.epoch != next || !equalFlushes([]flush{f}, []flush{w.appended[f.epoch]}) {
			t.Fatalf("epoch %d is replayed where %d should be, or altered", f.epoch, next)
		}
		next++
	}
	if next <= w.acked {
		t.Fatalf("replay ends before epoch %d, synced up to %d", next, w.acked)
	}
	w.last, w.acked = next-1, next-1 // what a second run goes on from
}

// After a crash at any moment, with any of the unsynced blocks and names kept, the log holds every
// flush that was synced, then a prefix of the others, whole.
func TestCrashKeepsWhatWasSynced(t *testing.T) {
	for seed := range uint64(30) {
		rng := testRand(t, seed)
		for _, percent := range []int{0, 30, 70, 100} {
			var w workload
			w.appended = make(map[uint64]flush)
			fs := vfs.NewCrashableMem()
			var clones []*vfs.MemFS
			var states []workload
			crash := errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && rng.IntN(12) == 0 {
					cfg := vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng}
					clones = append(clones, fs.CrashClone(cfg))
					states = append(states, w)
				}
				return nil
			})
			if err := w.run(errorfs.Wrap(fs, crash), seed); err != nil {
				t.Fatal(err)
			}
			for i, clone := range clones {
				s := states[i]
				s.check(t, clone)
			}
		}
	}
}

// A restart of a crashed log that crashes again, and so on.
func TestCrashAfterCrash(t *testing.T) {
	for seed := range uint64(30) {
		rng := testRand(t, seed)
		w := workload{appended: make(map[uint64]flush)}
		fs := vfs.NewCrashableMem()
		for round := range uint64(6) {
			if err := w.run(fs, seed<<8|round); err != nil {
				t.Fatal(err)
			}
			fs = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
			w.check(t, fs)
			fs = fs.CrashClone(vfs.CrashCloneCfg{}) // what Open found is durable
			w.check(t, fs)
		}
	}
}

// Every I/O operation fails once, at each position, with an error that is final and with a full
// disk. Afterwards the machine crashes.
func TestEveryOperationFailsOnce(t *testing.T) {
	for _, cause := range []error{syscall.EIO, syscall.ENOSPC} {
		for index := int32(0); ; index++ {
			fs := vfs.NewCrashableMem()
			at, hit := index, false
			inject := errorfs.InjectorFunc(func(op errorfs.Op) error {
				if at--; at != -1 {
					return nil
				}
				hit = true
				return cause
			})
			w := workload{appended: make(map[uint64]flush)}
			faulty := errorfs.Wrap(fs, inject)
			err := w.run(faulty, 3)
			for try := 0; err != nil && !errors.Is(err, ErrFailed) && try < 3; try++ {
				err = w.run(faulty, 4) // a restart, and on with it
			}
			if !hit {
				t.Logf("%d operations", index)
				break
			}
			rng := rand.New(rand.NewPCG(uint64(index), 9))
			for _, percent := range []int{0, 50, 100} {
				s := w
				s.check(t, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng}))
			}
		}
	}
}

func TestAFailedSyncIsFinal(t *testing.T) {
	var fail bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if fail && op.Kind == errorfs.OpFileSyncData {
			return syscall.EIO
		}
		return nil
	}))
	l := openTest(t, fs, 0)
	if err := l.Append(1, [][]byte{{1}}, nil); err != nil {
		t.Fatal(err)
	}
	fail = true
	first := l.Sync()
	fail = false
	_, rotate := l.Rotate()
	for _, err := range []error{first, l.Sync(), l.Append(2, nil, nil), rotate} {
		if !errors.Is(err, ErrSyncFailed) || !errors.Is(err, ErrFailed) || !errors.Is(err, syscall.EIO) {
			t.Fatal(err)
		}
	}
}

// smallDisk is a file system with room for a number of bytes written; a write that does not fit
// writes what does.
type smallDisk struct {
	vfs.FS
	room int64
}

type smallFile struct {
	vfs.File
	disk *smallDisk
	size int64
}

func (d *smallDisk) OpenReadWrite(
	name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption,
) (vfs.File, error) {
	if d.room <= 0 {
		return nil, syscall.ENOSPC
	}
	f, err := d.FS.OpenReadWrite(name, c, opts...)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	return &smallFile{f, d, info.Size()}, err
}

func (f *smallFile) WriteAt(p []byte, off int64) (int, error) {
	grow := max(0, off+int64(len(p))-f.size)
	fits := min(grow, f.disk.room)
	n := len(p) - int(grow-fits)
	if n > 0 {
		if _, err := f.File.WriteAt(p[:n], off); err != nil {
			return 0, err
		}
	}
	f.disk.room -= fits
	f.size += fits
	if fits < grow {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// The disk fills up at any byte of a flush, later there is room again.
func TestAFullDiskLosesNothing(t *testing.T) {
	for seed := range uint64(150) {
		rng := testRand(t, seed)
		mem := vfs.NewCrashableMem()
		disk := &smallDisk{FS: mem, room: rng.Int64N(200_000)}
		l := openTest(t, disk, 50_000)
		var want []flush
		full := 0
		for epoch := uint64(1); epoch <= 40; epoch++ {
			f := flush{epoch: epoch}
			for range 1 + rng.IntN(3) {
				f.chunks = append(f.chunks, randomBytes(rng, rng.IntN(20_000)))
			}
			err := l.Append(epoch, f.chunks, nil)
			for ; errors.Is(err, ErrDiskFull); err = l.Append(epoch, f.chunks, nil) {
				full++
				if rng.IntN(2) == 0 {
					f.chunks = f.chunks[:1+rng.IntN(len(f.chunks))]
				}
				disk.room += rng.Int64N(30_000)
			}
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, f)
			if l.ShouldRotate() {
				if _, err := l.Rotate(); err != nil && !errors.Is(err, ErrDiskFull) {
					t.Fatal(err)
				}
			}
		}
		if err := l.Sync(); err != nil {
			t.Fatal(err)
		}
		after := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		got, _, err := replayed(openTest(t, after, 50_000), 0)
		if err != nil || !equalFlushes(got, want) {
			t.Fatalf("seed %d, full %d times: %v, %v", seed, full, epochs(got), err)
		}
	}
}

func TestAFullDiskShowsBeforeTheSegmentIsBegun(t *testing.T) {
	var full bool
	mem := vfs.NewMem()
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full && op.Kind == errorfs.OpFilePreallocate {
			return syscall.ENOSPC
		}
		return nil
	}))
	l := openTest(t, fs, 0)
	full = true
	if err := l.Append(1, nil, nil); !errors.Is(err, ErrDiskFull) || errors.Is(err, ErrFailed) {
		t.Fatal(err)
	}
	if names, _ := mem.List(testDir); len(names) != 0 {
		t.Fatal(names)
	}
	full = false
	if err := l.Append(1, nil, nil); err != nil {
		t.Fatal(err)
	}
	full = true
	if _, err := l.Rotate(); !errors.Is(err, ErrDiskFull) {
		t.Fatal(err)
	}
	if err := l.Append(2, nil, nil); err != nil {
		t.Fatal("the old segment is still there to append to:", err)
	}
	full = false
	if id, err := l.Rotate(); id != 1 || err != nil {
		t.Fatal(id, err)
	}
}
