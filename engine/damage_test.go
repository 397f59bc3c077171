package engine

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// damageLife makes a data directory on disk with counters "k0" to "k399", in several segments and
// tables, and returns it. It was closed. In each of three lives a counter grew by its number, but
// in the last only the even ones; the last flush of each life is of counter "last".
func damageLife(t *testing.T) (dir string, o Options, values map[string]int64) {
	t.Helper()
	dir = t.TempDir()
	o, values = damageLifeIn(t, vfs.Default, dir, 3)
	return dir, o, values
}

func damageLifeIn(t *testing.T, fs vfs.FS, dir string, lives int) (o Options, values map[string]int64) {
	t.Helper()
	o = Options{FS: fs, Dir: dir, Policy: FsyncAlways, SegmentBytes: 2 << 10, MergeBytes: 6 << 10,
		FlushInterval: time.Hour}
	values = map[string]int64{}
	for life := range lives {
		if life+1 == lives {
			o.MergeBytes = 1 << 30 // all of the last life is in the log
		}
		e, _, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		op := Op{NowMs: e.NowMs()}
		for i := 0; i < 400; i += 1 + (life+1)/lives {
			key := fmt.Sprint("k", i)
			if _, err := e.IncrBy(&op, []byte(key), int64(i)); err != nil {
				t.Fatal(err)
			}
			values[key] += int64(i)
			if i%8 == 0 {
				if err := e.Commit(op.Seen); err != nil {
					t.Fatal(err)
				}
			}
		}
		if life+1 < lives {
			waitUntil(t, func() bool { return e.Stats().Merges > 0 })
		}
		waitUntil(t, func() bool { return e.merge.job.Load() == nil })
		if _, err := e.IncrBy(&op, []byte("last"), 1); err != nil {
			t.Fatal(err)
		}
		values["last"]++
		if err := errors.Join(e.Commit(op.Seen), e.Close()); err != nil {
			t.Fatal(err)
		}
	}
	o.MergeBytes = 6 << 10
	return o, values
}

// dataFiles lists the files of a data directory that hold anything, below it.
func dataFiles(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if info, ierr := d.Info(); err == nil && !d.IsDir() && ierr == nil && info.Size() > 0 {
			files = append(files, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// cloneDir copies a data directory.
func cloneDir(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "clone")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// namesAFile matches the errors that say which file is damaged and where.
var namesAFile = regexp.MustCompile(`\d{6}\.log: offset \d+|MANIFEST-\d+: offset \d+|\d{6}\.sst: .*(block \d+/|table)` +
	`|IDENTITY|OPTIONS-\d+|replay after segment \d+`)

// TestAFlippedBitIsNeverAWrongValue: in any file, at any place. A start refuses and names the file
// and the place, or the reads of what is damaged are refused, or the bit does not matter. Where it
// matters Check finds it.
func TestAFlippedBitIsNeverAWrongValue(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	dir, o, values := damageLife(t)
	if r, err := Check(CheckOptions{Dir: dir}); err != nil || len(r.Problems) > 0 || r.Keys[0] != int64(len(values)) {
		t.Fatalf("%+v, %v", r, err)
	}
	outcomes := map[string]int{}
	for _, name := range dataFiles(t, dir) {
		kind := regexp.MustCompile(`\d`).ReplaceAllString(filepath.Base(name), "#")
		for range 4 {
			o.Dir = cloneDir(t, dir)
			path := filepath.Join(o.Dir, name)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			used := len(bytes.TrimRight(b, "\x00"))
			i := rng.IntN(used)
			b[i] ^= 1 << rng.IntN(8)
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("%s, byte %d of %d", name, i, used)
			report, err := Check(CheckOptions{Dir: o.Dir})
			if err != nil {
				t.Fatalf("%s: Check: %v", what, err)
			}
			found := len(report.Problems) > 0
			outcome := readDamaged(t, what, o, values)
			if outcome != "same" && !found {
				t.Errorf("%s: %s, but Check finds nothing", what, outcome)
			}
			if found && !strings.Contains(fmt.Sprint(report.Problems), filepath.Base(name)) {
				t.Errorf("%s: Check says %v", what, report.Problems)
			}
			if found && outcome == "same" {
				outcome = "same, found"
			}
			outcomes[kind+" "+outcome]++
		}
	}
	for _, kind := range slices.Sorted(func(yield func(string) bool) {
		for k := range outcomes {
			if !yield(k) {
				return
			}
		}
	}) {
		t.Logf("%4d %s", outcomes[kind], kind)
	}
}

// readDamaged starts an engine on a damaged directory and reads everything.
func readDamaged(t *testing.T, what string, o Options, values map[string]int64) (outcome string) {
	t.Helper()
	fatal := atomic.Bool{}
	o.StoreFatal = func(string) { fatal.Store(true) }
	e, rec, err := Open(o)
	if err != nil {
		if !namesAFile.MatchString(err.Error()) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the error names no place: %v", what, err)
		}
		return "refused"
	}
	defer e.Close()
	outcome = "same"
	if rec.Keys != int64(len(values)) {
		t.Errorf("%s: %d keys, want %d", what, rec.Keys, len(values))
	}
	op := Op{NowMs: e.NowMs()}
	for key, want := range values {
		v, err := e.Get(&op, []byte(key))
		switch {
		case errors.Is(err, ErrStoreRead):
			outcome = "reads refused"
		case err != nil || v.Int != want:
			t.Errorf("%s: %s is %d (%v), want %d", what, key, v.Int, err, want)
		}
	}
	if fatal.Load() {
		t.Errorf("%s: the process would have ended", what)
	}
	return outcome
}

// TestATornTailOfAnyLengthIsCutOff: of the last record; a start after it goes on from the flush
// before.
func TestATornTailOfAnyLengthIsCutOff(t *testing.T) {
	mem := newCrashFS()
	e, _, err := Open(faultOptions(mem, nil))
	if err != nil {
		t.Fatal(err)
	}
	op := Op{NowMs: e.NowMs()}
	for i := range int64(3) {
		mustIncr(t, e, &op, "n", i+1)
		if err := e.Commit(op.Seen); err != nil {
			t.Fatal(err)
		}
	}
	crashed := mem.clone(vfs.CrashCloneCfg{})
	_ = e.Close()
	const name = "data/wal/000001.log"
	b, err := crashed.UnsafeGetFileDataBuffer(name)
	if err != nil {
		t.Fatal(err)
	}
	whole := bytes.Clone(bytes.TrimRight(b, "\x00"))
	r := mustCheck(t, "untouched", crashed)
	if r.Flushes != 3 {
		t.Fatalf("%+v", r)
	}
	n, torn := 0, true
	for torn {
		n++
		fs := crashed.clone(vfs.CrashCloneCfg{})
		cut := bytes.Clone(whole)
		clear(cut[len(cut)-n:])
		writeAll(t, fs, name, cut)
		r := mustCheck(t, fmt.Sprintf("%d bytes torn off", n), fs)
		torn = slices.ContainsFunc(r.Notes, func(s string) bool { return strings.Contains(s, "torn write") })
		if r.Flushes != 2 {
			t.Fatalf("%d bytes torn off: %+v", n, r)
		}
		if got := readCount(t, fs); got != 2 {
			t.Fatalf("%d bytes torn off: recovered %d", n, got)
		}
		if got := readCount(t, fs); got != 2 {
			t.Fatalf("%d bytes torn off: then recovered %d", n, got)
		}
	}
	t.Logf("the last flush has %d bytes", n)
	if n < 82 { // wal/FORMAT.md
		t.Error("that is too few")
	}
}

// TestAnIdleRestartWritesNothing: what is proven already is not proven again, in another segment.
func TestAnIdleRestartWritesNothing(t *testing.T) {
	mem := newCrashFS()
	for life := range 4 {
		e, _, err := Open(faultOptions(mem, nil))
		if err != nil {
			t.Fatal(err)
		}
		if life == 0 {
			mustIncr(t, e, &Op{NowMs: e.NowMs()}, "n", 1)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if names, err := mem.List("data/wal"); err != nil || len(names) != 1 {
			t.Fatalf("after life %d: %v, %v", life, names, err)
		}
	}
}

func writeAll(t *testing.T, fs vfs.FS, name string, b []byte) {
	t.Helper()
	if err := errors.Join(writeFile(fs, name, bytes.Clone(b)), syncDir(fs, fs.PathDir(name))); err != nil {
		t.Fatal(err)
	}
}

// TestTheLastFlushIsProvenAtRest: damage of the last flush is told from a torn write after a clean
// stop, and where the server had nothing to do for a while before it was killed.
func TestTheLastFlushIsProvenAtRest(t *testing.T) {
	for _, idle := range []bool{false, true} {
		mem := newCrashFS()
		o := faultOptions(mem, nil)
		if idle {
			o.FlushInterval = time.Millisecond
		}
		e, _, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		op := Op{NowMs: e.NowMs()}
		mustIncr(t, e, &op, "n", 1)
		if err := e.Commit(op.Seen); err != nil {
			t.Fatal(err)
		}
		for idle {
			e.commit.Lock()
			idle = e.commit.unproven
			e.commit.Unlock()
		}
		fs := mem.clone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
		if o.FlushInterval == time.Hour {
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			fs = mem.clone(vfs.CrashCloneCfg{})
		}
		b, err := fs.UnsafeGetFileDataBuffer("data/wal/000001.log")
		if err != nil {
			t.Fatal(err)
		}
		b = bytes.Clone(b)
		b[80] ^= 1 // in the first flush, the only one with images
		writeAll(t, fs, "data/wal/000001.log", b)
		if _, _, err := Open(faultOptions(fs, nil)); err == nil || !strings.Contains(err.Error(), "000001.log: offset 53") {
			t.Errorf("idle %v: %v", o.FlushInterval < time.Hour, err)
		}
		if o.FlushInterval < time.Hour {
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
