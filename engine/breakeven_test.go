package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"countd/hotkeys"
	"countd/shards"
)

// BenchmarkBreakEven measures from how many increments per flush on a promoted counter is cheaper than
// an ordinary one: each flush closes it, and its next write goes through the lock. On one processor, that
// is without contention; turns alternate, and the least disturbed tenth is compared. a is what a flush
// costs, b an increment, each of an ordinary counter and a hot one.
func BenchmarkBreakEven(b *testing.B) {
	const few, many = 1, 2000
	var turn [2]func(n int)
	for i := range turn {
		turn[i] = breakEvenTurn(b, i == 1)
	}
	var times [2][2][]float64
	for range b.N {
		for i := range turn {
			for j, n := range []int{few, many} {
				start := time.Now()
				turn[i](n)
				times[i][j] = append(times[i][j], float64(time.Since(start)))
			}
		}
	}
	if b.N < 100 {
		return
	}
	var fixed, each [2]float64
	for i := range turn {
		for j := range times[i] {
			slices.Sort(times[i][j])
		}
		least, most := times[i][0][b.N/10], times[i][1][b.N/10]
		each[i] = (most - least) / (many - few)
		fixed[i] = least - each[i]*few
	}
	b.ReportMetric(fixed[0], "a-cold-ns")
	b.ReportMetric(fixed[1], "a-hot-ns")
	b.ReportMetric(each[0], "b-cold-ns")
	b.ReportMetric(each[1], "b-hot-ns")
	b.ReportMetric((fixed[1]-fixed[0])/(each[0]-each[1]), "increments/flush")
}

// breakEvenTurn returns a function that increments one counter n times and flushes.
func breakEvenTurn(b *testing.B, hot bool) func(n int) {
	cfg := hotkeys.DefaultConfig()
	cfg.PromoteRate, cfg.Hold = hotkeys.MaxRate, time.Hour // nothing but what is forced
	e, _, err := Open(Options{
		Dir: "data", FS: vfs.NewMem(), Policy: FsyncNo, FlushInterval: time.Hour, Hot: &cfg,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	op, key := Op{Writer: e.NewWriter(), NowMs: e.NowMs()}, []byte("counter:42")
	incr := func(n int) {
		for range n {
			if _, err := e.IncrBy(&op, key, 1); err != nil {
				b.Fatal(err)
			}
		}
	}
	incr(1)
	if hot && !e.forceHot(0, key, shards.HotOptions{Cells: 1, Writers: 1, Owner: (*Contract)(nil)}) {
		b.Fatal("not promoted")
	}
	return func(n int) {
		incr(n)
		t := e.table(0)
		if h, current := e.hotOf(&op, t, t.Hash(key), key); (h != nil && current && !h.Frozen()) != hot {
			b.Fatal("hot", hot, h, current)
		}
		e.commit.Lock()
		defer e.commit.Unlock()
		if err := e.commitLocked(FsyncNo); err != nil {
			b.Fatal(err)
		}
	}
}
