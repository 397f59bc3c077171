package hotkeys

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"countd/sketch"
)

// Sampler samples the commands of one event loop: each command with the probability 1/N,
// independently of all others, so that no rhythm of a load can hide from it. A sampled command
// stands for N. N follows the load, such that about Config.Samples are taken per second.
//
// One goroutine at a time calls Hit. Tick takes the table from another, under mu, which Hit takes
// only for a sample. A nil Sampler does nothing.
type Sampler struct {
	countdown int64 // commands until the next sample
	drawn     int64 // what countdown was when it was drawn
	weight    uint64
	raw       []byte // room for a raw key
	rng       *rand.Rand
	clock     func() time.Duration

	mu struct {
		sync.Mutex
		off     bool
		table   *sketch.SpaceSaving // since the last tick
		n       uint64              // a sample's weight now
		maxN    uint64              // the largest weight in table
		scale   float64             // draws gaps for n, see setN
		left    int                 // samples until n is doubled
		refill  int                 // and then until it is doubled again
		tick    uint64              // commands since the last tick
		total   uint64              // commands of all time
		samples uint64              // of all time
		spent   time.Duration       // by the samples that were timed
	}
	_ [128]byte // another loop's Sampler may be the neighbour
}

const (
	// maxWeight bounds N.
	maxWeight = 1 << 30
	// offGap is after how many commands a Sampler that is off looks whether it still is.
	offGap = 1 << 16
	// timedShare: one sample in so many is timed.
	timedShare = 256
	// maxTimed is what a sample, or to read the clock, may take; if more, it was interrupted, which is
	// not its cost.
	maxTimed = 20 * time.Microsecond
)

func newSampler(cfg *Config, rng *rand.Rand, clock func() time.Duration) *Sampler {
	s := &Sampler{
		countdown: 1, drawn: 1, weight: 1,
		raw: make([]byte, 0, sketch.MaxKeyBytes), rng: rng, clock: clock,
	}
	s.mu.table = sketch.New(cfg.Entries)
	s.configureLocked(cfg)
	s.setN(1)
	return s
}

// Hit counts n commands on key of database db, whose hash is h; n may be 0. The key is not kept.
func (s *Sampler) Hit(db int, h uint64, key []byte, n int) {
	if s == nil {
		return
	}
	if s.countdown -= int64(n); s.countdown <= 0 {
		s.sample(db, h, key)
	}
}

// sample ends a countdown. The command with which it came to 0 is a sample, and -countdown commands
// of the same run came after it. Since every command is sampled independently, anything that is right
// on average may be counted for those: their number rounded down to a multiple of N as it is, and of
// the rest what further draws select.
func (s *Sampler) sample(db int, h uint64, key []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &s.mu
	rest := uint64(-s.countdown)
	commands := uint64(s.drawn) + rest
	m.total += commands
	if m.off {
		s.countdown, s.drawn, s.weight = offGap, offGap, 0
		return
	}
	m.samples++
	timed := m.samples%timedShare == 0
	var t0, t1 time.Duration
	if timed {
		t0, t1 = s.clock(), s.clock()
	}
	if s.weight != 0 { // it was on when the gap was drawn
		m.tick += commands
	} else {
		m.tick += rest
	}
	weight := s.weight + rest/m.n*m.n
	rest %= m.n
	if m.left--; m.left <= 0 {
		m.left = m.refill
		s.setN(m.n * 2)
	}
	m.maxN = max(m.maxN, m.n, s.weight)
	gap := s.gap()
	for ; gap <= rest; gap = s.gap() {
		rest -= gap
		weight += m.n
	}
	s.countdown = int64(gap - rest)
	s.drawn, s.weight = s.countdown, m.n
	if weight > 0 && len(key) <= MaxKeyBytes {
		s.raw = appendRaw(s.raw[:0], db, key)
		m.table.Add(idOf(db, h), s.raw, weight)
	}
	if timed { // less the time it takes to read the clock
		if reading, t := t1-t0, s.clock()-t1; reading < maxTimed && t-reading < maxTimed {
			m.spent += max(t-reading, 0)
		}
	}
}

// gap draws how many commands on the next sample is. It has the geometric distribution of success
// 1/n: the part before the point of a number that is exponential with mean scale.
func (s *Sampler) gap() uint64 { return 1 + uint64(s.rng.ExpFloat64()*s.mu.scale) }

// setN sets the weight of the samples to come: P(gap > g) = exp(-g/scale) = (1-1/n)^g. For n = 1
// scale is 0 and every gap 1.
func (s *Sampler) setN(n uint64) {
	s.mu.n = min(max(n, 1), maxWeight)
	s.mu.scale = -1 / math.Log1p(-1/float64(s.mu.n))
}

// configureLocked takes over what of the configuration is the Sampler's.
func (s *Sampler) configureLocked(cfg *Config) {
	s.mu.off = cfg.Off
	s.mu.left = cfg.tickBudget()
	s.mu.refill = max(s.mu.left/4, 1)
}

// taken is what a Sampler saw between two ticks.
type taken struct {
	table    *sketch.SpaceSaving
	commands uint64
	maxN     uint64 // the largest weight of a sample
}

// take gives the Sampler an empty table, returns the full one, and adapts N to the commands that came
// in elapsed.
func (s *Sampler) take(empty *sketch.SpaceSaving, cfg *Config, elapsed time.Duration) taken {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &s.mu
	got := taken{table: m.table, commands: m.tick, maxN: max(m.maxN, 1)}
	m.table = empty
	perSecond := float64(m.tick) / elapsed.Seconds()
	s.setN(uint64(math.Ceil(min(perSecond/float64(cfg.Samples), maxWeight))))
	m.tick, m.maxN = 0, 0
	s.configureLocked(cfg)
	return got
}
