package sketch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// contender is an algorithm in the comparison: add counts one sample, each gives the estimates.
type contender struct {
	name  string
	add   func(hash uint64, key []byte)
	reset func()
	each  func(fn func(key string, estimate float64))
}

// contenders are the algorithms at about the same memory, 128 KB: that of 512 entries with their
// cells, of 700 entries without, of 128 entries and 96 KB of counters.
func contenders() []contender {
	filtered, plain := New(512), New(700)
	cm, hk := newCountMin(1<<12, 128), newHeavyKeeper(1<<12, 128)
	counts := func(s *SpaceSaving) func(func(string, float64)) {
		return func(fn func(string, float64)) {
			s.Each(func(key []byte, _, count, err uint64) { fn(string(key), float64(count-err)) })
		}
	}
	return []contender{
		{"Filtered", func(h uint64, k []byte) { filtered.Add(h, k, 1) }, filtered.Reset, counts(filtered)},
		{"Plain", plain.addPlain, plain.Reset, counts(plain)},
		{"CountMin", cm.Add, cm.Reset, counts(cm.top)},
		{"HeavyKeeper", hk.Add, hk.Reset, counts(hk.top)},
	}
}

// comparisons are loads of one tick. "late" is a load without skew in which one key begins to take a
// twentieth in the last quarter; "borderline" has 20 keys with a hundredth each in such a load.
func comparisons(rng *rand.Rand) map[string]func(i int) uint64 {
	zipf := rand.NewZipf(rng, 1.1, 1, 1e6-1)
	return map[string]func(i int) uint64{
		"zipf":    func(int) uint64 { return zipf.Uint64() },
		"uniform": func(int) uint64 { return rng.Uint64N(1e6) },
		"late": func(i int) uint64 {
			if i > benchTick*3/4 && rng.IntN(20) == 0 {
				return 1 << 40
			}
			return rng.Uint64N(1e6)
		},
		"borderline": func(int) uint64 {
			if n := rng.Uint64N(100); n < 20 {
				return 1<<40 + n
			}
			return rng.Uint64N(1e6)
		},
	}
}

// BenchmarkCompare reports the time of a sample and, for keys with at least a hundredth of the
// samples, the largest and the mean error of their counts, over many ticks; false is how many keys
// per tick seem to have a hundredth and have less than 0.8 of that.
func BenchmarkCompare(b *testing.B) {
	for _, load := range []string{"zipf", "uniform", "late", "borderline"} {
		for _, c := range contenders() {
			b.Run(load+"/"+c.name, func(b *testing.B) { compare(b, load, c) })
		}
	}
}

func compare(b *testing.B, load string, c contender) {
	next := comparisons(rand.New(rand.NewPCG(1, 2)))[load]
	var worst, sum, keys, wrong, ticks float64
	hashes, names := make([]uint64, benchTick), make([][]byte, benchTick)
	for n := b.N; n > 0; n -= benchTick {
		b.StopTimer()
		truth := map[string]float64{}
		for i := range benchTick {
			names[i] = fmt.Appendf(names[i][:0], "counter:%08x", next(i))
			hashes[i] = hashOf(names[i])
			truth[string(names[i])]++
		}
		c.reset()
		b.StartTimer()
		for i := range min(n, benchTick) {
			c.add(hashes[i], names[i])
		}
		b.StopTimer()
		if n < benchTick {
			break
		}
		ticks++
		estimates := map[string]float64{}
		c.each(func(key string, estimate float64) {
			estimates[key] = estimate
			if estimate >= benchTick/100 && truth[key] < 0.8*benchTick/100 {
				wrong++
			}
		})
		for key, n := range truth {
			if n >= benchTick/100 {
				e := math.Abs(estimates[key]-n) / n
				worst, sum, keys = max(worst, e), sum+e, keys+1
			}
		}
	}
	if keys > 0 {
		b.ReportMetric(100*worst, "worst%")
		b.ReportMetric(100*sum/keys, "mean%")
	}
	if ticks > 0 {
		b.ReportMetric(wrong/ticks, "false")
	}
}
