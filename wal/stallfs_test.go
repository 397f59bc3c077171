package wal

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const otherDir = "other"

// stallFS is a crashable file system whose writing operations stall where the test says so. Time
// passes in it only when an operation stalls: then all timers fire but those of probes.
type stallFS struct {
	vfs.FS // what may fail, over mem
	mem    *vfs.MemFS
	clone  sync.RWMutex // MemFS must not be cloned while it is used
	mu     sync.Mutex
	timers []chan time.Time
	held   map[string][]chan struct{} // by directory: the operations that stall
	// stall says whether an operation stalls, and whether before it does anything.
	stall func(dir string, op string) (stalls, before bool)
	ticks chan time.Time // of probes
	hold  chan string    // gets the directory of each operation that stalls
}

func newStallFS(t testing.TB) *stallFS {
	s := &stallFS{
		mem: vfs.NewCrashableMem(), held: map[string][]chan struct{}{},
		ticks: make(chan time.Time), hold: make(chan string, 1000),
		stall: func(string, string) (bool, bool) { return false, false },
	}
	s.FS = s.mem
	for _, dir := range []string{testDir, otherDir} {
		if err := s.mem.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if root, err := s.mem.OpenDir("."); err != nil || root.Sync() != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.releaseAll)
	return s
}

func (s *stallFS) after(d time.Duration) <-chan time.Time {
	if d == probeInterval {
		return s.ticks
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := make(chan time.Time, 1)
	s.timers = append(s.timers, c)
	return c
}

// fire lets all timers fire.
func (s *stallFS) fire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.timers {
		c <- time.Time{}
	}
	s.timers = nil
}

func (s *stallFS) release(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.held[dir] {
		close(c)
	}
	delete(s.held, dir)
}

func (s *stallFS) releaseAll() {
	s.setStall(func(string, string) (bool, bool) { return false, false })
	s.release(testDir)
	s.release(otherDir)
}

func (s *stallFS) setStall(fn func(dir, op string) (bool, bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stall = fn
}

func (s *stallFS) failover() *Failover { return &Failover{Dir: otherDir, After: s.after} }

func (s *stallFS) open(t testing.TB, segmentBytes int64) *Log {
	t.Helper()
	l, err := Open(Options{FS: s, Dir: testDir, SegmentBytes: segmentBytes, Failover: s.failover()})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// do runs an operation on a file below a directory.
func (s *stallFS) do(path, op string, fn func() error) error {
	dir, _, _ := strings.Cut(path, "/")
	s.mu.Lock()
	stalls, before := s.stall(dir, op)
	var c chan struct{}
	if stalls {
		c = make(chan struct{})
		s.held[dir] = append(s.held[dir], c)
	}
	s.mu.Unlock()
	wait := func() {
		if stalls {
			s.fire()
			s.hold <- dir
			<-c
		}
	}
	if before {
		wait()
	}
	s.clone.RLock()
	err := fn()
	s.clone.RUnlock()
	if !before {
		wait()
	}
	return err
}

// crash is what is there after a crash now.
func (s *stallFS) crash(cfg vfs.CrashCloneCfg) *vfs.MemFS {
	s.clone.Lock()
	defer s.clone.Unlock()
	return s.mem.CrashClone(cfg)
}

func (s *stallFS) OpenReadWrite(
	name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption,
) (f vfs.File, err error) {
	err = s.do(name, "create", func() error {
		f, err = s.FS.OpenReadWrite(name, c, opts...)
		return err
	})
	return stallFile{f, s, name}, err
}

func (s *stallFS) Create(name string, c vfs.DiskWriteCategory) (f vfs.File, err error) {
	err = s.do(name, "create", func() error {
		f, err = s.FS.Create(name, c)
		return err
	})
	return stallFile{f, s, name}, err
}

func (s *stallFS) OpenDir(name string) (vfs.File, error) {
	f, err := s.FS.OpenDir(name)
	return stallFile{f, s, name}, err
}

func (s *stallFS) Rename(from, to string) error {
	return s.do(from, "rename", func() error { return s.FS.Rename(from, to) })
}

func (s *stallFS) Remove(name string) error {
	return s.do(name, "remove", func() error { return s.FS.Remove(name) })
}

type stallFile struct {
	vfs.File
	fs   *stallFS
	name string
}

func (f stallFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.fs.do(f.name, "write", func() error {
		n, err = f.File.WriteAt(p, off)
		return err
	})
	return n, err
}

func (f stallFile) Write(p []byte) (n int, err error) {
	err = f.fs.do(f.name, "write", func() error {
		n, err = f.File.Write(p)
		return err
	})
	return n, err
}

func (f stallFile) SyncData() error { return f.fs.do(f.name, "sync", f.File.SyncData) }
func (f stallFile) Sync() error     { return f.fs.do(f.name, "sync", f.File.Sync) }
func (f stallFile) Preallocate(off, n int64) error {
	return f.fs.do(f.name, "preallocate", func() error { return f.File.Preallocate(off, n) })
}

// once makes one operation stall: the next of its kind in dir.
func once(dir, op string, before bool) func(string, string) (bool, bool) {
	done := false
	return func(d, o string) (bool, bool) {
		if done || d != dir || o != op {
			return false, false
		}
		done = true
		return true, before
	}
}

func always(dirs ...string) func(string, string) (bool, bool) {
	return func(d, _ string) (bool, bool) { return slices.Contains(dirs, d), true }
}

// wantEpochs checks that a crash now, with none, some or all of what is not synced, leaves the flushes
// from 1 to n, and maybe later ones up to most.
func (s *stallFS) wantEpochs(t *testing.T, n, most uint64) {
	t.Helper()
	rng := testRand(t, 1)
	for _, percent := range []int{0, 50, 100} {
		after := s.crash(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
		l, err := Open(Options{FS: after, Dir: testDir, Failover: &Failover{Dir: otherDir}})
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := replayed(l, 0)
		if err != nil {
			t.Fatal(err)
		}
		last := uint64(len(got))
		for i, f := range got {
			if f.epoch != uint64(i)+1 || string(f.chunks[0]) != fmt.Sprint(f.epoch) {
				t.Fatalf("replayed: %v", epochs(got))
			}
		}
		if last < n || last > most {
			t.Fatalf("%d%% kept: %d flushes, want %d to %d", percent, last, n, most)
		}
		x, err := Examine(after, 0, testDir, otherDir)
		if err != nil || x.Damaged() {
			t.Fatal(x, err)
		}
		flushes := 0
		for i := range x.Segments {
			flushes += x.Segments[i].Flushes
		}
		if flushes != len(got) {
			t.Fatalf("Examine finds %d flushes, Replay %d", flushes, len(got))
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func appendNumber(t *testing.T, l *Log, epoch uint64) {
	t.Helper()
	if err := l.Append(epoch, [][]byte{fmt.Append(nil, epoch)}, nil); err != nil {
		t.Fatal(err)
	}
}

func syncLog(t *testing.T, l *Log) {
	t.Helper()
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
}
