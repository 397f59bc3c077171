package hotkeys

import (
	"math"
	"testing"
	"time"
)

// steady makes a load of one key beside others at the given rates.
func (s *sim) steady(rate, others float64, length time.Duration) {
	for range commands(rate, length) / 10 {
		s.hit(0, 7, 10)
	}
	s.background(commands(others, length))
}

// A burst that a window does not make a rate of is not promoted because the first window is short.
func TestTheFirstWindowInventsNoRate(t *testing.T) {
	s := newSim(t, DefaultConfig(), 1, 1)
	s.steady(9000, 100, time.Second) // 9000 commands in the first quarter of a second
	for range 12 {
		s.tick(s.d.cfg.Tick)
	}
	s.wantOnly(nil, nil)
	if s = newSim(t, DefaultConfig(), 1, 1); len(s.past) != 0 {
		t.Fatal("a simulation that has a past")
	}
	s.steady(41_000, 100, s.d.cfg.Tick) // more than a whole window needs
	s.tick(s.d.cfg.Tick)
	s.wantOnly([]uint64{7}, nil)
}

// What came before the first tick came in an unknown time.
func TestWhatCameBeforeTheFirstTickIsNotARate(t *testing.T) {
	s := newSim(t, DefaultConfig(), 1, 1)
	d := newDetector(DefaultConfig(), 1, func() time.Duration { return 0 })
	s.d, s.loops = d, []*Sampler{d.NewSampler()}
	s.steady(1e6, 0, time.Second)
	s.counts[7], s.total = 0, 0
	for range 8 {
		s.tick(s.d.cfg.Tick)
	}
	s.wantOnly(nil, nil)
}

// Ticks come late, up to three seconds, and some are skipped because they came early: the rates are
// those of the time that passed, no key cools, and none is promoted that is not fast enough.
func TestLateTicksKeepRates(t *testing.T) {
	forSeeds(t, func(t *testing.T, seed uint64) {
		for _, c := range []struct {
			rate float64
			hot  bool
		}{{11_500, true}, {9000, false}} {
			s := newSim(t, DefaultConfig(), 1, seed)
			start := s.now
			for s.now < start+2*time.Minute {
				length := time.Duration(s.rng.Int64N(int64(3 * time.Second)))
				if s.rng.IntN(2) == 0 {
					length = s.d.cfg.Tick
				}
				length = max(length, s.d.cfg.Tick/2)
				s.steady(c.rate, 20_000, length)
				s.tick(length)
				k := keyOfID(7)
				rate, _ := s.d.Rate(0, k.Hash, []byte(k.Name))
				if math.Abs(rate-c.rate) > 0.05*c.rate {
					t.Fatalf("at %v, after a tick of %v: rate %.0f, want %.0f", s.now, length, rate, c.rate)
				}
			}
			want := []uint64{7}
			if !c.hot {
				want = nil
			}
			s.wantOnly(want, nil)
		}
	})
}

// The process stands still for an hour. The key is as fast before and after: it stays promoted, its
// rate is right again with the tick after, and nothing else is promoted.
func TestATickAfterASuspension(t *testing.T) {
	for _, late := range []time.Duration{5 * time.Second, time.Minute, time.Hour} {
		s := newSim(t, DefaultConfig(), 1, 1)
		load := func(tick time.Duration) { s.steady(40_000, 20_000, tick) }
		s.run(3*time.Second, load)
		load(s.d.cfg.Tick)
		s.tick(late)
		load(s.d.cfg.Tick)
		s.tick(s.d.cfg.Tick)
		k := keyOfID(7)
		if rate, _ := s.d.Rate(0, k.Hash, []byte(k.Name)); math.Abs(rate-40_000) > 2000 {
			t.Errorf("%v late: rate %.0f one tick later", late, rate)
		}
		s.run(3*time.Second, load)
		s.wantOnly([]uint64{7}, nil)
	}
}

// A key becomes hot in the suspension's shadow: it is promoted as soon as it would be otherwise.
func TestPromotionRightAfterASuspension(t *testing.T) {
	s := newSim(t, DefaultConfig(), 1, 1)
	s.run(2*time.Second, func(tick time.Duration) { s.background(commands(20_000, tick)) })
	s.tick(time.Hour)
	start := s.now
	s.run(2*time.Second, func(tick time.Duration) { s.steady(20_000, 20_000, tick) })
	s.wantPromoted(7, start, time.Second)
}

// On a machine without load nothing is hot, a promoted key cools, and the rates are 0.
func TestAnIdleMachine(t *testing.T) {
	s := newSim(t, DefaultConfig(), 2, 1)
	s.run(2*time.Second, func(tick time.Duration) { s.steady(40_000, 20_000, tick) })
	s.wantOnly([]uint64{7}, nil)
	idle := s.now
	s.run(time.Minute, func(time.Duration) {})
	last := s.events[len(s.events)-1]
	if len(s.events) != 2 || last.promote || last.at-idle < 10*time.Second || last.at-idle > 12*time.Second {
		t.Errorf("idle since %v: %v", idle, s.events)
	}
	if top, st := s.d.Top(10), s.d.Stats(); len(top) != 0 || st.CommandRate != 0 || st.Tracked != 0 {
		t.Errorf("top %v, stats %+v", top, st)
	}
	k := keyOfID(7)
	if rate, err := s.d.Rate(0, k.Hash, []byte(k.Name)); rate != 0 || err != 0 {
		t.Errorf("rate %v, error %v", rate, err)
	}
	idle = s.now
	s.run(3*time.Second, func(tick time.Duration) { s.steady(40_000, 20_000, tick) })
	s.wantPromoted(7, idle, time.Second)
}

// A tick that comes too soon, or from a clock that went back, does nothing and loses nothing.
func TestATickTooSoonDoesNothing(t *testing.T) {
	s := newSim(t, DefaultConfig(), 1, 1)
	start := s.now
	s.run(3*time.Second, func(tick time.Duration) {
		s.steady(40_000, 20_000, tick)
		for _, now := range []time.Duration{s.now, s.now - time.Hour, s.now + tick/4} {
			if p, d := s.d.Tick(now, s.hot); len(p)+len(d) != 0 {
				t.Errorf("%v after a tick: promote %v, demote %v", now-s.now, p, d)
			}
		}
	})
	s.wantPromoted(7, start, time.Second)
	s.wantExact()
}

// A key that begins at once, at any place between two ticks, is promoted within a window and a tick
// if it is a tenth above the threshold, and within half a second if it is five times that fast.
func TestAnAbruptBeginning(t *testing.T) {
	cfg := DefaultConfig()
	for _, c := range []struct {
		rate  float64
		limit time.Duration
	}{{11_000, cfg.Window + cfg.Tick}, {50_000, cfg.Window / 2}, {1e6, cfg.Tick}} {
		for part := range time.Duration(4) {
			s := newSim(t, cfg, 1, uint64(part))
			s.run(2*time.Second, func(tick time.Duration) { s.background(commands(50_000, tick)) })
			offset := cfg.Tick * part / 4
			start := s.now + offset
			s.background(commands(50_000, offset))
			s.steady(c.rate, 50_000, cfg.Tick-offset)
			for s.tick(cfg.Tick); s.now < start+3*time.Second; s.tick(cfg.Tick) {
				s.steady(c.rate, 50_000, cfg.Tick)
			}
			s.wantPromoted(7, start, c.limit+cfg.Tick)
		}
	}
}
