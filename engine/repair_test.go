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
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// repaired repairs a directory and returns what was said.
func repaired(t *testing.T, what string, o Options) (steps []string, err error) {
	t.Helper()
	_, after, err := Repair(CheckOptions{Dir: o.Dir, FS: o.FS}, func(step string) { steps = append(steps, step) })
	if err != nil && !errors.Is(err, ErrBeyondRepair) {
		t.Fatalf("%s: Repair: %v\n%s", what, err, strings.Join(steps, "\n"))
	}
	if err == nil && len(after.Problems) > 0 {
		t.Fatalf("%s: after the repair there are %v", what, after.Problems)
	}
	return steps, err
}

// readCounters starts an engine on a directory that must be sound and returns its counters.
func readCounters(t *testing.T, what string, o Options, names []string) map[string]int64 {
	t.Helper()
	e, rec, err := Open(o)
	if err != nil {
		t.Fatalf("%s: Open: %v", what, err)
	}
	values := map[string]int64{}
	op := Op{NowMs: e.NowMs()}
	for _, name := range names {
		v, err := e.Get(&op, []byte(name))
		if err != nil {
			t.Fatalf("%s: %s: %v", what, name, err)
		}
		if v.Exists {
			values[name] = v.Int
		}
	}
	if rec.Keys != int64(len(values)) {
		t.Fatalf("%s: %d keys recovered, %d found", what, rec.Keys, len(values))
	}
	if _, err := e.IncrBy(&op, []byte("new"), 1); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if err := e.Close(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if r, err := Check(CheckOptions{Dir: o.Dir, FS: o.FS}); err != nil || len(r.Problems) > 0 {
		t.Fatalf("%s: in the end: %+v, %v", what, r, err)
	}
	return values
}

func namesOf(values map[string]int64) (names []string) {
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// TestOneFlippedBitIsSetRight: in any file, and nothing is lost. What was damaged is kept as it
// was.
func TestOneFlippedBitIsSetRight(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	dir, o, values := damageLife(t)
	mended := 0
	for _, name := range dataFiles(t, dir) {
		for range 2 {
			o.Dir = cloneDir(t, dir)
			path := filepath.Join(o.Dir, name)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			i := rng.IntN(len(bytes.TrimRight(b, "\x00")))
			b[i] ^= 1 << rng.IntN(8)
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("%s, byte %d of %d", name, i, len(b))
			steps, err := repaired(t, what, o)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if got := readCounters(t, what, o, namesOf(values)); !equalCounters(got, values) {
				t.Fatalf("%s: a value is wrong\n%s", what, strings.Join(steps, "\n"))
			}
			if len(steps) == 0 {
				continue // the bit does not matter
			}
			mended++
			kept, err := filepath.Glob(filepath.Join(o.Dir, damagedPrefix+"*", name))
			if err != nil || len(kept) != 1 {
				t.Fatalf("%s: kept: %v, %v\n%s", what, kept, err, strings.Join(steps, "\n"))
			}
			if k, err := os.ReadFile(kept[0]); err != nil || !bytes.Equal(k, b) {
				t.Fatalf("%s: kept otherwise than it was: %v", what, err)
			}
			if !strings.Contains(strings.Join(steps, "\n"), filepath.Base(name)) {
				t.Fatalf("%s: the steps do not name it:\n%s", what, strings.Join(steps, "\n"))
			}
			if again, err := repaired(t, what, o); err != nil || len(again) > 0 {
				t.Fatalf("%s: repaired again: %v, %v", what, again, err)
			}
		}
	}
	t.Logf("%d of %d set right", mended, 2*len(dataFiles(t, dir)))
	if mended == 0 {
		t.Error("that is too few")
	}
}

func equalCounters(a, b map[string]int64) bool {
	for name, v := range a {
		if b[name] != v {
			return false
		}
	}
	return len(a) == len(b)
}

// TestRepairSalvagesWhatItCan: with some bytes of a file overwritten. Either the repair says that
// it cannot help, or a server starts, with values that the counters had at some time. What is lost
// was said.
func TestRepairSalvagesWhatItCan(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	dir, o, values := damageLife(t)
	beyond, whole, lossy := 0, 0, 0
	for _, name := range dataFiles(t, dir) {
		for range 3 {
			o.Dir = cloneDir(t, dir)
			path := filepath.Join(o.Dir, name)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			used := len(bytes.TrimRight(b, "\x00"))
			i := rng.IntN(used)
			for n := range min(16, used-i) {
				b[i+n] = byte(rng.Uint32())
			}
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("%s, byte %d of %d", name, i, used)
			steps, err := repaired(t, what, o)
			if err != nil {
				beyond++
				continue
			}
			got := readCounters(t, what, o, namesOf(values))
			if equalCounters(got, values) {
				whole++
				continue
			}
			lossy++
			said := strings.Join(steps, "\n")
			if !strings.Contains(said, "lost") {
				t.Fatalf("%s: values are lost, but the steps say:\n%s", what, said)
			}
			for key, v := range got {
				n, ok := strings.CutPrefix(key, "k")
				unit, _ := strconv.ParseInt(n, 10, 64)
				if !ok {
					unit = 1
				}
				if v != unit && v != 2*unit && v != 3*unit || strings.HasSuffix(name, ".sst") && v != values[key] {
					t.Fatalf("%s: %s is %d\n%s", what, key, v, said)
				}
			}
		}
	}
	t.Logf("%d beyond repair, %d without loss, %d with", beyond, whole, lossy)
	if lossy == 0 || whole == 0 {
		t.Error("that is not what damage is like")
	}
}

// TestRepairSaysHowMuchIsLost: a log that is cut in the middle, with the numbers of what lies
// behind.
func TestRepairSaysHowMuchIsLost(t *testing.T) {
	fs := newCrashFS()
	o := Options{FS: fs, Dir: "data", Policy: FsyncAlways, SegmentBytes: 2 << 10, FlushInterval: time.Hour}
	e, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	op := Op{NowMs: e.NowMs()}
	var names []string
	for i := range 100 { // in segments of some 22 flushes
		names = append(names, fmt.Sprintf("k%02d", i))
		mustIncr(t, e, &op, names[i], 1)
		if err := e.Commit(op.Seen); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	const name = "data/wal/000002.log"
	b, err := fs.UnsafeGetFileDataBuffer(name)
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.Clone(b)
	copy(b[1000:], "overwritten")
	writeAll(t, fs, name, b)
	if _, _, err := Open(o); err == nil || !strings.Contains(err.Error(), "000002.log: offset ") {
		t.Fatalf("Open: %v", err)
	}
	steps, err := repaired(t, "the log", o)
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(steps, "\n")
	var lost []int
	for _, m := range regexp.MustCompile(`wal/00000\d\.log: .* at least (\d+) flushes with (?:at least )?(\d+) keys are lost`).
		FindAllStringSubmatch(said, -1) {
		flushes, _ := strconv.Atoi(m[1])
		keys, _ := strconv.Atoi(m[2])
		if flushes < keys-1 || flushes > keys+1 { // a flush whose end was overwritten; a flush of nothing
			t.Errorf("%d flushes with %d keys", flushes, keys)
		}
		lost = append(lost, keys)
	}
	got := readCounters(t, "the log", o, names)
	sum := 0
	for _, n := range lost {
		sum += n
	}
	if len(lost) < 3 || len(got)+sum < 98 || len(got)+sum > 100 { // one or two flushes were overwritten
		t.Errorf("%d keys are there, lost %v:\n%s", len(got), lost, said)
	}
	for i := range got {
		if i > names[len(got)-1] {
			t.Errorf("%s is there, but not all before it", i)
		}
	}
}

// TestWhatIsSaidOfLostFlushes: chunks of two images, of which some are not there.
func TestWhatIsSaidOfLostFlushes(t *testing.T) {
	seed := randomSeed()
	chunk := func(names ...string) (b []byte) {
		for _, name := range names {
			b = append(append(b, imageInt, 1, byte(len(name))), name...) // in space 1
			b = append(b, 2)                                             // the value 1
		}
		return b
	}
	const tail = ": those keys have the values that they had before, and are gone if they were new"
	for _, tc := range []struct {
		what    string
		lose    func(l *lostKeys)
		flushes int
		whole   bool
		want    string
	}{
		{"a flush", func(l *lostKeys) { l.chunk(5, 0, chunk("a")); l.commit(5, 1) }, 1, false,
			"at least 1 flush with 1 key is lost" + tail},
		{"two, with one key twice", func(l *lostKeys) {
			l.chunk(5, 0, chunk("a", "b"))
			l.commit(5, 1)
			l.chunk(6, 0, chunk("b"))
			l.chunk(6, 1, chunk("c"))
			l.commit(6, 2)
		}, 2, false, "at least 2 flushes with 3 keys are lost" + tail},
		{"only the end of one", func(l *lostKeys) { l.commit(5, 1) }, 1, false,
			"at least 1 flush is lost, and how many keys were in it is not known" + tail},
		{"the second chunk is missing", func(l *lostKeys) { l.chunk(5, 0, chunk("a")); l.commit(5, 2) }, 1, false,
			"at least 1 flush with at least 1 key is lost; not all of its keys are known" + tail},
		{"the first chunk is missing, then a whole flush", func(l *lostKeys) {
			l.chunk(5, 1, chunk("a"))
			l.commit(5, 2)
			l.chunk(6, 0, chunk("b"))
			l.commit(6, 1)
		}, 2, false, "at least 2 flushes with at least 1 key are lost; not all keys of 1 of them are known" + tail},
		{"one of nothing", func(l *lostKeys) { l.commit(5, 0) }, 1, false, "at least 1 flush is lost, with no keys"},
		{"one without its end", func(l *lostKeys) { l.chunk(5, 0, chunk("a")) }, 0, false,
			"parts of flushes, with 1 key, are lost" + tail},
		{"nothing that can be read", func(*lostKeys) {}, 0, false,
			"how many flushes and keys are lost cannot be told: such keys " + lostValues},
		{"nothing", func(*lostKeys) {}, 0, true, "no flush was in it"},
	} {
		l := newLostKeys(&seed)
		tc.lose(l)
		if got := l.text(tc.flushes, tc.whole); got != tc.want {
			t.Errorf("%s: %q\nwant %q", tc.what, got, tc.want)
		}
	}
}

// TestALostIdentityIsNotRepaired: a start does not say that a repair may help where there is no seed, or
// that of other data, and a repair refuses before its first step.
func TestALostIdentityIsNotRepaired(t *testing.T) {
	_, o, _ := damageLife(t)
	file := o.FS.PathJoin(o.Dir, identityName)
	good, err := readSmallFile(o.FS, file, maxIdentityBytes)
	if err != nil {
		t.Fatal(err)
	}
	for what, tc := range map[string]struct {
		content []byte
		may     bool
	}{
		"missing":  {nil, false},
		"another":  {appendIdentity(nil, randomSeed()), false},
		"one byte": {append([]byte("C"), good[1:]...), true},
	} {
		if err := o.FS.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if tc.content != nil {
			writeAll(t, o.FS, file, tc.content)
		}
		_, _, err := Open(o)
		if !errors.Is(err, ErrIdentity) || MayRepair(err) != tc.may || !strings.Contains(err.Error(), identityHelp) {
			t.Errorf("%s: %v, a repair may help: %v", what, err, MayRepair(err))
		}
		if tc.may {
			continue
		}
		_, _, err = Repair(CheckOptions{FS: o.FS, Dir: o.Dir}, func(step string) { t.Errorf("%s: %s", what, step) })
		if !errors.Is(err, ErrBeyondRepair) || !strings.Contains(err.Error(), identityHelp) {
			t.Errorf("%s: a repair says %v", what, err)
		}
	}
}

// TestARepairThatIsInterruptedGoesOn: every I/O of a repair fails once, then the machine crashes.
// Until the repair is repeated a start refuses, or finds what it finds after it.
func TestARepairThatIsInterruptedGoesOn(t *testing.T) {
	fs := newCrashFS()
	o, values := damageLifeIn(t, fs, "data", 3)
	names := namesOf(values)
	for _, kind := range []string{".log", ".sst"} {
		damaged := fs.clone(vfs.CrashCloneCfg{})
		part := map[string]string{".log": walDir, ".sst": storeDir}[kind]
		all, err := damaged.List("data/" + part)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(all)
		var name string
		for _, n := range all { // a segment with others before and behind it; the table with most in it
			b, err := damaged.UnsafeGetFileDataBuffer("data/" + part + "/" + n)
			old, _ := damaged.UnsafeGetFileDataBuffer(name)
			if err == nil && strings.HasSuffix(n, kind) && (name == "" || kind == ".sst" && len(b) > len(old)) {
				name = "data/" + part + "/" + n
			}
		}
		if kind == ".log" {
			name = "data/" + part + "/" + all[len(all)-3]
		}
		b, err := damaged.UnsafeGetFileDataBuffer(name)
		if err != nil {
			t.Fatal(err)
		}
		b = bytes.Clone(b)
		copy(b[len(bytes.TrimRight(b, "\x00"))/2:], "overwritten")
		writeAll(t, damaged, name, b)
		damaged = damaged.clone(vfs.CrashCloneCfg{})
		o.FS = damaged.clone(vfs.CrashCloneCfg{})
		if _, err := repaired(t, name, o); err != nil {
			t.Fatal(err)
		}
		want := readCounters(t, name, o, names)
		refused := 0
		for k := int32(0); ; k++ {
			what := fmt.Sprintf("%s, I/O %d", name, k)
			again, index := damaged.clone(vfs.CrashCloneCfg{}), errorfs.OnIndex(k)
			err := repairOrDie(CheckOptions{Dir: "data", FS: errorfs.Wrap(again, index)})
			passed := index.Index.Load() >= 0
			if passed && err != nil {
				t.Fatalf("%s: without a fault: %v", what, err)
			}
			o.FS = again.clone(vfs.CrashCloneCfg{})
			if e, _, err := Open(o); err != nil {
				refused++
			} else if err := e.Close(); err != nil {
				t.Fatal(err)
			} else if got := readCounters(t, what, o, names); !equalCounters(got, want) {
				if kind != ".sst" { // of a damaged table only reads are refused
					t.Fatalf("%s: a start before the repair is finished finds %d keys, want %d", what, len(got), len(want))
				}
			}
			o.FS = again.clone(vfs.CrashCloneCfg{})
			if _, err := repaired(t, what, o); err != nil {
				t.Fatalf("%s: repeated: %v", what, err)
			}
			if got := readCounters(t, what, o, names); !equalCounters(got, want) {
				t.Fatalf("%s: repeated: %d keys, want %d", what, len(got), len(want))
			}
			if passed {
				t.Logf("%s: %d I/Os, %d starts refused, %d keys kept", name, k, refused, len(want))
				break
			}
			k += k / 10 // there are many of one kind
		}
	}
}

// repairOrDie is a process that repairs, and may be ended by the store.
func repairOrDie(o CheckOptions) error {
	died, done := make(chan struct{}), make(chan error, 1)
	var once sync.Once
	o.StoreFatal = func(string) {
		once.Do(func() { close(died) })
		select {}
	}
	go func() { _, _, err := Repair(o, func(string) {}); done <- err }()
	select {
	case err := <-done:
		return err
	case <-died:
		return errors.New("the store ended the process")
	}
}

// TestBackupsAreNotRepaired.
func TestBackupsAreNotRepaired(t *testing.T) {
	mem := vfs.NewMem()
	e, _, _ := backupLife(t, mem, nil)
	path, err := e.Backup()
	if err := errors.Join(err, e.Close()); err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: path, FS: mem}
	if steps, err := repaired(t, "a sound backup", o); err != nil || len(steps) > 0 {
		t.Errorf("a sound backup: %v, %v", steps, err)
	}
	writeAll(t, mem, mem.PathJoin(path, identityName), []byte("damaged"))
	if steps, err := repaired(t, "a damaged backup", o); err == nil || len(steps) > 0 {
		t.Errorf("a damaged backup: %v, %v", steps, err)
	}
}
