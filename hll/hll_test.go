package hll_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"countd/hll"

	"github.com/axiomhq/hyperloglog"
)

// elements returns n distinct elements that depend on seed.
func elements(seed, n int) [][]byte {
	es := make([][]byte, n)
	for i := range es {
		es[i] = fmt.Appendf(nil, "%d:%d", seed, i)
	}
	return es
}

func mustAdd(t testing.TB, b []byte, elem []byte) ([]byte, bool) {
	nb, changed, err := hll.Add(b, elem)
	if err != nil {
		t.Fatal(err)
	}
	return nb, changed
}

func mustCount(t testing.TB, b []byte) uint64 {
	n, err := hll.Count(b)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func sketchOf(t testing.TB, es [][]byte) []byte {
	b := hll.New()
	for _, e := range es {
		b, _ = mustAdd(t, b, e)
	}
	return b
}

func encoding(t testing.TB, b []byte) string {
	e, err := hll.EncodingOf(b)
	if err != nil {
		t.Fatal(err)
	}
	return e.String()
}

func TestAnEmptySketchCountsZero(t *testing.T) {
	b := hll.New()
	if err := hll.Valid(b); err != nil {
		t.Fatal(err)
	}
	if n := mustCount(t, b); n != 0 {
		t.Fatalf("count %d", n)
	}
	if len(b) != hll.HeaderSize {
		t.Fatalf("length %d", len(b))
	}
}

func TestAddSaysWhetherTheStateChanged(t *testing.T) {
	b := hll.New()
	for _, e := range []string{"a", "b", "c", ""} {
		var changed bool
		if b, changed = mustAdd(t, b, []byte(e)); !changed {
			t.Errorf("%q is new", e)
		}
		before := bytes.Clone(b)
		if b, changed = mustAdd(t, b, []byte(e)); changed || !bytes.Equal(b, before) {
			t.Errorf("%q is known", e)
		}
	}
}

func TestAddSaysWhetherARegisterRose(t *testing.T) {
	b := sketchOf(t, elements(1, hll.SparseMax+1))
	for _, e := range elements(2, 20_000) {
		before := bytes.Clone(b[hll.HeaderSize:])
		var changed bool
		b, changed = mustAdd(t, b, e)
		if changed == bytes.Equal(before, b[hll.HeaderSize:]) {
			t.Fatalf("changed %v", changed)
		}
	}
}

func TestSmallSetsAreExact(t *testing.T) {
	// The expected number of colliding pairs among 2048 keys of 25 bits is 0.06.
	for seed := range 4 {
		b := hll.New()
		for i, e := range elements(seed, hll.SparseMax) {
			b, _ = mustAdd(t, b, e)
			if n := mustCount(t, b); n+2 < uint64(i+1) || n > uint64(i+1) {
				t.Fatalf("seed %d: %d elements counted as %d", seed, i+1, n)
			}
		}
	}
}

func TestASketchTurnsDenseBeyondSparseMax(t *testing.T) {
	b := hll.New()
	for _, e := range elements(7, hll.SparseMax+10) {
		sparse := encoding(t, b) == "sparse"
		full := len(b) == hll.HeaderSize+4*hll.SparseMax
		var changed bool
		b, changed = mustAdd(t, b, e)
		if got, want := encoding(t, b) == "sparse", sparse && !(full && changed); got != want {
			t.Fatalf("sparse %v at length %d", got, len(b))
		}
	}
	if err := hll.Valid(b); err != nil || len(b) != hll.DenseSize {
		t.Fatalf("length %d, %v", len(b), err)
	}
}

// The layout that Redis's own tests look at: byte 15 tells a stale estimate.
func TestTheCachedEstimateBecomesStaleOnlyByAChange(t *testing.T) {
	for _, n := range []int{3, hll.SparseMax + 100} {
		b := sketchOf(t, elements(1, n))
		if b[15] != 0x80 {
			t.Fatal("fresh after a change")
		}
		want := mustCount(t, b)
		if b[15] != 0 || binary.LittleEndian.Uint64(b[8:]) != want {
			t.Fatal("not cached")
		}
		if b, _ = mustAdd(t, b, elements(1, n)[0]); b[15] != 0 {
			t.Fatal("stale without a change")
		}
		for i := 0; b[15] == 0; i++ {
			b, _ = mustAdd(t, b, fmt.Appendf(nil, "new %d", i))
		}
		if b[15] != 0x80 {
			t.Fatal("fresh after a change")
		}
	}
}

func TestCountAnswersTheCachedEstimate(t *testing.T) {
	b := sketchOf(t, elements(1, 5000))
	mustCount(t, b)
	binary.LittleEndian.PutUint64(b[8:], 4711)
	if n := mustCount(t, b); n != 4711 {
		t.Fatalf("count %d was computed", n)
	}
}

func TestEstimatesStayWithinTheStandardError(t *testing.T) {
	seeds, sizes := 8, []int{10, 100, 1000, 2000, 5000, 20_000, 50_000, 100_000, 1_000_000}
	if testing.Short() {
		seeds = 4
	}
	last := sizes[len(sizes)-1]
	square, worst := make([]float64, len(sizes)), make([]float64, len(sizes))
	for seed := range seeds {
		b, at := hll.New(), 0
		var elem [16]byte
		binary.LittleEndian.PutUint64(elem[8:], uint64(seed))
		for n := 1; n <= last; n++ {
			binary.LittleEndian.PutUint64(elem[:], uint64(n))
			b, _ = mustAdd(t, b, elem[:])
			if n == sizes[at] {
				e := math.Abs(float64(mustCount(t, b))-float64(n)) / float64(n)
				square[at] += e * e
				worst[at] = max(worst[at], e)
				at++
			}
		}
	}
	for i, n := range sizes {
		rms := math.Sqrt(square[i] / float64(seeds))
		t.Logf("%8d elements: RMS error %.3f%%, largest %.3f%%", n, 100*rms, 100*worst[i])
		if rms > 0.01 || worst[i] > 4*hll.StandardError {
			t.Errorf("%d elements: RMS error %.3f%%, largest %.3f%%", n, 100*rms, 100*worst[i])
		}
		if n <= hll.SparseMax && worst[i] > 1/float64(n) {
			t.Errorf("%d elements: off by more than one", n)
		}
	}
}

func TestMergeIsWhatAddingAllWouldBe(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := []int{0, 1, 10, 1000, 2040, 2049, 5000}
	for range 60 {
		na, nb := sizes[rng.IntN(len(sizes))], sizes[rng.IntN(len(sizes))]
		a := elements(1, na)
		b := append(elements(1, na/2), elements(2, nb)...)
		sa, sb := sketchOf(t, a), sketchOf(t, b)
		all := sketchOf(t, append(append([][]byte{}, a...), b...))
		before, other := bytes.Clone(sa), bytes.Clone(sb)
		union, err := hll.Union(sa, sb)
		if err != nil || !bytes.Equal(before, sa) || !bytes.Equal(other, sb) {
			t.Fatalf("Union changed its arguments: %v", err)
		}
		got, changed, err := hll.Merge(sa, sb)
		if err != nil || !bytes.Equal(other, sb) {
			t.Fatalf("Merge changed its source: %v", err)
		}
		if !bytes.Equal(got[hll.HeaderSize:], all[hll.HeaderSize:]) {
			t.Fatalf("%d and %d elements: merge differs from adding all", na, nb)
		}
		if changed == bytes.Equal(before[hll.HeaderSize:], got[hll.HeaderSize:]) {
			t.Fatalf("%d and %d elements: changed %v", na, nb, changed)
		}
		if err := hll.Valid(got); err != nil {
			t.Fatal(err)
		}
		if n := mustCount(t, got); n != union {
			t.Fatalf("%d and %d elements: merged %d, union %d", na, nb, n, union)
		}
		if _, changed, err := hll.Merge(got, got); changed || err != nil {
			t.Fatalf("merged with itself: changed %v, %v", changed, err)
		}
	}
}

func TestUnionOfThreeGrowingSetsStaysWithinFivePercent(t *testing.T) {
	sketches := [][]byte{hll.New(), hll.New(), hll.New()}
	for x := 1; x < 10_000; x++ {
		for i, word := range []string{"foo", "bar", "zap"} {
			sketches[i], _ = mustAdd(t, sketches[i], fmt.Appendf(nil, "%s-%d", word, x))
		}
		if x%7 != 0 {
			continue
		}
		n, err := hll.Union(sketches...)
		if err != nil || math.Abs(float64(n)-float64(3*x)) >= float64(n)*0.05 {
			t.Fatalf("%d elements counted as %d, %v", 3*x, n, err)
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	sparse, dense := sketchOf(t, elements(1, 1000)), sketchOf(t, elements(1, 10_000))
	sparse, i := append(make([]byte, 0, hll.DenseSize), sparse...), 0
	var elem [8]byte
	add := func(b []byte) []byte {
		binary.LittleEndian.PutUint64(elem[:], uint64(i))
		i++
		b, _ = mustAdd(t, b, elem[:])
		return b
	}
	for name, f := range map[string]func(){
		"dense add":  func() { dense = add(dense) },
		"sparse add": func() { sparse = add(sparse) },
		"count":      func() { dense = add(dense); mustCount(t, dense) },
		"merge":      func() { dense, _, _ = hll.Merge(dense, sparse) },
		"union":      func() { hll.Union(sparse, dense, sparse) },
		"valid":      func() { hll.Valid(dense) },
	} {
		if n := testing.AllocsPerRun(500, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestToDenseKeepsTheRegisters(t *testing.T) {
	for _, n := range []int{0, 5, 2000, 3000} {
		b := sketchOf(t, elements(3, n))
		want, err := hll.AppendRegisters(nil, b)
		if err != nil || len(want) != hll.Registers {
			t.Fatalf("%d registers, %v", len(want), err)
		}
		was := encoding(t, b)
		b, changed, err := hll.ToDense(b)
		if err != nil || changed != (was == "sparse") || encoding(t, b) != "dense" {
			t.Fatalf("changed %v, %v", changed, err)
		}
		if got, _ := hll.AppendRegisters(nil, b); !bytes.Equal(got, want) {
			t.Fatal("the registers changed")
		}
	}
}

func TestSelfTest(t *testing.T) {
	for seed := range uint64(3) {
		if err := hll.SelfTest(seed); err != nil {
			t.Error(err)
		}
	}
}

func TestDamageIsTold(t *testing.T) {
	sparse := func() []byte { return sketchOf(t, elements(1, 3)) }
	dense := func() []byte { return sketchOf(t, elements(1, 3000)) }
	set := func(b []byte, at int, v ...byte) []byte { copy(b[at:], v); return b }
	for name, c := range map[string]struct {
		b      []byte
		valid  error
		adding error // what O(1) checks see
	}{
		"empty string":        {nil, hll.ErrNotSketch, hll.ErrNotSketch},
		"some string":         {[]byte("bar, longer than a header"), hll.ErrNotSketch, hll.ErrNotSketch},
		"header cut":          {hll.New()[:15], hll.ErrNotSketch, hll.ErrNotSketch},
		"broken magic":        {set(sparse(), 0, []byte("0123")...), hll.ErrNotSketch, hll.ErrNotSketch},
		"unknown encoding":    {set(sparse(), 4, 'x'), hll.ErrNotSketch, hll.ErrNotSketch},
		"unknown version":     {set(sparse(), 5, 2), hll.ErrNotSketch, hll.ErrNotSketch},
		"dense, wrong length": {set(sparse(), 4, 0), hll.ErrNotSketch, hll.ErrNotSketch},
		"dense, with a count": {set(dense(), 6, 1), hll.ErrCorrupt, hll.ErrCorrupt},
		"sparse, tail":        {append(sparse(), "hello"...), hll.ErrCorrupt, hll.ErrCorrupt},
		"sparse, cut":         {sparse()[:20], hll.ErrCorrupt, hll.ErrCorrupt},
		"sparse, too many": {set(append(hll.New(), make([]byte, 4*2049)...), 6, 1, 8),
			hll.ErrCorrupt, hll.ErrCorrupt},
		"sparse, key 0":         {set(sparse(), 16, 0, 0, 0, 0), hll.ErrCorrupt, nil},
		"sparse, out of order":  {set(sparse(), 16, 255, 255, 255, 3), hll.ErrCorrupt, nil},
		"sparse, rank 63":       {set(sparse(), 24, 0x7f, 0, 0, 255), hll.ErrCorrupt, nil},
		"dense, register 52":    {set(dense(), 999, 52), hll.ErrCorrupt, nil},
		"dense, register 255":   {set(dense(), 16+16383, 255), hll.ErrCorrupt, nil},
		"dense, 180 beside 255": {set(dense(), 24, 255, 180, 0), hll.ErrCorrupt, nil},
	} {
		if err := hll.Valid(c.b); !errors.Is(err, c.valid) {
			t.Errorf("%s: Valid: %v", name, err)
		}
		before := bytes.Clone(c.b)
		if _, _, err := hll.Merge(c.b, hll.New()); !errors.Is(err, c.valid) {
			t.Errorf("%s: Merge into it: %v", name, err)
		}
		if _, _, err := hll.Merge(dense(), c.b); !errors.Is(err, c.valid) {
			t.Errorf("%s: Merge from it: %v", name, err)
		}
		if _, err := hll.Union(c.b, dense()); !errors.Is(err, c.valid) {
			t.Errorf("%s: Union: %v", name, err)
		}
		if !bytes.Equal(before, c.b) {
			t.Errorf("%s: changed", name)
		}
		if _, _, err := hll.Add(c.b, []byte("x")); !errors.Is(err, c.adding) {
			t.Errorf("%s: Add: %v", name, err)
		}
	}
	if _, err := hll.Count(set(dense(), 999, 52)); !errors.Is(err, hll.ErrCorrupt) {
		t.Errorf("Count overlooks a register of 52: %v", err)
	}
}

// toLibrary puts the library's version 2 header before b's registers.
func toLibrary(t testing.TB, b []byte) *hyperloglog.Sketch {
	form := []byte{2, hll.Precision, 0, 0, 0, 0, hll.Registers >> 8, 0}
	form, err := hll.AppendRegisters(form, b)
	if err != nil {
		t.Fatal(err)
	}
	lib := new(hyperloglog.Sketch)
	if err := lib.UnmarshalBinary(form); err != nil {
		t.Fatal(err)
	}
	return lib
}
