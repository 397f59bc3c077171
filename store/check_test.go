package store

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// flipFS is a file system in memory whose files can be damaged.
type flipFS struct {
	*vfs.MemFS
	dir string
}

// files lists the files of the store that hold anything.
func (fs flipFS) files(t *testing.T) map[string][]byte {
	t.Helper()
	names, err := fs.List(fs.dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, name := range names {
		if b, err := fs.UnsafeGetFileDataBuffer(fs.PathJoin(fs.dir, name)); err == nil && len(b) > 0 {
			files[name] = bytes.Clone(b)
		}
	}
	return files
}

// with is a copy with one file replaced.
func (fs flipFS) with(t *testing.T, name string, b []byte) flipFS {
	t.Helper()
	c := flipFS{fs.CrashClone(vfs.CrashCloneCfg{}), fs.dir}
	if name == "" {
		return c
	}
	f, err := c.Create(c.PathJoin(fs.dir, name), vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(bytes.Clone(b)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return c
}

// damageable makes a store with tables of several blocks in several levels, and its state.
func damageable(t *testing.T) (flipFS, state) {
	t.Helper()
	fs := vfs.NewCrashableMem()
	s := mustOpenHeld(t, fs, nil)
	s.tableBytes = 40 << 10
	st := state{entries: map[string]string{}}
	rng := rand.New(rand.NewPCG(5, 6))
	for n := range 4 {
		m := merge{pos: fmt.Sprint("position ", n), entries: map[string][]byte{}}
		for range 600 {
			m.entries[fmt.Sprintf("key %05d", rng.IntN(3000))] = fmt.Appendf(nil, "%d %s", n, strings.Repeat("x", 60))
		}
		if n == 2 {
			m.ranges = []KeyRange{{[]byte("key 010"), []byte("key 011")}}
		}
		if err := m.apply(s); err != nil {
			t.Fatal(err)
		}
		st = m.after(st)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return flipFS{fs, "data/store"}, st
}

func openToRead(fs vfs.FS) (*Store, error) {
	return Open(Options{FS: fs, Dir: "data/store", ReadOnly: true,
		Logger: slog.New(slog.DiscardHandler)})
}

// TestReadOnlyChangesNothing: no write reaches the disk.
func TestReadOnlyChangesNothing(t *testing.T) {
	fs, st := damageable(t)
	s, err := openToRead(errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose {
			t.Errorf("%v of %s", op.Kind, op.Path)
		}
		return nil
	})))
	if err != nil {
		t.Fatal(err)
	}
	if err := differs(s, st); err != nil {
		t.Error(err)
	}
	c, err := s.Check()
	if err != nil || len(c.Damages) > 0 || c.Tables < 5 || c.Blocks < 50 {
		t.Errorf("%+v, %v", c, err)
	}
	if err := (merge{pos: "x"}).apply(s); err == nil {
		t.Error("Apply succeeds")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := openToRead(vfs.NewMem()); err == nil {
		t.Error("a store that is not there was opened")
	}
}

// TestADamagedTableIsFound: with a byte damaged in every place of a kind, reads answer the right
// value or an error, Check finds the table and the offset, and Salvage answers what lies
// elsewhere, nothing out of date.
func TestADamagedTableIsFound(t *testing.T) {
	fs, st := damageable(t)
	rng := rand.New(rand.NewPCG(7, 8))
	flips, salvaged, lost := 0, 0, 0
	for name, b := range fs.files(t) {
		if !IsTable(name) {
			continue
		}
		for range 25 {
			i := rng.IntN(len(b))
			if rng.IntN(3) == 0 {
				i = len(b) - 1 - rng.IntN(min(300, len(b))) // index, properties, footer
			}
			bad := bytes.Clone(b)
			bad[i] ^= 1 << rng.IntN(8)
			what := fmt.Sprintf("%s, byte %d of %d", name, i, len(b))
			s, err := openToRead(fs.with(t, name, bad))
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			flips++
			for range 20 {
				key := fmt.Sprintf("key %05d", rng.IntN(3000))
				v, ok, err := s.Get([]byte(key), nil)
				if want, there := st.entries[key]; err == nil && (ok != there || string(v) != want) {
					t.Fatalf("%s: %s is %q, want %q", what, key, v, want)
				}
			}
			c, err := s.Check()
			if err != nil || len(c.Damages) != 1 {
				t.Fatalf("%s: %+v, %v", what, c, err)
			}
			d := c.Damages[0]
			if d.Table != name || d.Offset > int64(i) || d.Offset < 0 && !d.Whole {
				t.Fatalf("%s: %+v", what, d)
			}
			got := 0
			_, more, err := s.Salvage(c, func(key, value []byte) error {
				if want, there := st.entries[string(key)]; !there || want != string(value) {
					t.Fatalf("%s: salvaged %q: %q, want %q", what, key, value, want)
				}
				got++
				return nil
			})
			if err != nil || len(more) > 0 {
				t.Fatalf("%s: %+v: salvage: %v, %v", what, d, err, more)
			}
			gone := len(st.entries) - got
			if d.Harmless && gone > 0 || !d.Whole && gone > 400 {
				t.Fatalf("%s: %+v: %d entries lost", what, d, gone)
			}
			salvaged, lost = salvaged+got, lost+gone
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d flips; %d entries salvaged, %d lost", flips, salvaged, lost)
}

// TestADamagedManifestStopsOpen: a flipped bit anywhere is found, or is in the last record, where
// Open cannot know; then CheckManifest says where. Nothing is removed.
func TestADamagedManifestStopsOpen(t *testing.T) {
	fs, st := damageable(t)
	s := mustOpenHeld(t, fs, nil)
	if err := (merge{pos: "again"}).apply(s); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	st.pos = "again"
	name, torn, err := CheckManifest(fs, fs.dir)
	if err != nil || torn >= 0 {
		t.Fatal(name, torn, err)
	}
	files := fs.files(t)
	b := files[name]
	corrupt, tail := 0, 0
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 1 << (i % 8)
		c := fs.with(t, name, bad)
		_, torn, err := CheckManifest(c, fs.dir)
		switch {
		case errors.Is(err, ErrCorrupt):
			corrupt++
			if _, err := openTest(c, nil); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), name+": offset ") {
				t.Fatalf("byte %d: Open: %v", i, err)
			}
			for name := range files {
				if _, err := c.Stat(path.Join(fs.dir, name)); err != nil {
					t.Fatalf("byte %d: %v", i, err)
				}
			}
		case err != nil || torn < 0 || torn > int64(i):
			t.Fatalf("byte %d: torn at %d, %v", i, torn, err)
		default:
			tail++
		}
	}
	t.Logf("%d bytes, %d of them in the last record", corrupt, tail)
	if corrupt == 0 || tail == 0 || tail > 200 {
		t.Error("that is not what a MANIFEST is like")
	}
	for n := range b { // cut short: an interrupted write
		if _, torn, err := CheckManifest(fs.with(t, name, b[:n]), fs.dir); err != nil || torn > int64(n) {
			t.Fatalf("%d bytes: torn at %d, %v", n, torn, err)
		}
	}
	lost := fs.with(t, "", nil)
	for name := range files {
		if strings.HasPrefix(name, "marker.manifest") {
			t.Fatal("a marker has content")
		}
	}
	names, _ := lost.List(fs.dir)
	for _, name := range names {
		if strings.HasPrefix(name, "marker.manifest") {
			if err := lost.Remove(path.Join(fs.dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := openTest(lost, nil); !errors.Is(err, ErrCorrupt) {
		t.Errorf("without a marker: %v", err)
	}
	survives(t, fs, st)
}
