package hotkeys

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"countd/sketch"
)

func noClock() time.Duration { return 0 }

// fixedSampler is a Sampler whose N stays n.
func fixedSampler(n, seed uint64) *Sampler {
	cfg := DefaultConfig()
	cfg.Entries = 64
	s := newSampler(&cfg, rand.New(rand.NewPCG(seed, n)), noClock)
	s.mu.left = 1 << 62
	s.setN(n)
	s.countdown = int64(s.gap())
	s.drawn, s.weight = s.countdown, n
	return s
}

// tableCounts returns what the table of s has, by the first byte of the key.
func tableCounts(s *Sampler) (counts [256]float64) {
	s.mu.table.Each(func(raw []byte, _, count, _ uint64) { counts[raw[dbBytes]] += float64(count) })
	return counts
}

// beyond is how many standard deviations an estimate may be off: more is met once in 10^8 estimates,
// if each is the sum of a hundred or more.
const beyond = 6

// TestSamplingIsUnbiased counts loads of many shapes. The estimate of a key with n commands has the
// mean n and a variance of at most n(N-1).
func TestSamplingIsUnbiased(t *testing.T) {
	shapes := map[string]func(s *Sampler, i int) (key byte, n int){
		"singles":             func(_ *Sampler, i int) (byte, int) { return byte(i % 10), 1 },
		"pipelines of 64":     func(_ *Sampler, i int) (byte, int) { return byte(i / 64 % 10), 1 },
		"every hundredth":     func(_ *Sampler, i int) (byte, int) { return byte(min(i%100, 1)), 1 },
		"runs of 16":          func(_ *Sampler, i int) (byte, int) { return byte(i % 10), 16 },
		"runs of 512":         func(_ *Sampler, i int) (byte, int) { return byte(i % 10), 512 },
		"runs of any length":  func(_ *Sampler, i int) (byte, int) { return byte(i % 10), i % 777 },
		"one key, long runs":  func(*Sampler, int) (byte, int) { return 0, 4096 },
		"long run, then many": func(_ *Sampler, i int) (byte, int) { return byte(min(i%500, 1)), 1 + 299*b2i(i%500 == 0) },
	}
	forSeeds(t, func(t *testing.T, seed uint64) {
		for name, shape := range shapes {
			for _, n := range []uint64{1, 2, 7, 100, 1000} {
				s := fixedSampler(n, seed)
				var truth [256]float64
				for i := range 100_000 {
					key, run := shape(s, i)
					s.Hit(0, uint64(key), []byte{key}, run)
					truth[key] += float64(run)
				}
				for key, got := range tableCounts(s) {
					want, sd := truth[key], math.Sqrt(truth[key]*float64(n-1))
					if want/float64(n) >= 100 && math.Abs(got-want) > beyond*sd {
						t.Errorf("%s, N=%d, key %d: counted %.0f, want %.0f ± %.0f", name, n, key, got, want, sd)
					}
				}
			}
		}
	})
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A sample weighs what N was when it was drawn.
func TestASampleKeepsItsWeight(t *testing.T) {
	for _, c := range [][2]uint64{{1, 1000}, {1000, 1}} {
		s := fixedSampler(c[0], 1)
		s.setN(c[1])
		s.Hit(0, 1, []byte{1}, int(s.countdown))
		if got := s.mu.table.Total(); got != c[0] {
			t.Errorf("drawn with N=%d, weighs %d", c[0], got)
		}
	}
}

// TestSamplingIsUnbiasedWhileNChanges changes N all the time.
func TestSamplingIsUnbiasedWhileNChanges(t *testing.T) {
	forSeeds(t, func(t *testing.T, seed uint64) {
		const most = 50
		s := fixedSampler(1, seed)
		var want float64
		for i := range 200_000 {
			s.setN([]uint64{1, 5, most}[i%3])
			run := 1 + i%7
			s.Hit(0, 1, []byte{1}, run)
			want += float64(run)
		}
		got := tableCounts(s)[1]
		if sd := math.Sqrt(want * most); math.Abs(got-want) > beyond*sd {
			t.Errorf("counted %.0f, want %.0f ± %.0f", got, want, sd)
		}
	})
}

// TestEveryPlaceIsSampledAlike takes many short loads and looks at which place of them is sampled: a
// bias of the first gap or after a sample would show.
func TestEveryPlaceIsSampledAlike(t *testing.T) {
	const n, length, trials = 4, 12, 60_000
	forSeeds(t, func(t *testing.T, seed uint64) {
		var counts [length]float64
		s := fixedSampler(n, seed)
		for range trials {
			s.mu.table.Reset()
			s.countdown = int64(s.gap())
			for i := range length {
				s.Hit(0, uint64(i), []byte{byte(i)}, 1)
			}
			for i, c := range tableCounts(s) {
				if c > 0 {
					counts[i] += c
				}
			}
		}
		for i, c := range counts {
			if sd := math.Sqrt(trials * (n - 1)); math.Abs(c-trials) > beyond*sd {
				t.Errorf("place %d: counted %.0f, want %d ± %.0f", i, c, trials, sd)
			}
		}
	})
}

// TestGapsAreGeometric compares the gaps' distribution with (1-1/N)^g.
func TestGapsAreGeometric(t *testing.T) {
	const draws = 200_000
	for _, n := range []uint64{1, 2, 3, 50} {
		s := fixedSampler(n, 1)
		var more [200]float64 // how many gaps are longer than the index
		for range draws {
			gap := min(s.gap(), uint64(len(more)))
			for g := range gap {
				more[g]++
			}
		}
		for g, got := range more {
			p := math.Pow(1-1/float64(n), float64(g))
			if draws*p < 100 { // too few for a normal distribution
				break
			}
			if sd := math.Sqrt(draws * p * (1 - p)); math.Abs(got-draws*p) > beyond*sd {
				t.Errorf("N=%d: %v gaps above %d, want %.0f ± %.0f", n, got, g, draws*p, sd)
			}
		}
	}
}

// TestSamplesAreBounded: whatever the load, a tick has about the configured samples; the first tick
// of a sudden load a little more.
func TestSamplesAreBounded(t *testing.T) {
	cfg := DefaultConfig()
	budget := float64(cfg.tickBudget())
	for _, perTick := range []int{100, 10_000, 100_000, 3_000_000, 30_000_000} {
		s := newSampler(&cfg, rand.New(rand.NewPCG(1, 1)), noClock)
		for tick := range 4 {
			before := s.mu.samples
			for range perTick {
				s.Hit(0, 1, []byte{1}, 1)
			}
			s.take(sketch.New(cfg.Entries), &cfg, cfg.Tick)
			samples := float64(s.mu.samples - before)
			most := budget * 1.05
			if tick == 0 {
				most = budget * (1.25 + 0.25*math.Log2(1+float64(perTick)/budget))
			}
			if least := min(float64(perTick), budget) * 0.45; samples > most || samples < least {
				t.Errorf("%d commands, tick %d: %.0f samples, want %.0f to %.0f", perTick, tick, samples, least, most)
			}
		}
	}
}

// TestCommandsAreCounted: the number of commands is exact up to the last sample.
func TestCommandsAreCounted(t *testing.T) {
	s := fixedSampler(10, 1)
	var commands uint64
	for i := range 100_000 {
		s.Hit(0, 1, []byte{1}, i%40)
		commands += uint64(i % 40)
		if s.mu.total > commands || s.mu.total != commands-uint64(s.drawn-s.countdown) {
			t.Fatalf("counted %d of %d, %d before the next sample", s.mu.total, commands, s.countdown)
		}
	}
}

func TestHitDoesNotAllocate(t *testing.T) {
	s, key := fixedSampler(3, 1), []byte("key")
	var h uint64
	for _, key := range [][]byte{key, make([]byte, MaxKeyBytes), make([]byte, 1<<20)} {
		for range 1000 { // the sketch's buffers for long keys
			h++
			s.Hit(1, h, key, 2)
		}
		if a := testing.AllocsPerRun(10_000, func() { h++; s.Hit(1, h, key, 2) }); a != 0 {
			t.Errorf("%v allocations for a Hit with a key of %d bytes", a, len(key))
		}
	}
	if cap(s.raw) > sketch.MaxKeyBytes {
		t.Errorf("a key that is too long was copied: %d bytes", cap(s.raw))
	}
}

func TestANilSamplerDoesNothing(t *testing.T) {
	var s *Sampler
	s.Hit(0, 1, []byte("key"), 1<<40)
}

// A sample's own time is added up; one that was interrupted is not taken for its cost.
func TestSamplesAreTimed(t *testing.T) {
	cfg := DefaultConfig()
	var now, step time.Duration
	s := newSampler(&cfg, rand.New(rand.NewPCG(1, 1)), func() time.Duration {
		now += step
		step += 10 // a reading takes 10 ns longer than the one before: the sample took 10 ns
		return now
	})
	for range timedShare * 5 {
		step = 30
		s.Hit(0, 1, []byte{1}, 1)
	}
	if s.mu.spent != 50 {
		t.Errorf("5 timed samples of 10 ns took %v", s.mu.spent)
	}
	s.clock = func() time.Duration { now += step; step *= 1000; return now }
	for range timedShare {
		step = 10
		s.Hit(0, 1, []byte{1}, 1)
	}
	if s.mu.spent != 50 {
		t.Errorf("an interrupted sample was counted: %v", s.mu.spent)
	}
	times := []time.Duration{0, time.Second, time.Second + 40} // interrupted between the first two readings
	s.clock = func() time.Duration { now, times = times[0], times[1:]; return now }
	for range timedShare {
		s.Hit(0, 1, []byte{1}, 1)
	}
	if s.mu.spent != 50 {
		t.Errorf("an interrupted reading of the clock was counted: %v", s.mu.spent)
	}
}
