package hotkeys

import (
	"testing"
	"time"
)

// background spreads commands over a million keys, none of which is hot, on all loops; they come in
// runs of 8 for the test's speed.
func (s *sim) background(n int) {
	for i := range n / 8 {
		s.hit(i%len(s.loops), counted+s.rng.Uint64N(1e6), 8)
	}
}

// One connection sends half of all commands to one key, in pipelines, beside 49 light connections,
// each with keys of its own; they are served in turn.
func TestOneHeavyConnectionBeside49LightOnes(t *testing.T) {
	for _, pipeline := range []int{1, 64, 512} {
		forSeeds(t, func(t *testing.T, seed uint64) {
			s := newSim(t, DefaultConfig(), 1, seed)
			start := s.now
			s.run(3*time.Second, func(tick time.Duration) {
				for done := 0; done < commands(2e6, tick); done += 2 * pipeline {
					s.hit(0, 7, pipeline)
					for range pipeline {
						light := s.rng.Uint64N(49)
						s.hit(0, counted+light<<20+s.rng.Uint64N(1e5), 1)
					}
				}
			})
			s.wantOnly([]uint64{7}, nil)
			s.wantPromoted(7, start, 2*time.Second)
			s.wantExact()
		})
	}
}

// The light connections hit one key each, and together as much as the heavy one: each has a
// hundredth, on the threshold. The heavy one is found, the light ones may be.
func TestLightConnectionsOnTheThresholdDoNotFlap(t *testing.T) {
	forSeeds(t, func(t *testing.T, seed uint64) {
		s := newSim(t, DefaultConfig(), 2, seed)
		start := s.now
		var light []uint64
		for id := uint64(100); id < 149; id++ {
			light = append(light, id)
		}
		s.run(25*time.Second, func(tick time.Duration) {
			for range commands(2e6, tick) / (2 * 490) {
				s.hit(0, 7, 490)
				for _, id := range light {
					s.hit(1, id, 10)
				}
			}
		})
		s.wantOnly([]uint64{7}, light)
		s.wantPromoted(7, start, 2*time.Second)
		s.wantExact()
	})
}

// The load moves to another key every four seconds. Each is promoted within two and demoted once it
// was cold for the hold time.
func TestShiftingLoad(t *testing.T) {
	forSeeds(t, func(t *testing.T, seed uint64) {
		s := newSim(t, DefaultConfig(), 2, seed)
		const shift = 4 * time.Second
		var began []time.Duration
		var all []uint64
		for id := range uint64(8) {
			began, all = append(began, s.now), append(all, id)
			s.run(shift, func(tick time.Duration) {
				n := commands(200e3, tick)
				s.hit(0, id, n/8)
				s.hit(1, id, n/8)
				s.background(n * 3 / 4)
			})
			s.wantPromoted(id, began[id], 2*time.Second)
		}
		s.run(13*time.Second, func(tick time.Duration) { s.background(commands(20e3, tick)) })
		s.wantExact()
		s.wantOnly(nil, all)
		if len(s.hot) != 0 {
			t.Errorf("still hot: %v", s.hot)
		}
		for _, e := range s.events {
			cold := e.at - began[e.id] - shift
			if !e.promote && (cold < 10*time.Second || cold > 12*time.Second) {
				t.Errorf("%v: demoted after %v", e, cold)
			}
		}
	})
}

// A key goes on as before while the load beside it grows, until its share is not worth a promotion.
func TestAKeyCoolsWhenItsShareIsSmall(t *testing.T) {
	for _, c := range []struct {
		others float64
		demote bool
	}{{7e6, false}, {10e6, true}} { // 20,000 are a four-hundredth of 8,000,000
		s := newSim(t, DefaultConfig(), 1, 1)
		load := func(others float64) func(tick time.Duration) {
			return func(tick time.Duration) {
				for range commands(20e3, tick) / 10 {
					s.hit(0, 7, 10)
				}
				for range commands(others, tick) / 512 {
					s.hit(0, counted+s.rng.Uint64N(1e6), 512)
				}
			}
		}
		s.run(2*time.Second, load(100e3))
		s.wantOnly([]uint64{7}, nil)
		s.run(20*time.Second, load(c.others))
		if got := len(s.hot) == 0; got != c.demote {
			t.Errorf("beside %.0f others: %v", c.others, s.events)
		}
	}
}

// A key takes half of a load in bursts. What counts is what comes in a window.
func TestBursts(t *testing.T) {
	for _, c := range []struct {
		name   string
		burst  int // commands at one instant
		every  time.Duration
		promos int
	}{
		{"below the rate over a window", 7000, 2 * time.Second, 0},
		{"the same load in one window out of four", 9000, 4 * time.Second, 0},
		{"just above it", 12_000, time.Second, 1},
		{"far above it, once in five seconds", 100_000, 5 * time.Second, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			forSeeds(t, func(t *testing.T, seed uint64) {
				s := newSim(t, DefaultConfig(), 1, seed)
				next := s.now + time.Duration(s.rng.Int64N(int64(c.every)))
				s.run(30*time.Second, func(tick time.Duration) {
					s.background(commands(10e3, tick))
					for ; next < s.now+tick; next += c.every {
						for range c.burst / 100 {
							s.hit(0, 7, 100)
						}
					}
				})
				got := 0
				for _, e := range s.events {
					if e.id != 7 || !e.promote {
						t.Errorf("unexpected: %v", e)
					}
					got++
				}
				if got != c.promos {
					t.Errorf("promoted %d times, want %d", got, c.promos)
				}
			})
		})
	}
}

// TestABurstSplitByATick moves one burst, 0.1 s long, over the edge of a tick, and with it over the
// edge of the window: just too small for the window it is never promoted, and enough for it always.
func TestABurstSplitByATick(t *testing.T) {
	cfg := DefaultConfig()
	const parts = 10
	for _, c := range []struct {
		size int
		want bool
	}{{9900, false}, {10_500, true}} {
		for before := 0; before <= parts; before++ {
			s := newSim(t, cfg, 1, uint64(before))
			tick := func(burst int) {
				s.hit(0, 7, burst)
				s.hit(0, 8, 1000) // so that there is something else
				s.tick(cfg.Tick)
			}
			for range 5 {
				tick(0)
			}
			tick(c.size * before / parts)
			tick(c.size - c.size*before/parts)
			for range 5 {
				tick(0)
			}
			if got := len(s.events) == 1; got != c.want {
				t.Errorf("%d commands, %d/%d of them before a tick: %v", c.size, before, parts, s.events)
			}
		}
	}
}

// A key's rate swings around a threshold. It is promoted at most once, and never demoted.
func TestNoFlappingAroundAThreshold(t *testing.T) {
	for _, c := range []struct {
		name   string
		lo, hi float64
		period time.Duration
		promos int
	}{
		{"around the upper", 8_000, 14_000, 3 * time.Second, 1},
		{"around the lower", 1_000, 12_000, 8 * time.Second, 1},
		{"around both", 0, 15_000, 16 * time.Second, 1},
		{"between the two", 3_000, 9_000, 3 * time.Second, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			forSeeds(t, func(t *testing.T, seed uint64) {
				s := newSim(t, DefaultConfig(), 1, seed)
				start := s.now
				s.run(60*time.Second, func(tick time.Duration) {
					rate := c.lo
					if (s.now-start)%c.period >= c.period/2 {
						rate = c.hi
					}
					s.background(commands(20e3, tick))
					for range commands(rate, tick) / 10 {
						s.hit(0, 7, 10)
					}
				})
				if len(s.events) != c.promos {
					t.Errorf("%v", s.events)
				}
			})
		})
	}
}
