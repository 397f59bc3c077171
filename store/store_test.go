package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// openTest opens a store whose tables are tiny, so that merges have several.
func openTest(fs vfs.FS, fatal func(string)) (*Store, error) {
	return openWith(Options{FS: fs, Fatal: fatal, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
}

func openWith(o Options) (*Store, error) {
	o.Dir, o.CacheBytes, o.CompactionShare = "data/store", 1<<20, 1
	s, err := Open(o)
	if err == nil {
		s.tableBytes = 400
	}
	return s, err
}

func mustOpen(t *testing.T, fs vfs.FS) *Store {
	t.Helper()
	s, err := openTest(fs, func(msg string) { t.Errorf("fatal: %s", msg) })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// mustOpenHeld is mustOpen of a store that does not compact: nothing writes beside an Apply, and nothing but
// that takes what a test injects. MemFS, besides, must not be cloned while another goroutine writes to it.
func mustOpenHeld(t *testing.T, fs vfs.FS, fatal func(string)) *Store {
	t.Helper()
	if fatal == nil {
		fatal = func(msg string) { t.Errorf("fatal: %s", msg) }
	}
	s, err := openWith(Options{FS: fs, Fatal: fatal, HoldCompaction: true,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// merge is one Apply, and what it does to a model.
type merge struct {
	pos     string
	ranges  []KeyRange
	entries map[string][]byte // nil: delete
}

func (m merge) apply(s *Store) error {
	keys, i := slices.Sorted(maps.Keys(m.entries)), -1
	return s.Apply([]byte(m.pos), m.ranges, func() (key, value []byte, err error) {
		if i++; i >= len(keys) {
			return nil, nil, io.EOF
		}
		return []byte(keys[i]), m.entries[keys[i]], nil
	})
}

// state is the position and the entries that a store should have.
type state struct {
	pos     string
	entries map[string]string
}

// after returns the state that follows st.
func (m merge) after(st state) state {
	next := state{m.pos, maps.Clone(st.entries)}
	for _, r := range m.ranges {
		maps.DeleteFunc(next.entries, func(k, _ string) bool {
			return k >= string(r.Lo) && (r.Hi == nil || k < string(r.Hi))
		})
	}
	for k, v := range m.entries {
		if v == nil {
			delete(next.entries, k)
		} else {
			next.entries[k] = string(v)
		}
	}
	return next
}

func randomKey(rng *rand.Rand) string { return fmt.Sprintf("key %03d", rng.IntN(300)) }

func randomMerge(rng *rand.Rand, n int) merge {
	m := merge{pos: fmt.Sprint(n), entries: map[string][]byte{}}
	for range rng.IntN(80) {
		value := []byte(nil)
		if rng.IntN(3) > 0 {
			value = fmt.Appendf([]byte{}, "%d", rng.IntN(1000))
		}
		m.entries[randomKey(rng)] = value
	}
	if rng.IntN(2) == 0 {
		m.entries[""] = []byte{} // the lowest key and an empty value
	}
	for range max(0, rng.IntN(6)-3) {
		r := KeyRange{Lo: []byte(randomKey(rng)), Hi: []byte(randomKey(rng))}
		if rng.IntN(6) == 0 {
			r.Hi = nil
		}
		m.ranges = append(m.ranges, r)
	}
	return m
}

// differs says how s differs from want, or returns nil.
func differs(s *Store, want state) error {
	pos, err := s.Position()
	if err != nil {
		return err
	}
	if (pos == nil) != (want.pos == "") || string(pos) != want.pos {
		return fmt.Errorf("position %q, want %q", pos, want.pos)
	}
	got, last := map[string]string{}, ""
	if err := s.Load(func(k, v []byte) error {
		if len(got) > 0 && string(k) <= last {
			return fmt.Errorf("%q after %q", k, last)
		}
		last = string(k)
		got[last] = string(v)
		return nil
	}); err != nil {
		return err
	}
	if !maps.Equal(got, want.entries) {
		return fmt.Errorf("at position %s: loaded %v, want %v", want.pos, got, want.entries)
	}
	return nil
}

func TestAStoreHoldsWhatTheMergesSay(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 1))
		fs := vfs.NewMem()
		s, want := mustOpen(t, fs), state{entries: map[string]string{}}
		for n := 1; n <= 60; n++ {
			m := randomMerge(rng, n)
			if err := m.apply(s); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			want = m.after(want)
			if rng.IntN(8) == 0 {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = mustOpen(t, fs)
			}
			if err := differs(s, want); err != nil {
				t.Fatalf("seed %d, merge %d: %v", seed, n, err)
			}
			checkReads(t, s, want, rng)
		}
		if left, err := fs.List(s.temporaryPath()); err != nil || len(left) > 0 {
			t.Errorf("temporary tables left: %v, %v", left, err)
		}
		s.Close()
	}
}

// checkReads looks up single keys and a range.
func checkReads(t *testing.T, s *Store, want state, rng *rand.Rand) {
	t.Helper()
	for range 10 {
		k := randomKey(rng)
		v, ok, err := s.Get([]byte(k), []byte("dst:"))
		w, exists := want.entries[k]
		if err != nil || ok != exists || string(v) != "dst:"+w {
			t.Fatalf("Get %q: %q %v %v, want %q %v", k, v, ok, err, w, exists)
		}
	}
	for _, ascending := range []bool{true, false} {
		keys := make([][]byte, rng.IntN(40))
		for i := range keys {
			keys[i] = []byte(randomKey(rng))
		}
		if ascending {
			slices.SortFunc(keys, bytes.Compare)
		}
		asked := 0
		if err := s.GetEach(keys, func(i int, v []byte, ok bool) error {
			if w, exists := want.entries[string(keys[i])]; i != asked || ok != exists || string(v) != w {
				return fmt.Errorf("key %d, %q: %q %v, want key %d, %q %v", i, keys[i], v, ok, asked, w, exists)
			}
			asked++
			return nil
		}); err != nil || asked != len(keys) {
			t.Fatalf("GetEach: %v, %d of %d keys", err, asked, len(keys))
		}
	}
	lo, hi := randomKey(rng), randomKey(rng)
	n := 0
	for k := range want.entries {
		if k >= lo && k < hi {
			n++
		}
	}
	if err := s.LoadRange([]byte(lo), []byte(hi), func(k, _ []byte) error {
		n--
		if string(k) < lo || string(k) >= hi {
			return fmt.Errorf("%q is outside", k)
		}
		return nil
	}); err != nil || n != 0 {
		t.Fatalf("LoadRange %q to %q: %v, %d missing", lo, hi, err, n)
	}
}

// TestSoughtFollowsTheLookups: the average moves with lookups one by one and with many at a time, and forgets.
func TestSoughtFollowsTheLookups(t *testing.T) {
	for _, n := range []int{1, 64, 10 * soughtMemory} {
		var s sought
		if s.note(0, 0); !s.absent() {
			t.Fatal("absent is the beginning")
		}
		for range 4 { // phases
			for i := 0; i < 4*soughtMemory; i += n {
				s.note(n, 0)
			}
			if s.absent() {
				t.Fatal(n, "at a time: all were found")
			}
			for i := 0; i < 4*soughtMemory; i += n {
				s.note(n, n)
			}
			if !s.absent() {
				t.Fatal(n, "at a time: none was found")
			}
		}
		for i := 0; i < 16*soughtMemory; i += n {
			if s.note(n, 0); i%8 == 0 {
				s.note(n, n)
			}
		}
		if p := s.present.Load(); p < 0 || p > soughtAll {
			t.Fatal(p)
		}
	}
}

func TestAnEmptyStoreHasNoPosition(t *testing.T) {
	s := mustOpen(t, vfs.NewMem())
	defer s.Close()
	if pos, err := s.Position(); pos != nil || err != nil {
		t.Fatalf("%q, %v", pos, err)
	}
	if err := (merge{}).apply(s); err != nil {
		t.Fatal(err)
	}
	if pos, err := s.Position(); pos == nil || len(pos) != 0 || err != nil {
		t.Fatalf("an empty position is one: %q, %v", pos, err)
	}
}

func TestKeysOutOfOrderChangeNothing(t *testing.T) {
	s := mustOpen(t, vfs.NewMem())
	defer s.Close()
	for _, keys := range [][]string{{"b", "a"}, {"a", "a"}, {"", ""}} {
		i := -1
		err := s.Apply([]byte("1"), nil, func() (k, v []byte, err error) {
			if i++; i == len(keys) {
				return nil, nil, io.EOF
			}
			return []byte(keys[i]), []byte("v"), nil
		})
		if !errors.Is(err, ErrOrder) {
			t.Errorf("%q: %v", keys, err)
		}
	}
	if err := differs(s, state{}); err != nil {
		t.Error(err)
	}
}

func TestAnErrorOfTheCallerEndsLoad(t *testing.T) {
	s := mustOpen(t, vfs.NewMem())
	defer s.Close()
	m := merge{pos: "1", entries: map[string][]byte{"a": {1}, "b": {2}}}
	if err := m.apply(s); err != nil {
		t.Fatal(err)
	}
	calls := 0
	if err := s.Load(func(_, _ []byte) error { calls++; return io.EOF }); err != io.EOF || calls != 1 {
		t.Fatalf("%v after %d calls", err, calls)
	}
}

func TestACheckpointIsAStore(t *testing.T) {
	fs := vfs.NewMem()
	s, want := mustOpen(t, fs), state{entries: map[string]string{}}
	rng := rand.New(rand.NewPCG(1, 1))
	for n := range 5 {
		m := randomMerge(rng, n)
		if err := m.apply(s); err != nil {
			t.Fatal(err)
		}
		want = m.after(want)
	}
	if err := s.Checkpoint("copy"); err != nil {
		t.Fatal(err)
	}
	if err := randomMerge(rng, 6).apply(s); err != nil {
		t.Fatal(err)
	}
	s.Close()
	c, err := Open(Options{FS: fs, Dir: "copy"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := differs(c, want); err != nil {
		t.Error(err)
	}
}

// TestGetEachEndsWithItsCaller: an error of fn comes back as it is, and no key is asked for after it.
func TestGetEachEndsWithItsCaller(t *testing.T) {
	s := mustOpen(t, vfs.NewMem())
	defer s.Close()
	enough, asked := errors.New("enough"), 0
	err := s.GetEach([][]byte{{1}, {2}, {3}}, func(i int, _ []byte, _ bool) error {
		if asked++; i == 1 {
			return enough
		}
		return nil
	})
	if err != enough || asked != 2 {
		t.Fatal(err, asked)
	}
}

func TestAClosedStoreSaysSo(t *testing.T) {
	s := mustOpen(t, vfs.NewMem())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, _, get := s.Get(nil, nil)
	_, pos := s.Position()
	each := s.GetEach([][]byte{nil}, func(int, []byte, bool) error { return nil })
	for i, err := range []error{s.Close(), get, pos, each, merge{}.apply(s), s.Load(nil), s.Checkpoint("x")} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if s.Metrics() != (Metrics{}) {
		t.Error("metrics")
	}
}

func TestMetricsCount(t *testing.T) {
	s := mustOpen(t, vfs.NewMem())
	defer s.Close()
	m := merge{pos: "1", entries: map[string][]byte{"a": []byte("xyz"), "b": nil}}
	for range 3 {
		if err := m.apply(s); err != nil {
			t.Fatal(err)
		}
	}
	got := s.Metrics()
	if got.Merges != 3 || got.MergedEntries != 6 || got.MergedBytes != 15 || got.LiveBytes == 0 {
		t.Errorf("%+v", got)
	}
}

func TestRangesAreFlattened(t *testing.T) {
	r := func(lo, hi string) KeyRange { return KeyRange{[]byte(lo), []byte(hi)} }
	got := flatten([]KeyRange{r("m", "p"), r("a", "c"), r("b", "d"), r("d", "e"), r("z", "y"),
		r("n", "o"), {Lo: []byte("x")}})
	want := []KeyRange{r("\x01a", "\x01e"), r("\x01m", "\x01p"), r("\x01x", "\x02")}
	if !slices.EqualFunc(got, want, func(a, b KeyRange) bool {
		return bytes.Equal(a.Lo, b.Lo) && bytes.Equal(a.Hi, b.Hi)
	}) {
		t.Errorf("%q", got)
	}
}

// Merges that each overlap only the one before make level 0 high, but never deep
// enough for Pebble to compact it. Apply must not wait for what does not come.
func TestMergesLikeStairsDoNotWait(t *testing.T) {
	var log bytes.Buffer
	s, err := openWith(Options{FS: vfs.NewMem(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	s.tableBytes = tableBytes
	want := state{entries: map[string]string{}}
	highest := 0
	for n := range 3 * maxTables {
		step := func(i int) string { return fmt.Sprintf("key %03d", i) }
		m := merge{
			pos:     fmt.Sprint(n),
			ranges:  []KeyRange{{Lo: []byte(step(n)), Hi: []byte(step(n) + " b")}},
			entries: map[string][]byte{step(n) + " c": []byte("x"), step(n+1) + " a": []byte("y")},
		}
		if err := m.apply(s); err != nil {
			t.Fatal(err)
		}
		want = m.after(want)
		highest = max(highest, s.Metrics().Sublevels)
	}
	if highest < maxSublevels || highest > maxTables {
		t.Errorf("the stairs were %d high, want %d to %d", highest, maxSublevels, maxTables)
	}
	if err := differs(s, want); err != nil {
		t.Error(err)
	}
	tables := s.db.DebugString()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), "falls behind") { // it has waited for as long as it may
		t.Errorf("a merge waited in vain\n%s", tables)
	}
}
