package hll_test

import (
	"bytes"
	"testing"

	"countd/hll"
)

// FuzzHostileBytes gives every function whatever a client may SET. None may panic
// or leave the slice; what Valid accepts must be usable throughout.
func FuzzHostileBytes(f *testing.F) {
	small := sketchOf(f, elements(1, 3))
	f.Add([]byte{}, []byte("x"))
	f.Add(hll.New(), small)
	f.Add(small, hll.New())
	f.Add(sketchOf(f, elements(1, hll.SparseMax)), small)
	f.Add(sketchOf(f, elements(1, hll.SparseMax+1)), small)
	f.Add(append(small, "hello"...), small)
	f.Fuzz(func(t *testing.T, a, b []byte) {
		valid := hll.Valid(a) == nil
		if valid && !hll.IsSketch(a) {
			t.Fatal("valid, but no sketch")
		}
		clone := func() []byte { return bytes.Clone(a) }
		n, err := hll.Estimate(clone())
		if valid && err != nil {
			t.Fatal(err)
		}
		if m, _ := hll.Count(clone()); m != n {
			t.Fatalf("Count %d, Estimate %d", m, n)
		}
		nb, changed, err := hll.Add(clone(), b)
		if valid && (err != nil || hll.Valid(nb) != nil) {
			t.Fatalf("Add: %v", err)
		}
		if !changed && !bytes.Equal(nb, a) {
			t.Fatal("Add changed what it says it did not")
		}
		if nb, _, err = hll.Merge(clone(), b); err == nil && hll.Valid(nb) != nil {
			t.Fatal("Merge broke the sketch")
		}
		if _, err := hll.Union(a, b); (err == nil) != (valid && hll.Valid(b) == nil) {
			t.Fatalf("Union: %v", err)
		}
		if nb, _, err = hll.ToDense(clone()); valid && (err != nil || hll.Valid(nb) != nil) {
			t.Fatalf("ToDense: %v", err)
		}
		hll.EncodingOf(a)
		hll.AppendRegisters(nil, a)
		// A full one turns dense, whatever its keys are.
		full := clone()
		for i := 0; i < 3 && err == nil; i++ {
			full, _, err = hll.AddHash(full, uint64(i)<<40)
		}
	})
}
