package wal

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// A write or a sync stalls, before or after it does its work: the flushes are durable in the other
// directory when Sync returns, and stay so whatever becomes of the old segment.
func TestAStalledDiskIsLeft(t *testing.T) {
	for _, op := range []string{"write", "sync"} {
		for _, before := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, before %v", op, before), func(t *testing.T) {
				s := newStallFS(t)
				l := s.open(t, 0)
				appendNumber(t, l, 1)
				syncLog(t, l)
				appendNumber(t, l, 2)
				s.setStall(once(testDir, op, before))
				appendNumber(t, l, 3)
				s.wantEpochs(t, 1, 3)
				syncLog(t, l)
				if got := l.FailoverStats(); !got.Away || got.Switches != 1 || got.Stalls == 0 {
					t.Fatalf("%+v", got)
				}
				s.wantEpochs(t, 3, 3)
				appendNumber(t, l, 4)
				syncLog(t, l)
				s.wantEpochs(t, 4, 4)
				s.release(testDir) // now the old bytes come, behind the end
				s.wantEpochs(t, 4, 4)
				if _, err := l.Rotate(); err != nil {
					t.Fatal(err)
				}
				for _, sealed := range l.Sealed() {
					if _, err := l.ReadSegment(sealed.ID, func(uint64, []byte) error { return nil }); err != nil {
						t.Fatal(err)
					}
				}
				appendNumber(t, l, 5)
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				s.wantEpochs(t, 5, 5)
			})
		}
	}
}

// A sync that runs beside stalls while flushes are appended.
func TestAStalledSyncBesideIsLeft(t *testing.T) {
	s := newStallFS(t)
	l := s.open(t, 0)
	appendNumber(t, l, 1)
	syncLog(t, l)
	appendNumber(t, l, 2)
	s.setStall(once(testDir, "sync", true))
	run := l.BeginSync()
	done := make(chan error, 1)
	go func() { done <- run() }()
	<-s.hold
	appendNumber(t, l, 3)
	if err := l.EndSync(<-done); err != nil {
		t.Fatal(err)
	}
	s.wantEpochs(t, 3, 3)

	// A write stalls beside a sync, and the sync fails only when the log has gone elsewhere.
	s.release(testDir)
	appendNumber(t, l, 4)
	s.setStall(once(otherDir, "sync", true))
	run = l.BeginSync()
	go func() { done <- run() }()
	<-s.hold
	s.setStall(once(otherDir, "write", true))
	appendNumber(t, l, 5)
	<-done
	if err := l.EndSync(syscall.EIO); err != nil {
		t.Fatal(err)
	}
	s.wantEpochs(t, 5, 5)
	if got := l.FailoverStats(); got.Away || got.Switches != 2 {
		t.Fatalf("%+v", got)
	}
}

// Both disks stall: the first that works again is used, be it the one whose segment was given up.
func TestBothDisksStall(t *testing.T) {
	for _, first := range []string{testDir, otherDir} {
		t.Run(first, func(t *testing.T) {
			s := newStallFS(t)
			l := s.open(t, 0)
			appendNumber(t, l, 1)
			syncLog(t, l)
			s.setStall(always(testDir, otherDir))
			done := make(chan error, 1)
			go func() {
				err := l.Append(2, [][]byte{[]byte("2")}, nil)
				done <- errors.Join(err, l.Sync())
			}()
			for range 2 { // a write here, a segment there
				<-s.hold
			}
			select {
			case err := <-done:
				t.Fatal("nothing works, but the flush is durable:", err)
			default:
			}
			other := map[string]string{testDir: otherDir, otherDir: testDir}[first]
			s.setStall(always(other))
			s.release(first)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if got := l.FailoverStats(); got.Away != (first == otherDir) {
				t.Fatalf("%+v", got)
			}
			s.wantEpochs(t, 2, 2)
			s.releaseAll()
			s.wantEpochs(t, 2, 2)
			appendNumber(t, l, 3)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			s.wantEpochs(t, 3, 3)
		})
	}
}

// The second disk stalls, too, in the naming of the new segment: a crash finds either segment. When one
// of the disks works again the log goes on in a third, and what becomes of the second is of no account.
func TestADiskStallsInTheRename(t *testing.T) {
	for _, op := range []string{"rename", "sync"} {
		for _, before := range []bool{true, false} {
			for _, first := range []string{testDir, otherDir} {
				s := newStallFS(t)
				l := s.open(t, 0)
				appendNumber(t, l, 1)
				syncLog(t, l)
				renames := false
				s.setStall(func(dir, o string) (bool, bool) {
					renames = renames || o == "rename"
					return dir == testDir || renames && o == op, before || dir == testDir
				})
				done := make(chan error, 1)
				go func() { done <- l.Append(2, [][]byte{[]byte("2")}, nil) }()
				for range 2 {
					<-s.hold
				}
				s.wantEpochs(t, 1, 2)
				s.setStall(func(string, string) (bool, bool) { return false, false })
				s.release(first)
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				s.wantEpochs(t, 2, 2)
				appendNumber(t, l, 3)
				syncLog(t, l)
				s.wantEpochs(t, 3, 3)
				s.releaseAll()
				s.wantEpochs(t, 3, 3)
				if _, err := l.Rotate(); err != nil {
					t.Fatal(err)
				}
				s.wantEpochs(t, 3, 3)
				l.Close()
			}
		}
	}
}

// When the first directory has been healthy for a while segments begin there again.
func TestTheLogGoesBack(t *testing.T) {
	s := newStallFS(t)
	var switches []Switch
	f := s.failover()
	f.Notify = func(sw Switch) { switches = append(switches, sw) }
	l, err := Open(Options{FS: s, Dir: testDir, Failover: f})
	if err != nil {
		t.Fatal(err)
	}
	s.setStall(once(testDir, "sync", true))
	appendNumber(t, l, 1)
	syncLog(t, l)
	<-s.hold
	if want := (Switch{Dir: otherDir}); !slices.Equal(switches, []Switch{want}) {
		t.Fatal(switches)
	}
	tick := func(n int) {
		for range n {
			s.ticks <- time.Time{}
		}
	}
	tick(3 * healthyProbes) // the sync is under way yet
	if l.ShouldRotate() {
		t.Fatal("it returns to a disk that stalls")
	}
	s.release(testDir)
	tick(2)
	s.setStall(once(testDir, "write", true)) // a slow probe: they are counted anew
	select {
	case s.ticks <- time.Time{}:
		<-s.hold
	case <-s.hold:
	}
	s.release(testDir)
	tick(healthyProbes)
	appendNumber(t, l, 2)
	if !eventually(l.ShouldRotate) {
		t.Fatal("it does not return")
	}
	if _, err := l.Rotate(); err != nil {
		t.Fatal(err)
	}
	if got := l.FailoverStats(); got.Away || got.Switches != 2 || len(switches) != 2 || !switches[1].Primary {
		t.Fatalf("%+v, %v", got, switches)
	}
	if l.ShouldRotate() {
		t.Fatal("it has returned")
	}
	appendNumber(t, l, 3)
	syncLog(t, l)
	s.wantEpochs(t, 3, 3)
}

// eventually waits for what another goroutine is about to do.
func eventually(fn func() bool) bool {
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if fn() {
			return true
		}
	}
	return false
}

// faults has operations of a kind in dir fail while what it returns is set.
func (s *stallFS) faults(kind errorfs.OpKind, dir string, err error) *atomic.Bool {
	on := new(atomic.Bool)
	s.FS = errorfs.Wrap(s.mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if on.Load() && op.Kind == kind && strings.HasPrefix(op.Path, dir) {
			return err
		}
		return nil
	}))
	return on
}

// A stalled operation that fails at last rules its directory out; one that fails at once is final.
func TestAStallThatFails(t *testing.T) {
	s := newStallFS(t)
	fail := s.faults(errorfs.OpFileSyncData, testDir, syscall.EIO)
	l := s.open(t, 0)
	appendNumber(t, l, 1)
	syncLog(t, l)
	appendNumber(t, l, 2)
	s.setStall(once(testDir, "sync", true))
	syncLog(t, l)
	fail.Store(true)
	s.release(testDir)
	failed := func() bool {
		l.over.mu.Lock()
		defer l.over.mu.Unlock()
		return l.over.dirs[0].failed != nil
	}
	if !eventually(failed) {
		t.Fatal("the error is not noticed")
	}
	appendNumber(t, l, 3)
	syncLog(t, l)
	s.wantEpochs(t, 3, 3)
	appendNumber(t, l, 4)
	s.setStall(once(otherDir, "sync", true)) // there is no other directory now
	done := make(chan error, 1)
	go func() { done <- l.Sync() }()
	for dir := range s.hold {
		if dir == otherDir {
			break
		}
	}
	s.release(otherDir)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	s.wantEpochs(t, 4, 4)

	s = newStallFS(t)
	fail = s.faults(errorfs.OpFileSyncData, testDir, syscall.EIO)
	l = s.open(t, 0)
	appendNumber(t, l, 1)
	fail.Store(true)
	if err := l.Sync(); !errors.Is(err, ErrSyncFailed) || !errors.Is(l.Append(2, nil, nil), ErrSyncFailed) {
		t.Fatal(err)
	}
}

// The disk of the other directory is full: the flush is refused, not lost, and may be tried again.
func TestTheOtherDiskIsFull(t *testing.T) {
	s := newStallFS(t)
	full := s.faults(errorfs.OpFileWriteAt, otherDir, syscall.ENOSPC)
	l := s.open(t, 0)
	appendNumber(t, l, 1)
	syncLog(t, l)
	full.Store(true)
	s.setStall(once(testDir, "write", true))
	for range 3 {
		if err := l.Append(2, [][]byte{[]byte("2")}, nil); !errors.Is(err, ErrDiskFull) || errors.Is(err, ErrFailed) {
			t.Fatal(err)
		}
	}
	full.Store(false)
	appendNumber(t, l, 2)
	syncLog(t, l)
	s.wantEpochs(t, 2, 2)
	s.release(testDir)
	if _, err := l.Rotate(); err != nil {
		t.Fatal(err)
	}
	s.wantEpochs(t, 2, 2)
}

// A Rotate stalls in the naming, behind the rename, and the other disk is full: nothing is written to the
// old segment any more, which has ended if the name is there.
func TestARotateThatStallsInTheRename(t *testing.T) {
	s := newStallFS(t)
	full := s.faults(errorfs.OpFileWriteAt, otherDir, syscall.ENOSPC)
	full.Store(true)
	l := s.open(t, 0)
	appendNumber(t, l, 1)
	s.setStall(once(testDir, "rename", false))
	if _, err := l.Rotate(); !errors.Is(err, ErrDiskFull) || errors.Is(err, ErrFailed) {
		t.Fatal(err)
	}
	full.Store(false)
	appendNumber(t, l, 2)
	syncLog(t, l)
	s.wantEpochs(t, 2, 2)
	s.release(testDir)
	s.wantEpochs(t, 2, 2)
}

// The same segment in both directories is damage, and so is one that is missing in the other.
func TestSegmentsInTwoDirectories(t *testing.T) {
	s := newStallFS(t)
	l := s.open(t, 0)
	appendNumber(t, l, 1)
	s.setStall(once(testDir, "sync", true))
	syncLog(t, l)
	s.release(testDir)
	appendNumber(t, l, 2)
	if !eventually(func() bool { free, _ := l.over.firstIs(); return free }) {
		t.Fatal("the sync does not end")
	}
	l.over.home.Store(0)
	if _, err := l.Rotate(); err != nil {
		t.Fatal(err)
	}
	appendNumber(t, l, 3)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s.wantEpochs(t, 3, 3)
	open := func() error {
		l, err := Open(Options{FS: s.mem, Dir: testDir, Failover: &Failover{Dir: otherDir}})
		if err != nil {
			return err
		}
		_, _, err = replayed(l, 0)
		return err
	}
	if err := open(); err != nil {
		t.Fatal(err)
	}
	if l, err := Open(Options{FS: s.mem, Dir: testDir}); err != nil {
		t.Fatal(err)
	} else if _, _, err := replayed(l, 0); !errors.Is(err, ErrCorrupt) {
		t.Fatal("a segment is missing:", err)
	}
	names, err := s.mem.List(otherDir)
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	if err := s.mem.Link(otherDir+"/"+names[0], testDir+"/"+names[0]); err != nil {
		t.Fatal(err)
	}
	if err := open(); !errors.Is(err, ErrCorrupt) {
		t.Fatal(err)
	}
}

// A segment without a flush is sealed where the one before was given up: in a copy of the sealed
// segments that one would else be the newest, with whatever is behind its end.
func TestAnHeirIsSealed(t *testing.T) {
	s := newStallFS(t)
	l := s.open(t, 0)
	appendNumber(t, l, 1)
	syncLog(t, l)
	l.drift()
	if err := l.begin(false); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Rotate(); err != nil {
		t.Fatal(err)
	}
	if sealed := l.Sealed(); len(sealed) != 2 {
		t.Fatal(sealed)
	}
	if _, err := l.Rotate(); err != nil {
		t.Fatal(err)
	}
	if sealed := l.Sealed(); len(sealed) != 2 {
		t.Fatal(sealed)
	}
	s.wantEpochs(t, 1, 1)
}
