package hll_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"countd/hll"

	"github.com/axiomhq/hyperloglog"
)

// Each benchmark stands beside the library's way of doing the same.

func benchAdd(b *testing.B, add func(elem []byte)) {
	var elem [16]byte
	i := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		binary.LittleEndian.PutUint64(elem[:], i)
		i++
		add(elem[:])
	}
}

func BenchmarkAddDense(b *testing.B) {
	s := sketchOf(b, elements(1, 100_000))
	benchAdd(b, func(e []byte) { s, _, _ = hll.Add(s, e) })
}

func BenchmarkAddDenseLibrary(b *testing.B) {
	s := hyperloglog.NewNoSparse()
	benchAdd(b, s.Insert)
}

// BenchmarkAddSparse fills sketches from empty to n keys: the mean over a life.
func BenchmarkAddSparse(b *testing.B) {
	for _, n := range []int{64, 256, 1024, 2048} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, i := make([]byte, 0, hll.DenseSize), n
			benchAdd(b, func(e []byte) {
				if i++; i > n {
					s, i = hll.AppendNew(s[:0]), 1
				}
				s, _, _ = hll.Add(s, e)
			})
		})
	}
}

func BenchmarkAddSparseLibrary(b *testing.B) {
	for _, n := range []int{64, 256, 1024, 2048} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, i := hyperloglog.New14(), n
			benchAdd(b, func(e []byte) {
				if i++; i > n {
					s, i = hyperloglog.New14(), 1
				}
				s.Insert(e)
			})
		})
	}
}

func BenchmarkCountDense(b *testing.B) {
	s := sketchOf(b, elements(1, 100_000))
	b.ReportAllocs()
	for b.Loop() {
		s[15] |= 0x80
		hll.Count(s)
	}
}

func BenchmarkCountDenseLibrary(b *testing.B) {
	s := toLibrary(b, sketchOf(b, elements(1, 100_000)))
	for b.Loop() {
		s.Estimate()
	}
}

func BenchmarkCountCached(b *testing.B) {
	s := sketchOf(b, elements(1, 100_000))
	for b.Loop() {
		hll.Count(s)
	}
}

func BenchmarkMergeDense(b *testing.B) {
	x, y := sketchOf(b, elements(1, 100_000)), sketchOf(b, elements(2, 100_000))
	for b.Loop() {
		hll.Merge(x, y)
	}
}

func BenchmarkMergeDenseLibrary(b *testing.B) {
	x := toLibrary(b, sketchOf(b, elements(1, 100_000)))
	y := toLibrary(b, sketchOf(b, elements(2, 100_000)))
	for b.Loop() {
		x.Merge(y)
	}
}

func BenchmarkUnionSparse(b *testing.B) {
	x, y := sketchOf(b, elements(1, 900)), sketchOf(b, elements(2, 900))
	b.ReportAllocs()
	for b.Loop() {
		hll.Union(x, y)
	}
}

func BenchmarkUnionSparseLibrary(b *testing.B) {
	x, y := hyperloglog.New14(), hyperloglog.New14()
	for i := range 900 {
		x.Insert(elements(1, 900)[i])
		y.Insert(elements(2, 900)[i])
	}
	b.ReportAllocs()
	for b.Loop() {
		u := x.Clone()
		u.Merge(y)
		u.Estimate()
	}
}

func BenchmarkUnionDense(b *testing.B) {
	x, y := sketchOf(b, elements(1, 100_000)), sketchOf(b, elements(2, 100_000))
	b.ReportAllocs()
	for b.Loop() {
		hll.Union(x, y)
	}
}

func BenchmarkValidDense(b *testing.B) {
	s := sketchOf(b, elements(1, 100_000))
	for b.Loop() {
		hll.Valid(s)
	}
}

func BenchmarkValidSparse(b *testing.B) {
	s := sketchOf(b, elements(1, 2000))
	for b.Loop() {
		hll.Valid(s)
	}
}
