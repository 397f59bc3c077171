package engine

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

func makeDurableDir(t testing.TB, fs vfs.FS, dir string) {
	t.Helper()
	if err := makeDir(fs, dir); err != nil {
		t.Fatal(err)
	}
}

// stallingDisk is a file system whose writing operations below some directories stall until released.
type stallingDisk struct {
	mem *crashFS
	mu  sync.Mutex
	// stalled are the directories, with the gate that their operations wait for.
	stalled map[string]chan struct{}
}

func newStallingDisk(t testing.TB) (*stallingDisk, vfs.FS) {
	d := &stallingDisk{mem: newCrashFS(), stalled: map[string]chan struct{}{}}
	makeDurableDir(t, d.mem, "away")
	return d, errorfs.Wrap(d.mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			if gate := d.gate(op.Path); gate != nil {
				<-gate
			}
		}
		return nil
	}))
}

func (d *stallingDisk) gate(path string) chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	for dir, gate := range d.stalled {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return gate
		}
	}
	return nil
}

func (d *stallingDisk) stall(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stalled[dir] = make(chan struct{})
}

func (d *stallingDisk) release(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if gate := d.stalled[dir]; gate != nil {
		close(gate)
		delete(d.stalled, dir)
	}
}

func failoverOptions(fs vfs.FS, policy FsyncPolicy) Options {
	o := faultOptions(fs, nil)
	o.Policy, o.FlushInterval = policy, 2*time.Millisecond
	o.LogFailoverDir, o.LogStall = "away", 10*time.Millisecond
	return o
}

func mustOpen(t *testing.T, o Options) *Engine {
	t.Helper()
	e, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// count increments "n" and other keys n times, each durably.
func (d *stallingDisk) count(t *testing.T, e *Engine, n int) {
	t.Helper()
	for i := range n {
		mustIncrBy(t, e, "n", 1)
		mustIncrBy(t, e, fmt.Sprint("other", i%100), 1)
		if err := e.Commit(math.MaxUint64); err != nil {
			t.Fatal(err)
		}
	}
}

// wantAfterCrash checks that "n" is want after a crash now, with none, some or all of what was not synced.
func (d *stallingDisk) wantAfterCrash(t *testing.T, want int64) {
	t.Helper()
	for _, percent := range []int{0, 50, 100} {
		cfg := vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(uint64(want), 1))}
		after := d.mem.clone(cfg)
		mustCheck(t, "after a crash", after)
		e := mustOpen(t, failoverOptions(after, FsyncAlways))
		if got := getInt(t, e, "n"); got != want {
			t.Fatalf("%d%% kept: n is %d, want %d", percent, got, want)
		}
		mustIncrBy(t, e, "n", 1)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheLogFailsOver: while the log's disk stalls commits go on, in the other directory, and a crash
// at any time loses none of them; merges, backups, checks and restarts find the log in both.
func TestTheLogFailsOver(t *testing.T) {
	for _, policy := range []FsyncPolicy{FsyncAlways, FsyncEverySec, FsyncNo} {
		t.Run(fmt.Sprint("policy ", policy), func(t *testing.T) {
			d, fs := newStallingDisk(t)
			e := mustOpen(t, failoverOptions(fs, policy))
			if e.CommitInPlace() {
				t.Error("a loop would hang in a sync that stalls")
			}
			d.count(t, e, 30)
			d.wantAfterCrash(t, 30)
			d.stall("data/wal")
			d.count(t, e, 30)
			d.wantAfterCrash(t, 60)
			waitUntil(t, func() bool { // on a slow machine the other disk seems to stall, too, now and then
				s := e.Stats().LogFailover
				return s.Away && s.Stalls > 0
			})
			d.count(t, e, 30)
			d.release("data/wal") // now the old bytes are written
			d.wantAfterCrash(t, 90)
			d.stall("away")
			d.count(t, e, 30)
			d.wantAfterCrash(t, 120)
			d.release("away")
			path, err := e.Backup()
			if err != nil {
				t.Fatal(err)
			}
			d.count(t, e, 30)
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			d.wantAfterCrash(t, 150)
			b := openBackup(t, d.mem, path)
			if got := getInt(t, b, "n"); got != 120 {
				t.Errorf("the backup has %d, want 120", got)
			}
			b.Close()
		})
	}
}

// TestTheLogComesBack: when the disk has been fast for a while the log goes on in the data directory.
func TestTheLogComesBack(t *testing.T) {
	d, fs := newStallingDisk(t)
	o := failoverOptions(fs, FsyncEverySec)
	o.SegmentBytes, o.LogStall = 1<<20, 400*time.Millisecond
	o.logAfter = func(wait time.Duration) <-chan time.Time {
		switch wait {
		case time.Second: // between probes
			wait = time.Millisecond
		case o.LogStall / 4: // no probe in memory is slow, however slow the machine
			return nil
		}
		return time.After(wait)
	}
	e := mustOpen(t, o)
	d.count(t, e, 5)
	d.stall("data/wal")
	d.count(t, e, 5)
	waitUntil(t, func() bool { return e.Stats().LogFailover.Away })
	d.release("data/wal")
	want := int64(10)
	waitUntil(t, func() bool {
		d.count(t, e, 1)
		want++
		return !e.Stats().LogFailover.Away
	})
	d.count(t, e, 5)
	d.wantAfterCrash(t, want+5)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBothLogDisksStall: commits wait, as they would without a failover, reads and writes in memory do
// not; when one of the disks works again all is durable.
func TestBothLogDisksStall(t *testing.T) {
	for _, first := range []string{"data/wal", "away"} {
		d, fs := newStallingDisk(t)
		e := mustOpen(t, failoverOptions(fs, FsyncEverySec))
		d.count(t, e, 5)
		d.stall("data/wal")
		d.stall("away")
		done := make(chan error, 1)
		go func() {
			mustIncrBy(t, e, "n", 1)
			done <- e.Commit(math.MaxUint64)
		}()
		waitUntil(t, func() bool { return e.Stats().LogFailover.Stalls > 1 })
		mustIncrBy(t, e, "m", 1)
		if got := getInt(t, e, "m"); got != 1 {
			t.Fatal(got)
		}
		select {
		case err := <-done:
			t.Fatal("nothing works, but the commit is durable:", err)
		default:
		}
		d.release(first)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		d.wantAfterCrash(t, 6)
		d.release("data/wal")
		d.release("away")
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEveryIOWithAFailoverFailsOnce(t *testing.T) { everyIOFailsOnce(t, "away") }

// TestARefusedFailoverDirectoryIsLeftAsItWas: it may be where another disk is to be mounted.
func TestARefusedFailoverDirectoryIsLeftAsItWas(t *testing.T) {
	for _, test := range []struct {
		name       string
		used, want string   // the failover directory of the life before, and of the start that is refused
		holds      []string // what the refused directory has
	}{
		{"not mounted", "away", "away", nil},
		{"not mounted and not wanted", "away", "", nil},
		{"another's", "", "away", []string{"000001.log"}},
	} {
		fs := newCrashFS()
		makeDurableDir(t, fs, "away")
		o := failoverOptions(fs, FsyncAlways)
		o.LogFailoverDir = test.used
		mustOpen(t, o).Close()
		if err := fs.RemoveAll("away"); err != nil {
			t.Fatal(err)
		}
		makeDurableDir(t, fs, "away")
		for _, name := range test.holds {
			if err := writeFile(fs, fs.PathJoin("away", name), nil); err != nil {
				t.Fatal(err)
			}
		}
		o.LogFailoverDir = test.want
		if _, _, err := Open(o); !errors.Is(err, ErrFailover) {
			t.Errorf("%s: %v", test.name, err)
		}
		if names, err := fs.List("away"); err != nil || !slices.Equal(names, test.holds) {
			t.Errorf("%s: %v is in it, %v", test.name, names, err)
		}
	}
}

// TestTheFailoverDirectoryIsNeeded: a start without it, or with another one, is refused while parts of
// the log may be there; one that names none reads it, and lets go of it when all is merged.
func TestTheFailoverDirectoryIsNeeded(t *testing.T) {
	d, fs := newStallingDisk(t)
	e := mustOpen(t, failoverOptions(fs, FsyncAlways))
	d.count(t, e, 5)
	other := failoverOptions(fs, FsyncAlways)
	other.Dir = "second"
	if _, _, err := Open(other); !errors.Is(err, ErrFailover) {
		t.Fatal("two servers use one directory:", err)
	}
	d.stall("data/wal")
	d.count(t, e, 2)
	d.release("data/wal")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(other); !errors.Is(err, ErrFailover) {
		t.Fatal("another data directory uses it:", err)
	}

	without := d.mem.clone(vfs.CrashCloneCfg{})
	if err := without.RemoveAll("away"); err != nil {
		t.Fatal(err)
	}
	for _, there := range []bool{false, true} { // gone, or another disk in its place
		if there {
			makeDurableDir(t, without, "away")
		}
		for _, dir := range []string{"", "away"} {
			o := failoverOptions(without, FsyncAlways)
			o.LogFailoverDir = dir
			if _, _, err := Open(o); !errors.Is(err, ErrFailover) {
				t.Fatal(there, dir, err)
			}
		}
		if r, err := Check(CheckOptions{Dir: "data", FS: without}); err != nil || len(r.Problems) == 0 ||
			r.Problems[0].File != failoverName { // on a slow machine the log went there and back before
			t.Fatal(err, r.Problems)
		}
	}
	var steps []string
	_, after, err := Repair(CheckOptions{Dir: "data", FS: without}, func(s string) { steps = append(steps, s) })
	if err != nil || len(after.Problems) > 0 || !strings.Contains(strings.Join(steps, "\n"), failoverName) {
		t.Fatal(err, after, steps)
	}
	lost := mustOpen(t, faultOptions(without, nil))
	if got := getInt(t, lost, "n"); got > 7 {
		t.Errorf("what is left says %d", got)
	}
	lost.Close()

	moved := d.mem.clone(vfs.CrashCloneCfg{})
	if err := moved.Rename("away", "elsewhere"); err != nil {
		t.Fatal(err)
	}
	o := failoverOptions(moved, FsyncAlways)
	o.LogFailoverDir = "elsewhere"
	e = mustOpen(t, o)
	if got := getInt(t, e, "n"); got != 7 {
		t.Fatal("it has moved:", got)
	}
	e.Close()

	makeDurableDir(t, d.mem, "third")
	o = failoverOptions(d.mem, FsyncAlways)
	o.LogFailoverDir = "third"
	if _, _, err := Open(o); !errors.Is(err, ErrFailover) {
		t.Fatal("the log is in the other one:", err)
	}
	o.LogFailoverDir, o.MergeBytes = "", 1
	want := int64(7)
	for round := 0; ; round++ {
		e = mustOpen(t, o)
		if got := getInt(t, e, "n"); got != want {
			t.Fatalf("round %d: n is %d, want %d", round, got, want)
		}
		left := e.files.away.path != ""
		if left {
			d.count(t, e, 40)
			want += 40
			waitUntil(t, func() bool { return e.Stats().Merges > 0 })
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if !left {
			break
		}
		if round > 5 {
			t.Fatal("it is never let go")
		}
	}
	for _, dir := range []string{"data", "away"} {
		if there, err := exists(d.mem, dir+"/"+failoverName); there || err != nil {
			t.Fatal(dir, there, err)
		}
	}
	o.LogFailoverDir = "third"
	e = mustOpen(t, o)
	if got := getInt(t, e, "n"); got != want {
		t.Fatal(got)
	}
	e.Close()
}

// TestACrashInTheClaimOfAFailoverDirectory: at each I/O; the next start works, with or without it.
func TestACrashInTheClaimOfAFailoverDirectory(t *testing.T) {
	for k := 0; ; k++ {
		d, _ := newStallingDisk(t)
		e := mustOpen(t, faultOptions(d.mem, nil))
		d.count(t, e, 3)
		e.Close()
		var crashed *crashFS
		at := k
		fs := errorfs.Wrap(d.mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if !strings.Contains(op.Path, failoverName) && op.Kind != errorfs.OpFileSync {
				return nil
			}
			if at--; at == -1 {
				crashed = d.mem.clone(vfs.CrashCloneCfg{UnsyncedDataPercent: k % 2 * 100,
					RNG: rand.New(rand.NewPCG(uint64(k), 1))})
			}
			return nil
		}))
		o := failoverOptions(fs, FsyncAlways)
		_, err := openFailover(fs, "data", o.LogFailoverDir)
		if err != nil {
			t.Fatal(err)
		}
		if crashed == nil {
			t.Logf("%d I/Os", k)
			return
		}
		for _, dir := range []string{"away", "", "away"} {
			o := failoverOptions(crashed, FsyncAlways)
			o.LogFailoverDir = dir
			e := mustOpen(t, o)
			if got := getInt(t, e, "n"); got != 3 {
				t.Fatal(got)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
