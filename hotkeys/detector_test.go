package hotkeys

import (
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestConfigSaysWhatIsWrong(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	for _, c := range []struct {
		change func(c *Config)
		want   string
	}{
		{func(c *Config) { c.PromoteRate = 0 }, "promote rate"},
		{func(c *Config) { c.PromoteRate = math.NaN() }, "promote rate"},
		{func(c *Config) { c.PromoteRate = math.Inf(1) }, "promote rate"},
		{func(c *Config) { c.DemoteRate = 0 }, "demote rate"},
		{func(c *Config) { c.DemoteRate = math.NaN() }, "demote rate"},
		{func(c *Config) { c.DemoteRate = c.PromoteRate + 1 }, "demote rate"},
		{func(c *Config) { c.Share = -0.1 }, "share"},
		{func(c *Config) { c.Share = 1.1 }, "share"},
		{func(c *Config) { c.Share = math.NaN() }, "share"},
		{func(c *Config) { c.Tick = 0 }, "tick"},
		{func(c *Config) { c.Window = c.Tick - 1 }, "window"},
		{func(c *Config) { c.Window = 2 * time.Hour }, "window"},
		{func(c *Config) { c.Window = (MaxTicks + 1) * c.Tick }, "make the tick longer"},
		{func(c *Config) { c.Hold = -1 }, "hold"},
		{func(c *Config) { c.Samples = 10 }, "samples"},
		{func(c *Config) { c.Samples = MaxSamples + 1 }, "samples"},
		{func(c *Config) { c.Entries = 0 }, "entries"},
		{func(c *Config) { c.Entries = MaxEntries + 1 }, "entries"},
		{func(c *Config) { c.MaxHot = 0 }, "hot keys"},
		{func(c *Config) { c.MaxHot = MaxMaxHot + 1 }, "hot keys"},
	} {
		cfg := DefaultConfig()
		c.change(&cfg)
		_, err := New(cfg)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "hotkeys: ") {
			t.Errorf("%+v: error %v, want one about the %s", cfg, err, c.want)
		}
		d, _ := New(DefaultConfig())
		if cerr := d.Configure(cfg); cerr == nil || cerr.Error() != err.Error() || d.Config() != DefaultConfig() {
			t.Errorf("Configure: %v, want %v", cerr, err)
		}
	}
}

// 64 loops, each of which sees a 64th of a key that is hot in all, and one of a key of its own.
func Test64Loops(t *testing.T) {
	forSeeds(t, func(t *testing.T, seed uint64) {
		s := newSim(t, DefaultConfig(), 64, seed)
		start := s.now
		keys := zipfTape(s.rng, 1.1, 1e6)
		s.run(2*time.Second, func(tick time.Duration) {
			for range commands(1e6, tick) / (64 * 8) {
				for loop := range 64 {
					for range 6 {
						s.hit(loop, counted+keys.next(), 1)
					}
					s.hit(loop, 7, 1)
					s.hit(loop, 100+uint64(loop), 1)
				}
			}
		})
		var others []uint64
		for id := range uint64(10) {
			others = append(others, counted+id) // the fastest of the tape
		}
		for id := range uint64(64) {
			others = append(others, 100+id)
		}
		s.wantOnly([]uint64{7}, others)
		s.wantPromoted(7, start, time.Second)
		s.wantExact()
	})
}

// The same name is another key in another database, and long names are told apart to the last byte.
func TestKeysAreToldApart(t *testing.T) {
	d := newDetector(DefaultConfig(), 1, noClock)
	s := d.NewSampler()
	d.Tick(0, nil)
	long := strings.Repeat("k", MaxKeyBytes-1)
	keys := []Key{{0, 5, "a"}, {1, 5, "a"}, {1 << 30, 5, "a"}, {0, 6, "b"}, {3, 9, long + "x"}, {3, 10, long + "y"}, {0, 1, ""}}
	for i, k := range keys {
		for _, l := range keys[:i] {
			if idOf(k.DB, k.Hash) == idOf(l.DB, l.Hash) && k.DB != l.DB {
				t.Errorf("%.20v and %.20v have the same id", k, l)
			}
		}
	}
	for range 1000 {
		for i, k := range keys {
			s.Hit(k.DB, k.Hash, []byte(k.Name), 20+i)
		}
		s.Hit(0, 2, []byte(long+"xy"), 50) // too long to be tracked
	}
	promote, _ := d.Tick(time.Second, nil)
	slices.Reverse(promote) // fastest first
	if !slices.Equal(promote, keys) {
		t.Errorf("promoted %v", promote)
	}
	for i, k := range keys {
		want := float64(20+i) * 1000
		if rate, err := d.Rate(k.DB, k.Hash, []byte(k.Name)); math.Abs(rate-want) > err+0.05*want {
			t.Errorf("%.20v: rate %.0f ± %.0f, want %.0f", k, rate, err, want)
		}
	}
	top := d.Top(3)
	if len(top) != 3 || top[0].Key != keys[6] || top[2].Key != keys[4] || top[0].Rate < top[1].Rate {
		t.Errorf("top %.40v", top)
	}
	if len(d.Top(-1)) != 0 || len(d.Top(100)) != len(keys) {
		t.Errorf("Top(-1) has %d keys, Top(100) %d", len(d.Top(-1)), len(d.Top(100)))
	}
	if st := d.Stats(); math.Abs(st.CommandRate-211_000) > 10_000 {
		t.Errorf("%.0f commands per second, want 211000", st.CommandRate)
	}
}

// Where the places are few, the fastest keys get them; a newcomer must be twice as fast.
func TestMaxHot(t *testing.T) {
	cfg := DefaultConfig()
	cfg.MaxHot = 4
	s := newSim(t, cfg, 1, 1)
	load := func(factor float64) func(tick time.Duration) {
		return func(tick time.Duration) {
			for id := range uint64(10) {
				s.hit(0, id, commands(20e3+1e3*float64(id), tick))
			}
			s.hit(0, 20, commands(26e3*factor, tick))
		}
	}
	s.run(5*time.Second, load(0))
	s.wantOnly([]uint64{6, 7, 8, 9}, nil)
	s.run(5*time.Second, load(1.8))
	s.wantOnly([]uint64{6, 7, 8, 9}, nil)
	start := s.now
	s.run(5*time.Second, load(2.2))
	s.wantPromoted(20, start, 2*time.Second)
	s.wantOnly([]uint64{7, 8, 9, 20}, []uint64{6})

	cfg.MaxHot = 2 // lowered while four are hot
	if err := s.d.Configure(cfg); err != nil {
		t.Fatal(err)
	}
	s.run(time.Second, load(2.2))
	s.wantOnly([]uint64{9, 20}, []uint64{6, 7, 8})
}

// A promoted key that pauses keeps its place against one that is not much faster than it was.
func TestAPauseDoesNotCostAPlace(t *testing.T) {
	cfg := DefaultConfig()
	cfg.MaxHot = 1
	s := newSim(t, cfg, 1, 1)
	s.run(2*time.Second, func(tick time.Duration) { s.hit(0, 1, commands(20e3, tick)) })
	for range 10 {
		s.run(1500*time.Millisecond, func(tick time.Duration) { s.hit(0, 2, commands(20e3, tick)) })
		s.run(2*time.Second, func(tick time.Duration) { s.hit(0, 1, commands(20e3, tick)) })
	}
	s.wantOnly([]uint64{1}, nil)
}

// The detector advises; what its caller did not do, or did by itself, it takes as it is.
func TestHotIsWhatTheCallerSays(t *testing.T) {
	s := newSim(t, DefaultConfig(), 1, 1)
	load := func(tick time.Duration) { s.steady(30e3, 20e3, tick) }
	for i := range 5 { // the caller promotes nothing
		load(s.d.cfg.Tick)
		s.now += s.d.cfg.Tick
		promote, demote := s.d.Tick(s.now, nil)
		if want := i >= 1; slices.Equal(promote, []Key{keyOfID(7)}) != want || len(demote) != 0 {
			t.Errorf("tick %d: promote %v, demote %v", i, promote, demote)
		}
	}
	// The caller says that 8 is hot, and says it twice: it cools from now on.
	cold := 0
	for i := range 60 {
		load(s.d.cfg.Tick)
		s.now += s.d.cfg.Tick
		_, demote := s.d.Tick(s.now, []Key{keyOfID(7), keyOfID(8), keyOfID(8)})
		if len(demote) > 0 && cold == 0 {
			if cold = i + 1; !slices.Equal(demote, []Key{keyOfID(8)}) {
				t.Errorf("demote %v", demote)
			}
		}
	}
	if cold != 40 {
		t.Errorf("demoted with tick %d, want 40, after 10 seconds", cold)
	}
	if len(s.d.held) != 2 {
		t.Errorf("%d keys are remembered, want 2", len(s.d.held))
	}
	load(s.d.cfg.Tick)
	s.now += s.d.cfg.Tick
	if s.d.Tick(s.now, nil); len(s.d.held) != 0 {
		t.Errorf("%d keys are remembered, want none", len(s.d.held))
	}
}

// A key that cannot be promoted, however fast, takes no place from one that can.
func TestARefusedKeyTakesNoPlace(t *testing.T) {
	cfg := DefaultConfig()
	cfg.MaxHot = 1
	s := newSim(t, cfg, 1, 1)
	can, cannot := keyOfID(1), keyOfID(2)
	var hot []Key
	promotions, displaced := 0, 0
	tick := func(rate float64) {
		s.hit(0, 1, commands(20e3, cfg.Tick))
		s.hit(0, 2, commands(rate, cfg.Tick))
		s.now += cfg.Tick
		promote, demote := s.d.Tick(s.now, hot)
		hot = slices.DeleteFunc(hot, func(k Key) bool { return slices.Contains(demote, k) })
		displaced += len(demote)
		for _, k := range promote {
			if k == can {
				hot = append(hot, k)
				promotions++
			} else if k != cannot {
				t.Fatalf("promote %v", k)
			}
		}
	}
	for range 100 {
		tick(100e3)
	}
	if promotions != 1 || displaced != 0 || len(hot) != 1 {
		t.Errorf("%d promotions, %d times displaced, hot %v", promotions, displaced, hot)
	}
	for range 10 {
		tick(0)
	}
	if len(s.d.refused) != 0 {
		t.Errorf("%d refusals are remembered", len(s.d.refused))
	}
	for range 100 { // after a pause it is tried once more
		tick(100e3)
	}
	if promotions != 2 || displaced != 1 || len(hot) != 1 {
		t.Errorf("%d promotions, %d times displaced, hot %v", promotions, displaced, hot)
	}
}

func TestOff(t *testing.T) {
	cfg := DefaultConfig()
	s := newSim(t, cfg, 2, 1)
	load := func(tick time.Duration) { s.steady(400e3, 20e3, tick) }
	s.run(2*time.Second, load)
	s.wantOnly([]uint64{7}, nil)
	cfg.Off = true
	if err := s.d.Configure(cfg); err != nil {
		t.Fatal(err)
	}
	s.run(s.d.cfg.Tick, load)
	if len(s.hot) != 0 || len(s.d.Top(10)) != 0 {
		t.Errorf("hot %v, top %v", s.hot, s.d.Top(10))
	}
	s.run(2*time.Second, load)
	samples := s.d.Stats().Samples
	s.run(2*time.Second, load)
	if got := s.d.Stats().Samples; got != samples || len(s.events) != 2 {
		t.Errorf("%d samples while off, %v", got-samples, s.events)
	}
	cfg.Off = false
	if err := s.d.Configure(cfg); err != nil {
		t.Fatal(err)
	}
	start := s.now
	s.run(5*time.Second, func(tick time.Duration) {
		load(tick)
		// What came while it was off is no part of any rate.
		if rate := s.d.Stats().CommandRate; rate > 450e3 {
			t.Errorf("%.0f commands per second, want 420000", rate)
		}
	})
	s.wantPromoted(7, start, 3*time.Second)
}

// A detector that is configured anew while it runs, also to sketches and windows of another size, goes
// on.
func TestConfigureWhileItRuns(t *testing.T) {
	s := newSim(t, DefaultConfig(), 2, 1)
	load := func(tick time.Duration) { s.steady(40e3, 200e3, tick) }
	for _, change := range []func(c *Config){
		func(c *Config) { c.Entries = 64 },
		func(c *Config) { c.Window, c.Tick = 3*time.Second, 500*time.Millisecond },
		func(c *Config) { c.Entries, c.Samples = 1000, 20_000 },
		func(c *Config) { c.Window, c.Tick = 100*time.Millisecond, 100*time.Millisecond },
	} {
		cfg := DefaultConfig()
		change(&cfg)
		if err := s.d.Configure(cfg); err != nil {
			t.Fatal(err)
		}
		s.past = nil
		s.run(5*time.Second, load)
		s.wantOnly([]uint64{7}, nil)
	}
	s.wantExact()
}

// TestTicksDoNotAllocate: once warm, a tick of many loops takes no memory but for the names that it
// returns.
func TestTicksDoNotAllocate(t *testing.T) {
	s := newSim(t, DefaultConfig(), 8, 1)
	now, hot := s.now, []Key{keyOfID(7), keyOfID(8)}
	tick := func() {
		for range 2000 {
			for loop := range s.loops {
				s.hit(loop, s.rng.Uint64N(1000), 1)
				s.hit(loop, 7, 1)
			}
		}
		now += s.d.cfg.Tick
		s.d.Tick(now, hot)
	}
	for range 20 {
		tick()
	}
	if a := testing.AllocsPerRun(20, tick); a > 0 {
		t.Errorf("%v allocations for a tick", a)
	}
}

// TestConcurrentUse has loops hit, one goroutine tick and others ask, for the race detector; no
// command may get lost.
func TestConcurrentUse(t *testing.T) {
	d, err := New(DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	const loops, hits = 4, 50_000
	var loopsDone, others sync.WaitGroup
	stop := make(chan struct{})
	for loop := range loops {
		s := d.NewSampler()
		loopsDone.Go(func() {
			for i := range hits {
				s.Hit(loop%2, uint64(i%7), []byte{byte(i % 7)}, 1)
			}
		})
	}
	whileRunning := func(f func(i int)) {
		others.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					f(i)
				}
			}
		})
	}
	var now time.Duration
	whileRunning(func(int) { now += time.Second; d.Tick(now, []Key{{Name: "x"}}) })
	whileRunning(func(int) { d.Top(3); d.Rate(0, 1, []byte{1}) })
	whileRunning(func(i int) {
		cfg := DefaultConfig()
		cfg.Entries = 32 + i%2
		if err := d.Configure(cfg); err != nil {
			t.Error(err)
		}
		d.Stats()
	})
	loopsDone.Wait()
	close(stop)
	others.Wait()
	st := d.Stats()
	for _, s := range d.samplers {
		st.Commands += uint64(s.drawn - s.countdown)
	}
	if st.Commands != loops*hits {
		t.Errorf("%d commands, want %d", st.Commands, loops*hits)
	}
}

// A key that was not noticed has the rate 0, and at most its error.
func TestTheErrorOfAnUnnoticedKey(t *testing.T) {
	s := newSim(t, DefaultConfig(), 2, 1)
	rare := []byte("rare")
	s.run(3*time.Second, func(tick time.Duration) {
		for i := range commands(2e6, tick) {
			s.hit(i%2, counted+s.rng.Uint64N(1e6), 1)
		}
		s.loops[0].Hit(0, 99, rare, 10)
	})
	if rate, err := s.d.Rate(0, 99, rare); rate > 40 || err < 40 || err > 20e3 {
		t.Errorf("rate %.0f, error %.0f, truth 40", rate, err)
	}
}
