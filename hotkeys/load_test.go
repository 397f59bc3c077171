package hotkeys

import (
	"testing"
	"time"
)

// commands is how many commands come in a time at a rate.
func commands(rate float64, in time.Duration) int { return int(rate * in.Seconds()) }

// A million keys by Zipf's law with s = 1.1 at 5 M commands per second on two loops: the first nine
// have more than a hundredth each, the tenth just less.
func TestZipf(t *testing.T) {
	forSeeds(t, func(t *testing.T, seed uint64) {
		s := newSim(t, DefaultConfig(), 2, seed)
		start := s.now
		keys := zipfTape(s.rng, 1.1, 1e6)
		s.run(3*time.Second, func(tick time.Duration) {
			for range commands(5e6, tick) / 2 {
				s.hit(0, keys.next(), 1)
				s.hit(1, keys.next(), 1)
			}
		})
		s.wantOnly([]uint64{0, 1, 2, 3, 4, 5, 6}, []uint64{7, 8, 9, 10})
		for id := range uint64(7) {
			s.wantPromoted(id, start, 2*time.Second)
		}
		s.wantExact()
	})
}

func TestUniformLoadPromotesNothing(t *testing.T) {
	forSeeds(t, func(t *testing.T, seed uint64) {
		s := newSim(t, DefaultConfig(), 2, seed)
		keys := uniformTape(s.rng, 1e6)
		s.run(2*time.Second, func(tick time.Duration) {
			for range commands(5e6, tick) / 2 {
				s.hit(0, keys.next(), 1)
				s.hit(1, keys.next(), 1)
			}
		})
		s.wantOnly(nil, nil)
	})
}

// Without a least share, and with a rate that is less than the sketches' error, nothing is promoted
// either: what other keys did is not counted for a key.
func TestUniformLoadPromotesNothingAtALowRate(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Share, cfg.PromoteRate, cfg.DemoteRate, cfg.Entries = 0, 600, 200, 64
	forSeeds(t, func(t *testing.T, seed uint64) {
		s := newSim(t, cfg, 2, seed)
		keys := uniformTape(s.rng, 1e6)
		s.run(2*time.Second, func(tick time.Duration) {
			for range commands(5e6, tick) / 2 {
				s.hit(0, keys.next(), 1)
				s.hit(1, keys.next(), 1)
			}
		})
		s.wantOnly(nil, nil)
	})
}

func TestAllCommandsOnOneKey(t *testing.T) {
	forSeeds(t, func(t *testing.T, seed uint64) {
		s := newSim(t, DefaultConfig(), 1, seed)
		start := s.now
		s.run(5*time.Second, func(tick time.Duration) {
			for range commands(20e6, tick) / 512 {
				s.hit(0, 7, 512)
			}
		})
		s.wantOnly([]uint64{7}, nil)
		s.wantPromoted(7, start, time.Second)
		s.wantExact()
	})
}
