package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"countd/shards"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

func faultOptions(fs vfs.FS, fatal func(string)) Options {
	return Options{
		Dir: "data", FS: fs, Policy: FsyncAlways, SegmentBytes: 2 << 10, MergeBytes: 4 << 10, mergeRangeBytes: 3 << 10,
		FlushInterval: time.Hour, StoreFatal: fatal,
	}
}

// countLife is one life of a process: it opens an engine on fs and increments "n" from its present
// value, then says so in a contract, committing each time, until something fails, it has done rounds, or it dies.
type countLife struct {
	acked, tried atomic.Int64 // the last sum that was acknowledged, the last that was tried
	died         chan struct{}
	away         string // Options.LogFailoverDir
}

// live runs the life and returns when it has ended. A process that dies does not come back from StoreFatal, so
// neither does this one: what it still has running is stuck for ever, as after a crash.
func (l *countLife) live(run func(fatal func(string)) error) error {
	l.died = make(chan struct{})
	var once sync.Once
	done := make(chan error, 1)
	go func() {
		done <- run(func(string) {
			once.Do(func() { close(l.died) })
			select {}
		})
	}()
	select {
	case err := <-done:
		return err
	case <-l.died:
		return errors.New("the store ended the process")
	}
}

func (l *countLife) count(fs vfs.FS, rounds int, fatal func(string)) (err error) {
	o := faultOptions(fs, fatal)
	o.LogFailoverDir, o.LogStall = l.away, time.Hour
	e, _, err := Open(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	op := Op{NowMs: e.NowMs()}
	filler := make([]byte, 300)
	for i := 0; i < rounds; i++ {
		if _, _, err := e.Set(&op, []byte("filler"+strconv.Itoa(i%4)), filler, SetOptions{}); err != nil {
			return err
		}
		l.tried.Add(1)
		n, err := e.IncrBy(&op, []byte("n"), 1)
		if err == nil {
			err = e.SetContract(&op, Contract{Glob: "count*", StalenessMs: n})
		}
		if err == nil {
			err = e.Commit(op.Seen)
		}
		if err != nil {
			return err
		}
		l.acked.Store(n)
	}
	return nil
}

// readCount returns "n" as it comes back from fs.
func readCount(t *testing.T, fs vfs.FS) int64 {
	t.Helper()
	n, _ := readLife(t, fs)
	return n
}

// readLife returns "n", and what the contract behind it says of it, 0 where there is none.
func readLife(t *testing.T, fs vfs.FS) (n, contract int64) {
	t.Helper()
	e, _, err := Open(faultOptions(fs, nil))
	if err != nil {
		t.Fatalf("reopen: %v", err)
	}
	defer e.Close()
	v, err := e.Get(&Op{NowMs: e.NowMs()}, []byte("n"))
	if err != nil {
		t.Fatalf("reopen: %v", err)
	}
	if c := e.contractOf([]byte("counted")); c != nil {
		contract = c.StalenessMs
	}
	return v.Int, contract
}

// TestEveryIOFailsOnce fails the k-th I/O, for every k that a short life has, then crashes. Every
// acknowledged increment must be there, and none that was not tried.
func TestEveryIOFailsOnce(t *testing.T) { everyIOFailsOnce(t, "") }

// nextIO is the I/O that fails after the k-th. With the race detector, to which one is as good as another, it is
// the third behind it.
func nextIO(k int32) int32 {
	if raceDetector {
		return k + 3
	}
	return k + 1
}

func everyIOFailsOnce(t *testing.T, away string) {
	for k := int32(0); ; k = nextIO(k) {
		mem := newCrashFS()
		if away != "" {
			makeDurableDir(t, mem, away)
		}
		index := errorfs.OnIndex(k)
		life := countLife{away: away}
		err := life.live(func(fatal func(string)) error {
			return life.count(errorfs.Wrap(mem, index), 40, fatal)
		})
		acked, left := life.acked.Load(), index.Load()
		if left >= 0 {
			if err != nil {
				t.Fatalf("without a fault: %v", err)
			}
			t.Logf("%d I/Os failed, one in each life", k)
			if k < 100 {
				t.Error("that is too few: the life does not do what it should")
			}
			return
		}
		// Where the store ended the process, its other goroutines go on here until the crash: what
		// they have acknowledged before it is a lower bound, what they have tried behind it an upper.
		crashed := mem.clone(vfs.CrashCloneCfg{})
		tried := life.tried.Load()
		if got, c := readLife(t, crashed); got < acked || got > tried || c != got {
			t.Fatalf("I/O %d failed (%v): recovered %d and a contract of %d, acknowledged %d, tried %d",
				k, err, got, c, acked, tried)
		}
	}
}

// TestAFailedSyncIsFinal: after it nothing is acknowledged, reads above what is durable and writes
// are refused, and the hook tells those who wait.
func TestAFailedSyncIsFinal(t *testing.T) {
	var failing atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if failing.Load() && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
			return errors.New("injected")
		}
		return nil
	}))
	e, _, err := Open(faultOptions(fs, nil))
	if err != nil {
		t.Fatal(err)
	}
	hooked := 0
	e.OnCommit(func() { hooked++ })
	op := Op{NowMs: e.NowMs()}
	mustIncr(t, e, &op, "n", 1)
	if !e.TryCommit() {
		t.Fatal(e.Err())
	}
	failing.Store(true)
	mustIncr(t, e, &op, "n", 2)
	durable := e.Durable()
	if e.TryCommit() || hooked == 0 {
		t.Error("TryCommit succeeded or did not call the hook")
	}
	failing.Store(false) // a later sync would succeed; that proves nothing
	if e.TryCommit() || e.Commit(op.Seen) == nil || e.Durable() != durable {
		t.Error("something was made durable after a failed sync")
	}
	if _, err := e.IncrBy(&op, []byte("n"), 1); !errors.Is(err, ErrSyncFailed) {
		t.Errorf("a write answers %v", err)
	}
	if _, err := e.Get(&op, []byte("n")); !errors.Is(err, ErrSyncFailed) {
		t.Errorf("a read of what is not durable answers %v", err)
	}
	if !errors.Is(e.Err(), ErrSyncFailed) {
		t.Errorf("Err is %v", e.Err())
	}
	if err := e.Close(); !errors.Is(err, ErrSyncFailed) {
		t.Errorf("Close: %v", err)
	}
}

// flushOnce has the engine's flusher flush, on its timer or kicked by a loop.
func flushOnce(t *testing.T, e *Engine, kicked bool) {
	t.Helper()
	e.commit.Lock()
	defer e.commit.Unlock()
	if err := e.commitLocked(e.flushSync(kicked)); err != nil {
		t.Fatal(err)
	}
}

func mustIncr(t *testing.T, e *Engine, op *Op, key string, want int64) {
	t.Helper()
	if n, err := e.IncrBy(op, []byte(key), 1); err != nil || n != want {
		t.Fatalf("IncrBy %s: %d, %v; want %d", key, n, err, want)
	}
}

// TestAFullDiskIsNotFinal: writes are refused while there is no room, what was written before is
// kept and becomes durable when there is room again.
func TestAFullDiskIsNotFinal(t *testing.T) {
	var full atomic.Bool
	mem := newCrashFS()
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpFilePreallocate, errorfs.OpCreate:
			if full.Load() {
				return syscall.ENOSPC
			}
		}
		return nil
	}))
	e, _, err := Open(faultOptions(fs, nil))
	if err != nil {
		t.Fatal(err)
	}
	op := Op{NowMs: e.NowMs()}
	mustIncr(t, e, &op, "n", 1)
	full.Store(true)
	if err := e.Commit(op.Seen); !errors.Is(err, ErrDiskFull) && !errors.Is(e.Err(), ErrDiskFull) {
		t.Fatalf("Commit on a full disk: %v, Err %v", err, e.Err())
	}
	if _, err := e.IncrBy(&op, []byte("n"), 1); !errors.Is(err, ErrDiskFull) {
		t.Fatalf("a write on a full disk answers %v", err)
	}
	if _, err := e.Get(&op, []byte("n")); !errors.Is(err, ErrDiskFull) {
		t.Fatalf("under always, a read of what is not durable answers %v", err)
	}
	if v, err := e.Get(&op, []byte("other")); err != nil || v.Exists {
		t.Fatalf("a read of what is durable answers %v, %v", v, err)
	}
	if err := e.SetPolicy(FsyncEverySec); err != nil {
		t.Fatal(err)
	}
	if v, err := e.Get(&op, []byte("n")); err != nil || v.Int != 1 {
		t.Fatalf("under everysec, a read on a full disk answers %v, %v", v, err)
	}
	full.Store(false)
	if err := e.Commit(math.MaxUint64); err != nil {
		t.Fatal(err)
	}
	mustIncr(t, e, &op, "n", 2)
	if err := e.Commit(math.MaxUint64); err != nil {
		t.Fatal(err)
	}
	crashed := mem.clone(vfs.CrashCloneCfg{})
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if got := readCount(t, crashed); got != 2 {
		t.Fatalf("recovered %d, want 2", got)
	}
}

// TestACrashIsACutInTime: each writer increments its key a, then b, and all the keys A and B likewise,
// while commits and merges go on, keys are promoted and demoted, and the file system crashes. What
// comes back must never have b ahead of a, MSET writes both of two keys or none, and a counter that is
// renamed and moved is at one place, with all its increments.
// Another raises the maximum of a counter by one, then increments it.
func TestACrashIsACutInTime(t *testing.T) {
	mem := newCrashFS()
	o := faultOptions(mem, nil)
	o.FlushInterval = 2 * time.Millisecond
	o.Policy = FsyncEverySec
	e, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	const writers = 4
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := 0; w < writers; w++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			op := Op{NowMs: e.NowMs(), Writer: e.NewWriter()}
			a, b := fmt.Appendf(nil, "a%d", w), fmt.Appendf(nil, "b%d", w)
			x, y := fmt.Appendf(nil, "x%d", w), fmt.Appendf(nil, "y%d", w)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				v := strconv.AppendInt(nil, int64(i), 10)
				_, err1 := e.IncrBy(&op, a, 1)
				_, err2 := e.IncrBy(&op, b, 1)
				_, err3 := e.IncrBy(&op, []byte("A"), 1)
				_, err4 := e.IncrBy(&op, []byte("B"), 1)
				_, err5 := e.MSet(&op, [][]byte{x, v, y, v}, false)
				err6 := travel(e, &op, w)
				if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	wg.Go(func() {
		rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
		for {
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Microsecond):
			}
			key := []byte{"abtABtu"[rng.IntN(7)]}
			if key[0] >= 'a' {
				key = append(key, byte('0'+rng.IntN(writers)))
			}
			if rng.IntN(3) == 0 {
				e.demote(0, key)
			} else {
				e.forceHot(0, key, shards.HotOptions{Cells: 4, Writers: writers, Relaxed: rng.IntN(2) == 0})
			}
		}
	})
	wg.Add(1)
	go func() {
		defer wg.Done()
		op := Op{NowMs: e.NowMs()}
		for i := int64(1); ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			err1 := e.SetContract(&op, Contract{Glob: "n*", HasMax: true, Max: i})
			n, err2 := e.IncrBy(&op, []byte("n"), 1)
			if err := errors.Join(err1, err2); err != nil || n != i {
				t.Error(n, err)
				return
			}
		}
	}()
	crashes, advanced := 0, int64(0)
	for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end) ||
		advanced == 0 && time.Now().Before(end.Add(time.Minute)); crashes++ {
		time.Sleep(20 * time.Millisecond)
		c, _, err := Open(faultOptions(mem.clone(vfs.CrashCloneCfg{}), nil))
		if err != nil {
			t.Fatal(err)
		}
		op := Op{NowMs: c.NowMs()}
		get := func(key string) int64 {
			v, err := c.Get(&op, []byte(key))
			if err != nil {
				t.Fatal(err)
			}
			return v.Int
		}
		sum := int64(0)
		for w := 0; w < writers; w++ {
			id := strconv.Itoa(w)
			a, b, x, y := get("a"+id), get("b"+id), get("x"+id), get("y"+id)
			if b > a || a > b+1 || x != y || x > b || b > x+2 {
				t.Fatalf("writer %d: a=%d b=%d x=%d y=%d", w, a, b, x, y)
			}
			if n, places := traveller(t, c, w); n < x || n > x+1 || n > 0 && places != 1 {
				t.Fatalf("writer %d: the counter that was renamed is %d, x=%d; it is at %d places", w, n, x, places)
			}
			sum += a
		}
		if a, b := getInt(t, c, "A"), getInt(t, c, "B"); b > a || a > b+writers {
			t.Fatalf("A=%d B=%d", a, b)
		}
		n, contract := get("n"), int64(0)
		if c := c.contractOf([]byte("n")); c != nil {
			contract = c.Max
		}
		if contract < n || contract > n+1 {
			t.Fatalf("the counter is %d, its maximum %d", n, contract)
		}
		if sum < advanced {
			t.Fatalf("a later crash went further back: %d after %d", sum, advanced)
		}
		advanced = sum
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
	if advanced == 0 {
		t.Error("nothing was ever durable")
	}
	t.Logf("%d crashes, %d increments durable at the last", crashes, advanced)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

func getInt(t *testing.T, e *Engine, key string) int64 {
	t.Helper()
	v, err := e.Get(&Op{NowMs: e.NowMs()}, []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	return v.Int
}

// TestASecondProcessIsRefused: the data directory's lock.
func TestASecondProcessIsRefused(t *testing.T) {
	fs := lockedFS{vfs.NewMem()}
	if _, _, err := Open(faultOptions(fs, nil)); !errors.Is(err, ErrLocked) {
		t.Fatalf("Open of a locked directory: %v", err)
	}
}

// TestALogThatCannotBeContinuedForNowIsNotFinal: no descriptor for the first segment refuses writes
// until there is one; none for a later one goes on in the old.
func TestALogThatCannotBeContinuedForNowIsNotFinal(t *testing.T) {
	var none atomic.Bool
	mem := newCrashFS()
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if none.Load() && (op.Kind == errorfs.OpOpen || op.Kind == errorfs.OpCreate) {
			return syscall.EMFILE
		}
		return nil
	}))
	e, _, err := Open(faultOptions(fs, nil))
	if err != nil {
		t.Fatal(err)
	}
	op := Op{NowMs: e.NowMs()}
	none.Store(true)
	mustIncr(t, e, &op, "n", 1)
	if err := e.Commit(op.Seen); err == nil || !errors.Is(e.Err(), ErrLogBlocked) {
		t.Fatalf("Commit without a segment: %v, Err %v", err, e.Err())
	}
	if _, err := e.IncrBy(&op, []byte("n"), 1); !errors.Is(err, ErrLogBlocked) {
		t.Fatalf("a write: %v", err)
	}
	other := Op{NowMs: e.NowMs()}
	if _, err := e.Get(&other, []byte("n")); !errors.Is(err, ErrLogBlocked) {
		t.Fatalf("a read of what is not durable must not wait for ever: %v", err)
	}
	if _, err := e.DBSize(&other); !errors.Is(err, ErrLogBlocked) {
		t.Fatalf("DBSIZE must not wait for ever: %v", err)
	}
	if other.Seen > e.Durable() {
		t.Error("the replies that say so wait for the disk")
	}
	none.Store(false)
	if err := e.Commit(op.Seen); err != nil {
		t.Fatal(err)
	}
	none.Store(true)
	for i := int64(2); i < 200; i++ { // past the end of the segment
		mustIncr(t, e, &op, "n", i)
		if err := e.Commit(op.Seen); err != nil {
			t.Fatal(err)
		}
	}
	none.Store(false)
	crashed := mem.clone(vfs.CrashCloneCfg{})
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if got := readCount(t, crashed); got != 199 {
		t.Fatalf("recovered %d, want 199", got)
	}
}

// TestASlowSyncDoesNotKeepFlushesFromBeingWritten: under everysec a process that is killed loses what was
// not written, so while a sync takes its time the flushes behind it are written all the same. Durable
// waits for the sync.
func TestASlowSyncDoesNotKeepFlushesFromBeingWritten(t *testing.T) {
	var slow atomic.Bool
	stuck, gate := make(chan struct{}, 100), make(chan struct{})
	mem := newCrashFS()
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSyncData && slow.Load() {
			stuck <- struct{}{}
			<-gate
		}
		return nil
	}))
	o := faultOptions(fs, nil)
	o.Policy, o.FlushInterval, o.SegmentBytes = FsyncEverySec, 2*time.Millisecond, 1<<20
	e, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	op := Op{NowMs: e.NowMs()}
	mustIncr(t, e, &op, "n", 1)
	if err := e.Commit(math.MaxUint64); err != nil {
		t.Fatal(err)
	}
	slow.Store(true)
	mustIncr(t, e, &op, "n", 2)
	<-stuck
	mustIncr(t, e, &op, "n", 3)
	en := e.lock(&op, []byte("n"))
	last := Epoch(en.p.Epoch)
	en.p.Unlock()
	killed := vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 2))}
	waitUntil(t, func() bool { return readCount(t, mem.clone(killed)) == 3 }) // it is written behind the sync
	if e.Durable() >= last {
		t.Error("durable without a sync")
	}
	slow.Store(false)
	close(gate)
	waitUntil(t, func() bool { return e.Durable() >= last }) // though nothing is written any more
	if got := readCount(t, mem.clone(vfs.CrashCloneCfg{})); got != 3 {
		t.Errorf("recovered %d, want 3", got)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestAStricterPolicySyncsWhatWasOnlyWritten: CONFIG SET appendfsync always.
func TestAStricterPolicySyncsWhatWasOnlyWritten(t *testing.T) {
	mem := newCrashFS()
	o := faultOptions(mem, nil)
	o.Policy = FsyncNo
	e, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	op := Op{NowMs: e.NowMs()}
	mustIncr(t, e, &op, "n", 1)
	flushOnce(t, e, false)
	if got := readCount(t, mem.clone(vfs.CrashCloneCfg{})); got != 0 {
		t.Fatalf("appendfsync no synced: recovered %d", got)
	}
	if err := e.SetPolicy(FsyncAlways); err != nil {
		t.Fatal(err)
	}
	if got := readCount(t, mem.clone(vfs.CrashCloneCfg{})); got != 1 {
		t.Fatalf("recovered %d after the policy was always, want 1", got)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestADamagedIdentityStopsTheStart: with another seed the same key would be two.
func TestADamagedIdentityStopsTheStart(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, identityName)
	o := Options{Dir: dir, Policy: FsyncAlways}
	e, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	mustIncr(t, e, &Op{NowMs: e.NowMs()}, "n", 1)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string) {
		t.Helper()
		if e, _, err := Open(o); !errors.Is(err, ErrIdentity) && !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", what, err)
			if err == nil {
				_ = e.Close()
			}
		}
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		try(fmt.Sprintf("byte %d damaged", i))
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	try("missing")
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	e, _, err = Open(o)
	if err != nil {
		t.Fatal(err)
	}
	mustIncr(t, e, &Op{NowMs: e.NowMs()}, "n", 2)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestADirectoryThatCannotBeUsedIsNotCalledLocked: the error names what is wrong.
func TestADirectoryThatCannotBeUsedIsNotCalledLocked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		_, _, err := Open(Options{Dir: dir, Policy: FsyncAlways})
		if !errors.Is(err, syscall.ENOTDIR) || errors.Is(err, ErrLocked) {
			t.Errorf("Open(%s): %v", dir, err)
		}
	}
}

// TestTheSameDirectoryTwiceIsLocked: also within one process.
func TestTheSameDirectoryTwiceIsLocked(t *testing.T) {
	o := Options{Dir: t.TempDir(), Policy: FsyncAlways}
	e, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(o); !errors.Is(err, ErrLocked) {
		t.Errorf("a second Open: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// lockedFS is a file system whose locks are all taken.
type lockedFS struct{ vfs.FS }

func (lockedFS) Lock(string) (io.Closer, error) { return nil, syscall.EAGAIN }
