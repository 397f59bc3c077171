package main

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The benchmarks of this file measure what a counter's cache lines cost on this machine, without a
// server around them. `bench model` takes its figures for many cores from others' measurements;
// these say what the same primitives cost here:
//
//	go test ./bench -run '^$' -bench Line -cpu 1,2 -count 5
//
// The figures are wall time per operation of all goroutines together: an operation that scales
// halves its figure with -cpu 2, one that is served in turn keeps it or gets worse.

// padded is a counter that shares its cache line with nothing: 128 bytes, since Intel's prefetcher
// fetches lines in pairs.
type padded struct {
	n atomic.Int64
	_ [120]byte
}

// BenchmarkLineMutex adds to one counter under one mutex.
func BenchmarkLineMutex(b *testing.B) {
	var c struct {
		_  [128]byte
		mu sync.Mutex
		n  int64
		_  [128]byte
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c.mu.Lock()
			c.n++
			c.mu.Unlock()
		}
	})
	if c.n != int64(b.N) {
		b.Fatalf("counted %d of %d", c.n, b.N)
	}
}

// BenchmarkLineShared adds to one counter with fetch-and-add.
func BenchmarkLineShared(b *testing.B) {
	cells := make([]padded, 1)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			cells[0].n.Add(1)
		}
	})
	if n := sum(cells); n != int64(b.N) {
		b.Fatalf("counted %d of %d", n, b.N)
	}
}

// BenchmarkLineOwn adds with fetch-and-add to a cell that no other goroutine touches.
func BenchmarkLineOwn(b *testing.B) {
	cells := make([]padded, runtime.GOMAXPROCS(0))
	var next atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		own := &cells[next.Add(1)-1].n
		for pb.Next() {
			own.Add(1)
		}
	})
	if n := sum(cells); n != int64(b.N) {
		b.Fatalf("counted %d of %d", n, b.N)
	}
}

// BenchmarkLineSpaced adds as event loops do: work of its own between two adds, so that the line is
// with another core by then. The own cell beside it tells what the work costs.
func BenchmarkLineSpaced(b *testing.B) {
	for _, shared := range []bool{false, true} {
		b.Run(map[bool]string{false: "own", true: "shared"}[shared], func(b *testing.B) {
			cells := make([]padded, runtime.GOMAXPROCS(0))
			var next, worked atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				own := &cells[0].n
				if !shared {
					own = &cells[next.Add(1)-1].n
				}
				x := int64(1)
				for pb.Next() {
					for range spacing {
						x = x*6364136223846793005 + 1442695040888963407
					}
					x += own.Add(1)
				}
				worked.Add(x) // a result that is used cannot be left out
			})
			if n := sum(cells); n != int64(b.N) {
				b.Fatalf("counted %d of %d", n, b.N)
			}
		})
	}
}

// spacing is how many dependent multiplications BenchmarkLineSpaced puts between two adds: about
// the time that a command takes at a pipeline of 64.
const spacing = 100

// BenchmarkLineMove hands one line from core to core: two goroutines wait for each other's number
// and add one. An operation is one move. It needs two cores, whatever -cpu says.
func BenchmarkLineMove(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	cells := make([]padded, 1)
	turn := &cells[0].n
	take := func(parity int64) {
		for i := parity; i < int64(b.N); i += 2 {
			for spins := 1; !turn.CompareAndSwap(i, i+1); spins++ {
				yield(spins)
			}
		}
	}
	var other sync.WaitGroup
	other.Go(func() { take(1) })
	take(0)
	other.Wait()
	if turn.Load() != int64(b.N) {
		b.Fatalf("moved %d times of %d", turn.Load(), b.N)
	}
}

// BenchmarkLineSum sums n padded cells that nobody writes.
func BenchmarkLineSum(b *testing.B) {
	for n := 2; n <= 64; n *= 2 {
		b.Run(fmt.Sprintf("cells=%d", n), func(b *testing.B) {
			cells := make([]padded, n)
			var total int64
			for range b.N {
				total += sum(cells)
			}
			if total != 0 {
				b.Fatalf("summed %d", total)
			}
		})
	}
}

// BenchmarkLineSumWritten sums n padded cells, each written by another core since the last sum. The
// two take turns; ns/sum is the median of the sums alone, with one reading of the clock. It needs
// two cores, whatever -cpu says.
func BenchmarkLineSumWritten(b *testing.B) {
	for n := 2; n <= 64; n *= 2 {
		b.Run(fmt.Sprintf("cells=%d", n), func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
			cells, turn := make([]padded, n), make([]padded, 1)
			await := func(now int64) {
				for spins := 1; turn[0].n.Load() != now; spins++ {
					yield(spins)
				}
			}
			var writer sync.WaitGroup
			writer.Go(func() {
				for i := range int64(b.N) {
					await(2 * i)
					for j := range cells {
						cells[j].n.Add(1)
					}
					turn[0].n.Store(2*i + 1)
				}
			})
			sums := make([]float64, b.N)
			for i := range int64(b.N) {
				await(2*i + 1)
				began := time.Now()
				total := sum(cells)
				sums[i] = float64(time.Since(began).Nanoseconds())
				if total != (i+1)*int64(n) {
					b.Fatalf("sum %d is %d, not %d", i, total, (i+1)*int64(n))
				}
				turn[0].n.Store(2*i + 2)
			}
			writer.Wait()
			b.ReportMetric(median(sums), "ns/sum")
		})
	}
}

// yield frees the waiting core now and then: the one it waits for may have been denied its own.
func yield(spins int) {
	if spins%10_000 == 0 {
		time.Sleep(time.Microsecond)
	}
}

// sum adds up the cells.
func sum(cells []padded) int64 {
	var total int64
	for i := range cells {
		total += cells[i].n.Load()
	}
	return total
}
