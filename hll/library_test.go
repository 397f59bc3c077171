package hll_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"countd/hll"

	"github.com/axiomhq/hyperloglog"
)

// Sparse or dense, of our elements or of raw hashes: the library's registers and
// its estimate.
func TestEstimatesEqualTheLibrarys(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 40 {
		b, sparse, dense := hll.New(), hyperloglog.New14(), hyperloglog.NewNoSparse()
		for n := range 1 << (round % 18) {
			var elem [8]byte
			binary.LittleEndian.PutUint64(elem[:], rng.Uint64())
			b, _ = mustAdd(t, b, elem[:])
			dense.Insert(elem[:])
			if n <= hll.SparseMax {
				sparse.Insert(elem[:])
			}
		}
		got := mustCount(t, b)
		if encoding(t, b) == "sparse" {
			if want := sparse.Estimate(); got != want {
				t.Fatalf("round %d: sparse %d, library %d", round, got, want)
			}
		} else if want := dense.Estimate(); got != want {
			t.Fatalf("round %d: dense %d, library %d", round, got, want)
		}
		form, _ := dense.MarshalBinary()
		if regs, _ := hll.AppendRegisters(nil, b); !bytes.Equal(regs, form[8:]) {
			t.Fatalf("round %d: registers differ", round)
		}
		if got, want := toLibrary(t, b).Estimate(), dense.Estimate(); got != want {
			t.Fatalf("round %d: read by the library %d, want %d", round, got, want)
		}
	}
}

// Registers as no honest set fills them: all values, few zeros, ranks where the
// sum's rounding depends on its order.
func TestEstimatesOfArbitraryRegistersEqualTheLibrarys(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range 100 {
		b, _, _ := hll.ToDense(hll.New())
		low := rng.IntN(hll.MaxRank + 1)
		high := low + rng.IntN(hll.MaxRank+1-low)
		zeros := rng.IntN(3)
		for i := range hll.Registers {
			if rng.IntN(3) >= zeros {
				b[hll.HeaderSize+i] = byte(low + rng.IntN(high-low+1))
			}
		}
		b[15] = 0x80
		if got, want := mustCount(t, b), toLibrary(t, b).Estimate(); got != want {
			t.Fatalf("round %d, ranks %d to %d: %d, library %d", round, low, high, got, want)
		}
	}
}

func TestSparseKeysKeepRegisterAndRank(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for i := range 20_000 {
		h := rng.Uint64()
		if i%2 == 0 { // many zeros after the register's bits
			h = h&^(1<<50-1) | h&(1<<50-1)>>rng.IntN(51)
		}
		b, _, _ := hll.AddHash(hll.New(), h)
		if err := hll.Valid(b); err != nil {
			t.Fatalf("%#x: %v", h, err)
		}
		dense, _, _ := hll.ToDense(hll.New())
		dense, _, _ = hll.AddHash(dense, h)
		got, _ := hll.AppendRegisters(nil, b)
		if !bytes.Equal(got, dense[hll.HeaderSize:]) {
			t.Fatalf("%#x: registers differ", h)
		}
	}
}
