package engine

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// backupsIn lists the backups of a data directory, and whether there is a temporary one.
func backupsIn(t *testing.T, fs vfs.FS, dir string) (paths []string, temporary bool) {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, backupPrefix) && !strings.HasSuffix(name, " restored") {
			paths = append(paths, fs.PathJoin(dir, name))
		}
		temporary = temporary || name == backupTemporary
	}
	slices.Sort(paths)
	return paths, temporary
}

// openBackup opens what a backup holds, restored.
func openBackup(t *testing.T, fs vfs.FS, path string) *Engine {
	t.Helper()
	o := faultOptions(fs, nil)
	o.Dir = path + " restored"
	report, err := Restore(path, o.Dir, fs)
	if err != nil {
		t.Fatalf("the backup %s: %v; %+v", path, err, report)
	}
	e, rec, err := Open(o)
	if err != nil {
		t.Fatalf("the backup %s: %v", path, err)
	}
	keys := int64(0)
	for _, n := range report.Keys {
		keys += n
	}
	if rec.Keys != keys {
		t.Fatalf("the backup %s has %d keys, Check says %d", path, rec.Keys, keys)
	}
	return e
}

// TestABackupIsTheStateOfOneInstant: under load, merges included, a backup has every increment
// that was acknowledged before it was asked for, none that was not tried before it was there, and
// no later one without an earlier one.
func TestABackupIsTheStateOfOneInstant(t *testing.T) {
	for _, policy := range []FsyncPolicy{FsyncAlways, FsyncEverySec} {
		t.Run(fmt.Sprint("policy ", policy), func(t *testing.T) {
			mem := newCrashFS()
			o := faultOptions(mem, nil)
			o.Policy, o.FlushInterval = policy, 2*time.Millisecond
			e, _, err := Open(o)
			if err != nil {
				t.Fatal(err)
			}
			const writers = 4
			var acked, tried [writers]atomic.Int64
			var running sync.RWMutex // held to stop the load while a backup is looked at: it would grow without end
			var stop atomic.Bool
			var wg sync.WaitGroup
			for w := range writers {
				wg.Go(func() {
					op := Op{NowMs: e.NowMs(), Writer: e.NewWriter()}
					for i := int64(1); !stop.Load(); i++ {
						running.RLock()
						tried[w].Store(i)
						_, err1 := e.IncrBy(&op, fmt.Append(nil, "a", w), 1)
						_, err2 := e.IncrBy(&op, fmt.Append(nil, "b", w), 1)
						_, _, err3 := e.Set(&op, fmt.Append(nil, "filler", w, i%50), make([]byte, 100), SetOptions{})
						acked[w].Store(i)
						running.RUnlock()
						if err := errors.Join(err1, err2, err3); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			for range 5 {
				time.Sleep(5 * time.Millisecond)
				var before [writers]int64
				for w := range writers {
					before[w] = acked[w].Load()
				}
				path, err := e.Backup()
				if err != nil {
					t.Fatal(err)
				}
				running.Lock()
				b := openBackup(t, mem, path)
				for w := range writers {
					after := tried[w].Load()
					x, y := getInt(t, b, fmt.Sprint("a", w)), getInt(t, b, fmt.Sprint("b", w))
					if x < before[w] || x > after || y > x || x > y+1 {
						t.Fatalf("writer %d: a=%d b=%d; %d acknowledged before, %d tried", w, x, y, before[w], after)
					}
				}
				if err := b.Close(); err != nil {
					t.Fatal(err)
				}
				running.Unlock()
			}
			waitUntil(t, func() bool { return e.Stats().Merges > 0 })
			stop.Store(true)
			wg.Wait()
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// backupLife opens an engine with data in the store and in the log, whose counter "n" is at least
// 30. From then on it neither merges nor compacts: an injected error is for who asks for it.
func backupLife(t *testing.T, fs vfs.FS, fatal func(string)) (e *Engine, op Op, n int64) {
	t.Helper()
	o := faultOptions(fs, fatal)
	o.noCompaction = true // an error in one that runs beside is another matter
	e, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	op = Op{NowMs: e.NowMs()}
	for ; n < 30 || e.Stats().Merges == 0; n++ {
		if n > 10_000 {
			t.Fatal("no merge")
		}
		if _, _, err := e.Set(&op, fmt.Append(nil, "filler", n%4), make([]byte, 300), SetOptions{}); err != nil {
			t.Fatal(err)
		}
		mustIncr(t, e, &op, "n", n+1)
		if err := e.Commit(op.Seen); err != nil {
			t.Fatal(err)
		}
	}
	e.commit.Lock() // who reads it holds that lock, once the engine is open
	e.opts.MergeBytes = math.MaxInt64
	e.commit.Unlock()
	waitUntil(t, func() bool { return e.merge.job.Load() == nil && !e.Stats().MergeInProgress })
	return e, op, n
}

// TestEveryIOOfABackupFailsOnce: the backup fails with that error, nothing has a backup's name,
// the engine goes on and loses nothing, and the next backup is whole. What is final in any commit,
// an error of the log's own writes and syncs, is here too.
func TestEveryIOOfABackupFailsOnce(t *testing.T) {
	final := 0
	for k := int32(0); ; k = nextIO(k) {
		mem := newCrashFS()
		index := errorfs.OnIndex(-1)
		e, op, n := backupLife(t, errorfs.Wrap(mem, index), func(msg string) { t.Errorf("I/O %d: fatal: %s", k, msg) })
		mustIncr(t, e, &op, "n", n+1)
		n++
		index.Index.Store(k)
		path, err := e.Backup()
		passed := index.Index.Load() >= 0
		index.Index.Store(-1)
		paths, _ := backupsIn(t, mem, "data")
		if err == nil && !slices.Equal(paths, []string{path}) || err != nil && len(paths) > 0 {
			t.Fatalf("I/O %d: %v; there are %v", k, err, paths)
		}
		if err == nil {
			b := openBackup(t, mem.clone(vfs.CrashCloneCfg{}), path)
			if got := getInt(t, b, "n"); got != n {
				t.Fatalf("I/O %d: the backup has %d, want %d", k, got, n)
			}
			_ = b.Close()
		} else if passed {
			t.Fatalf("without a fault: %v", err)
		}
		if errors.Is(e.Err(), ErrSyncFailed) { // final, as in any commit
			final++
		} else {
			mustIncr(t, e, &op, "n", n+1)
			n++
			if err := e.Commit(op.Seen); err != nil {
				t.Fatalf("I/O %d: %v", k, err)
			}
			if path, err = e.Backup(); err != nil {
				t.Fatalf("I/O %d: the next backup: %v", k, err)
			}
			b := openBackup(t, mem.clone(vfs.CrashCloneCfg{}), path)
			if got := getInt(t, b, "n"); got != n {
				t.Fatalf("I/O %d: the next backup has %d, want %d", k, got, n)
			}
			_ = b.Close()
		}
		crashed := mem.clone(vfs.CrashCloneCfg{})
		if got := readCount(t, crashed); got != n && (e.Err() == nil || got != n-1) {
			t.Fatalf("I/O %d: recovered %d, want %d", k, got, n)
		}
		if _, temporary := backupsIn(t, crashed, "data"); temporary {
			t.Errorf("I/O %d: the start leaves a temporary backup", k)
		}
		_ = e.Close()
		if passed {
			t.Logf("%d I/Os, %d of them final", k, final)
			if k < 40 || final > 8 {
				t.Error("the backup does not do what it should")
			}
			return
		}
	}
}

// TestACrashInABackupLeavesAWholeOneOrNone: a crash before any I/O, with some of what was not
// synced.
func TestACrashInABackupLeavesAWholeOneOrNone(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	mem := newCrashFS()
	var mu sync.Mutex // of armed, crashes and rng: the store writes in the background too
	armed := false
	var crashes []*crashFS
	arm := func(on bool) { mu.Lock(); armed = on; mu.Unlock() }
	e, op, n := backupLife(t, errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if armed {
			for _, kept := range []int{0, 50, 100} {
				crashes = append(crashes, mem.clone(vfs.CrashCloneCfg{UnsyncedDataPercent: kept, RNG: rng}))
			}
		}
		return nil
	})), nil)
	mustIncr(t, e, &op, "n", n+1)
	arm(true)
	path, err := e.Backup()
	arm(false) // crashes and rng are this goroutine's from here on
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for i, fs := range append(crashes, mem.clone(vfs.CrashCloneCfg{})) {
		if got := readCount(t, fs); got != n && got != n+1 {
			t.Fatalf("crash %d: recovered %d, want %d", i, got, n)
		}
		paths, temporary := backupsIn(t, fs, "data")
		if temporary || len(paths) > 1 {
			t.Fatalf("crash %d: there are %v, temporary %v", i, paths, temporary)
		}
		for _, path := range paths {
			b := openBackup(t, fs, path)
			if got := getInt(t, b, "n"); got != n+1 {
				t.Fatalf("crash %d: the backup has %d, want %d", i, got, n+1)
			}
			_ = b.Close()
			whole++
		}
	}
	if paths, _ := backupsIn(t, mem, "data"); !slices.Equal(paths, []string{path}) || whole == 0 {
		t.Errorf("%v; %d whole ones", paths, whole)
	}
	t.Logf("%d crashes, %d with a backup", len(crashes), whole)
	_ = e.Close()
}

// TestABackupOnAFullDiskFails: with a clear error, and the engine goes on when there is room.
func TestABackupOnAFullDiskFails(t *testing.T) {
	var full atomic.Bool
	mem := newCrashFS()
	e, op, n := backupLife(t, errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpFilePreallocate, errorfs.OpCreate,
			errorfs.OpLink, errorfs.OpMkdirAll:
			if full.Load() {
				return syscall.ENOSPC
			}
		}
		return nil
	})), nil)
	mustIncr(t, e, &op, "n", n+1)
	full.Store(true)
	for range 2 {
		if _, err := e.Backup(); !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	full.Store(false)
	path, err := e.Backup()
	if err != nil {
		t.Fatal(err)
	}
	mustIncr(t, e, &op, "n", n+2)
	b := openBackup(t, mem, path)
	if got := getInt(t, b, "n"); got != n+1 {
		t.Errorf("the backup has %d, want %d", got, n+1)
	}
	if err := errors.Join(b.Close(), e.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestBackupsOfOneSecondAreSeveral, also of an engine that has nothing.
func TestBackupsOfOneSecondAreSeveral(t *testing.T) {
	o := faultOptions(vfs.NewMem(), nil)
	o.WallClockMs = func() int64 { return 1_764_543_120_999 }
	e, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	op := Op{NowMs: e.NowMs()}
	var paths []string
	for i := range 3 {
		path, err := e.Backup()
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
		mustIncr(t, e, &op, "n", int64(i)+1)
	}
	want := []string{"data/backup-20251130-225200Z", "data/backup-20251130-225200Z-2", "data/backup-20251130-225200Z-3"}
	if !slices.Equal(paths, want) {
		t.Errorf("%v", paths)
	}
	for i, path := range paths {
		b := openBackup(t, o.FS, path)
		if got := getInt(t, b, "n"); got != int64(i) {
			t.Errorf("%s has %d", path, got)
		}
		_ = b.Close()
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestUnsavedCountsFromTheCut.
func TestUnsavedCountsFromTheCut(t *testing.T) {
	e, op, n := backupLife(t, vfs.NewMem(), nil)
	if got := e.Stats().Unsaved; got < n {
		t.Errorf("%d, %d commits were made", got, n)
	}
	if _, err := e.Backup(); err != nil {
		t.Fatal(err)
	}
	if got := e.Stats().Unsaved; got != 0 {
		t.Errorf("%d after a backup", got)
	}
	mustIncr(t, e, &op, "n", n+1)
	if got := e.Stats().Unsaved; got != 1 {
		t.Errorf("%d after an increment", got)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCloseEndsABackup: one that is under way gives up.
func TestCloseEndsABackup(t *testing.T) {
	var armed atomic.Bool
	linking, gate := make(chan struct{}), make(chan struct{})
	mem := vfs.NewMem()
	e, _, _ := backupLife(t, errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpLink && armed.CompareAndSwap(true, false) {
			close(linking)
			<-gate
		}
		return nil
	})), nil)
	armed.Store(true)
	backup, closed := make(chan error), make(chan error)
	go func() { _, err := e.Backup(); backup <- err }()
	<-linking
	go func() { closed <- e.Close() }()
	<-e.quit
	close(gate)
	if err := <-backup; !errors.Is(err, ErrClosed) {
		t.Errorf("Backup: %v", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
	if paths, temporary := backupsIn(t, mem, "data"); len(paths) > 0 || temporary {
		t.Errorf("left: %v, temporary %v", paths, temporary)
	}
}

// TestThereIsNoBackupWithoutALog.
func TestThereIsNoBackupWithoutALog(t *testing.T) {
	e, _, err := Open(Options{Policy: FsyncOff})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Backup(); !errors.Is(err, ErrNoLog) {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
