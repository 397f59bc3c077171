package hotkeys

import (
	"math/rand/v2"
	"sync"
	"time"

	"countd/sketch"
)

// Detector merges what the Samplers see and decides which keys are hot. Its methods may be called by
// any goroutine; Tick is meant for one.
type Detector struct {
	mu sync.Mutex // guards everything below; a Sampler's lock may be taken under it

	cfg      Config
	samplers []*Sampler
	spare    *sketch.SpaceSaving // empty; goes to the next Sampler in exchange for its table
	seed     [2]uint64           // of the samplers' random numbers
	clock    func() time.Duration

	started  bool
	last     time.Duration // the time of the last tick
	periods  []*period     // newest first
	window   window
	held     map[Key]*held
	refused  map[Key]uint64 // candidates that were not promoted when named: the last tick that saw them
	decision decision
	ticks    uint64
	tickTime time.Duration
}

// New makes a detector.
func New(cfg Config) (*Detector, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	start := time.Now()
	return newDetector(cfg, rand.Uint64(), func() time.Duration { return time.Since(start) }), nil
}

// newDetector makes a detector whose random numbers come from seed. clock times its own work, and
// nothing else.
func newDetector(cfg Config, seed uint64, clock func() time.Duration) *Detector {
	return &Detector{
		cfg: cfg, seed: [2]uint64{seed, 0}, clock: clock,
		spare: sketch.New(cfg.Entries), held: map[Key]*held{}, refused: map[Key]uint64{},
	}
}

// Configure replaces the configuration. It takes effect with the next tick.
func (d *Detector) Configure(cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if cfg.Window != d.cfg.Window || cfg.Tick != d.cfg.Tick || cfg.Off {
		d.periods, d.window = nil, window{}
	}
	d.cfg = cfg
	return nil
}

// Config returns the configuration.
func (d *Detector) Config() Config {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cfg
}

// NewSampler makes the Sampler of one more event loop.
func (d *Detector) NewSampler() *Sampler {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seed[1]++
	s := newSampler(&d.cfg, rand.New(rand.NewPCG(d.seed[0], d.seed[1])), d.clock)
	d.samplers = append(d.samplers, s)
	return s
}

// Tick takes what the loops saw since the last tick and decides: promote are the keys that have
// become hot, the fastest first, demote those that have cooled or must make room. now is the time since
// some fixed instant by a clock that does not jump, hot the keys that are promoted at present: the
// detector does not assume that its advice was taken.
//
// It should be called every Config.Tick. If it is called late, rates are over the time that really
// passed; a call that comes sooner than half a tick after the last does nothing. The slices are valid
// until the next call.
func (d *Detector) Tick(now time.Duration, hot []Key) (promote, demote []Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	elapsed := now - d.last
	if d.started && elapsed < d.cfg.Tick/2 {
		return nil, nil
	}
	began := d.clock()
	defer func() {
		d.ticks++
		d.tickTime += d.clock() - began
	}()
	d.last = now
	if !d.started || d.cfg.Off {
		// What came before the first tick came in a time that is not known.
		d.started = true
		d.periods, d.window = nil, window{}
		d.collect(&period{elapsed: d.cfg.Tick})
		if d.cfg.Off {
			clear(d.held)
			clear(d.refused)
			d.decision.promote = nil
			return nil, hot
		}
		return nil, nil
	}
	d.collect(d.nextPeriod(elapsed))
	d.window.sum(d.periods, &d.cfg)
	return d.decide(hot, min(elapsed, d.cfg.Window))
}

// nextPeriod puts an empty period before the others and drops what no window will reach.
func (d *Detector) nextPeriod(elapsed time.Duration) *period {
	most := int(d.cfg.Window/(d.cfg.Tick/2)) + 2 // no period is shorter than half a tick
	var p *period
	if n := len(d.periods); n >= most {
		p = d.periods[n-1]
		d.periods = d.periods[:n-1]
	} else {
		p = &period{}
	}
	d.periods = append(d.periods, nil)
	copy(d.periods[1:], d.periods)
	d.periods[0] = p
	p.begin(elapsed)
	return p
}

// collect takes the samplers' tables and adds them to p.
func (d *Detector) collect(p *period) {
	for _, s := range d.samplers {
		if d.spare.Cap() != d.cfg.Entries {
			d.spare = sketch.New(d.cfg.Entries)
		}
		t := s.take(d.spare, &d.cfg, p.elapsed)
		p.add(t)
		t.table.Reset()
		d.spare = t.table
	}
	p.end()
}
