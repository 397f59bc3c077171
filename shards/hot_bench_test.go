package shards

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/puzpuzpuz/xsync/v4"
)

// The baselines and the hot counter, each from as many goroutines as GOMAXPROCS says: run them with
// -cpu 1,2. All of them count in one counter.

func parallelism() int { return runtime.GOMAXPROCS(0) }

// newHotBench makes a table with a counter, promoted where o is given.
func newHotBench(b *testing.B, o *HotOptions) (t *Table, p *Partition, h Hash, key []byte) {
	b.Helper()
	t, key = NewTable(Seed{1, 2}, false), []byte("page:home:views")
	h = t.Hash(key)
	p = t.Part(PartOf(h))
	p.Lock()
	defer p.Unlock()
	p.PutInt(h, key, 0, 0)
	if o != nil {
		o.Cells, o.Writers = parallelism(), parallelism()
		if !p.Promote(t, h, key, *o) {
			b.Fatal("not promoted")
		}
	}
	return t, p, h, key
}

// each runs fn in one goroutine per processor, which does its share of b.N.
func each(b *testing.B, fn func(writer, n int)) {
	b.Helper()
	var wg sync.WaitGroup
	start := make(chan struct{})
	procs := parallelism()
	for w := range procs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			<-start
			fn(w, b.N/procs+1)
		}()
	}
	b.ResetTimer()
	close(start)
	wg.Wait()
}

func BenchmarkMutex(b *testing.B) {
	var mu sync.Mutex
	n := int64(0)
	each(b, func(_, k int) {
		for range k {
			mu.Lock()
			n++
			mu.Unlock()
		}
	})
}

func BenchmarkAtomic(b *testing.B) {
	var n atomic.Int64
	each(b, func(_, k int) {
		for range k {
			n.Add(1)
		}
	})
}

func BenchmarkPaddedCells(b *testing.B) {
	cells := make([]Cell, parallelism())
	each(b, func(w, k int) {
		c := &cells[w]
		for range k {
			c.v.Add(1)
		}
	})
}

func BenchmarkXsyncCounter(b *testing.B) {
	n := xsync.NewCounter()
	each(b, func(_, k int) {
		for range k {
			n.Inc()
		}
	})
}

func BenchmarkPartitionLock(b *testing.B) {
	_, p, h, key := newHotBench(b, nil)
	each(b, func(_, k int) {
		for range k {
			p.Lock()
			r := p.Find(h, key)
			p.SetInt(r, p.Int(r)+1)
			p.Unlock()
		}
	})
}

// BenchmarkHotRelaxed is to be at most 1.2 of BenchmarkPaddedCells, and at most half of BenchmarkAtomic
// where there are two processors.
func BenchmarkHotRelaxed(b *testing.B) {
	t, _, h, key := newHotBench(b, &HotOptions{Relaxed: true})
	hot := t.Hot(h, key)
	each(b, func(w, k int) {
		for i := range k {
			now := int64(i >> instantShift)
			c := hot.Relaxed(w)
			n, fresh := c.Add(hot, 1, now)
			sum := c.Sum(n)
			if !fresh {
				sum, _ = hot.Refresh(c, n, now)
			}
			if sum < 1 {
				panic("not added")
			}
		}
	})
}

// instantShift makes an instant of 2^17 additions, somewhat less than the millisecond it is in a server.
const instantShift = 17

func BenchmarkHotExact(b *testing.B) {
	for _, run := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("run=%d", run), func(b *testing.B) { benchHot(b, HotOptions{}, run) })
	}
}

// benchHot increments in runs, and makes the reply of every increment; an operation is an increment.
func benchHot(b *testing.B, o HotOptions, run int) {
	t, _, h, key := newHotBench(b, &o)
	hot := t.Hot(h, key)
	each(b, func(w, k int) {
		replies := make([]int64, run)
		for ; k > 0; k -= run {
			sum, added := hot.Add(w, int64(run), 0)
			if added == AddedNot {
				panic("closed")
			}
			for i := range replies {
				replies[i] = sum - int64(run-1-i)
			}
		}
	})
}

func BenchmarkHotGet(b *testing.B) {
	for _, relaxed := range []bool{false, true} {
		b.Run(fmt.Sprintf("relaxed=%v", relaxed), func(b *testing.B) {
			t, _, h, key := newHotBench(b, &HotOptions{Relaxed: relaxed})
			hot := t.Hot(h, key)
			each(b, func(w, k int) {
				for range k {
					if _, ok := hot.Get(w, true, nil); !ok {
						panic("closed")
					}
				}
			})
		})
	}
}
