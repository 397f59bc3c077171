package hotkeys

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"countd/sketch"
)

// TestRatesAreBetweenTheirBounds merges small sketches of loops with different loads over several
// periods, sampled with N = 1, so that nothing is left to chance: for every key, tracked or not, the
// truth is between Rate and Rate+Err.
func TestRatesAreBetweenTheirBounds(t *testing.T) {
	forSeeds(t, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		cfg := DefaultConfig()
		zipf := rand.NewZipf(rng, 1.1, 1, 3000)
		raw := make([]byte, 12)
		for range 20 {
			truth := map[uint64]float64{}
			var periods []*period
			for range 4 {
				p := &period{}
				p.begin(cfg.Tick)
				for loop := range uint64(1 + rng.IntN(5)) {
					table := sketch.New(16 + rng.IntN(100))
					var commands uint64
					for range rng.IntN(20_000) {
						id := zipf.Uint64() + loop*rng.Uint64N(50) // loops agree in part
						n := 1 + rng.Uint64N(3)
						binary.BigEndian.PutUint64(raw[dbBytes:], id)
						table.Add(hashID(id), raw, n)
						truth[id] += float64(n)
						commands += n
					}
					p.add(taken{table: table, commands: commands, maxN: 1})
				}
				p.end()
				periods = append(periods, p)
			}
			var w window
			w.sum(periods, &cfg)
			if w.covered != time.Second {
				t.Fatalf("a window of %v", w.covered)
			}
			for id, n := range truth {
				rate, err := w.rate(w.tally.find(hashID(id)))
				if rate > n || n > rate+err {
					t.Fatalf("key %d: rate %.0f, error %.0f, truth %.0f", id, rate, err, n)
				}
			}
		}
	})
}
