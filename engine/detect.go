package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"countd/hotkeys"
	"countd/shards"
)

// detection promotes what is hot and demotes what has cooled.
type detection struct {
	*hotkeys.Detector
	mu sync.Mutex // one tick at a time

	promotions, demotions atomic.Int64
	// changed wakes the loop when the settings have changed, so that a new tick counts at once.
	changed chan struct{}

	reset struct {
		sync.Mutex
		at    time.Duration // of the last ResetStats, by sinceStart
		stats hotkeys.Stats // at that time
	}
}

// init makes d ready for the loop.
func (d *detection) init(detector *hotkeys.Detector) {
	d.Detector = detector
	d.changed = make(chan struct{}, 1)
	d.reset.at = sinceStart()
}

// HotKey is a key that takes many commands.
type HotKey struct {
	DB  int
	Key []byte
	// Rate is in commands per second over the detector's window, and not known better than Err.
	Rate, Err float64
	Promoted  bool
	Cells     int // of a promoted counter
}

// HotConfig is the detector's settings.
type HotConfig = hotkeys.Config

// HotStats says how the detector is doing. What is counted is counted since the engine was opened
// or ResetStats was called.
type HotStats struct {
	Promoted              int // now
	Promotions, Demotions int64
	CommandRate           float64 // of commands with a key, per second
	Detector              hotkeys.Stats
	Counted               time.Duration // how long has been counted
	Config                HotConfig
}

// CostShare is which part of one core the detector took.
func (s *HotStats) CostShare() float64 {
	if s.Counted <= 0 {
		return 0
	}
	return (s.Detector.SampleTime + s.Detector.TickTime).Seconds() / s.Counted.Seconds()
}

// ConfigureHot changes the detector's settings; the error says what is wrong with them.
func (e *Engine) ConfigureHot(cfg HotConfig) error {
	if err := e.detect.Configure(cfg); err != nil {
		return err
	}
	select {
	case e.detect.changed <- struct{}{}:
	default: // it is awake already
	}
	return nil
}

// detectLoop calls the detector on its tick.
func (e *Engine) detectLoop() {
	defer e.bg.Done()
	for {
		select {
		case <-e.quit:
			return
		case <-e.detect.changed:
		case <-time.After(e.detect.Config().Tick):
			e.detectNow(sinceStart())
		}
	}
}

// detectNow is one tick of the detector.
func (e *Engine) detectNow(now time.Duration) {
	e.detect.mu.Lock()
	defer e.detect.mu.Unlock()
	var hot []hotkeys.Key
	e.eachTable(func(db int, t *shards.Table) {
		for _, h := range t.Hots() {
			hot = append(hot, hotkeys.Key{DB: db, Hash: uint64(h.Hash()), Name: string(h.Key())})
		}
	})
	promote, demote := e.detect.Tick(now, hot)
	for _, k := range promote {
		if e.promote(k.DB, []byte(k.Name)) {
			e.detect.promotions.Add(1)
		}
	}
	for _, k := range demote {
		if e.demote(k.DB, []byte(k.Name)) {
			e.detect.demotions.Add(1)
		}
	}
}

// rollLoop refreshes the rolled-up totals, so often that a read finds one within the bound.
func (e *Engine) rollLoop() {
	defer e.bg.Done()
	for {
		next := rollIdle
		e.eachTable(func(_ int, t *shards.Table) {
			for _, h := range t.Hots() {
				if stale := h.Options().Stale; stale > 0 {
					h.RollUp(sinceStart())
					next = min(next, max(stale/rollsPerStaleness, minRoll))
				}
			}
		})
		select {
		case <-e.quit:
			return
		case <-time.After(next):
		}
	}
}

// A roll-up comes rollsPerStaleness times within the bound, but not more often than every minRoll;
// without any counter that wants one the loop looks every rollIdle.
const (
	rollsPerStaleness = 3
	minRoll           = time.Millisecond
	rollIdle          = 250 * time.Millisecond
)

// HotKeys returns the n keys that take the most commands, fastest first.
func (e *Engine) HotKeys(n int) []HotKey {
	var keys []HotKey
	for _, k := range e.detect.Top(n) {
		hk := HotKey{DB: k.DB, Key: []byte(k.Name), Rate: k.Rate, Err: k.Err}
		if t := e.tables[k.DB].Load(); t != nil {
			if h := t.Hot(shards.Hash(k.Hash), hk.Key); h != nil {
				hk.Promoted, hk.Cells = true, h.Options().Cells
			}
		}
		keys = append(keys, hk)
	}
	return keys
}

// HotStats returns the detector's statistics.
func (e *Engine) HotStats() HotStats {
	s := HotStats{
		Promotions: e.detect.promotions.Load(),
		Demotions:  e.detect.demotions.Load(),
		Config:     e.detect.Config(),
	}
	s.Detector, s.Counted = e.detect.counted()
	s.CommandRate = s.Detector.CommandRate
	e.eachTable(func(_ int, t *shards.Table) { s.Promoted += len(t.Hots()) })
	return s
}

// counted returns the detector's statistics since the last reset, and how long ago that was.
func (d *detection) counted() (hotkeys.Stats, time.Duration) {
	d.reset.Lock()
	defer d.reset.Unlock()
	s, base := d.Stats(), &d.reset.stats
	s.Commands -= base.Commands
	s.Samples -= base.Samples
	s.SampleTime -= base.SampleTime
	s.Ticks -= base.Ticks
	s.TickTime -= base.TickTime
	return s, sinceStart() - d.reset.at
}

// resetStats begins the counts anew.
func (d *detection) resetStats() {
	d.reset.Lock()
	defer d.reset.Unlock()
	d.reset.stats, d.reset.at = d.Stats(), sinceStart()
	d.promotions.Store(0)
	d.demotions.Store(0)
}

// ShardsOf is what CNT.SHARDS tells of a counter.
type ShardsOf struct {
	Value    int64
	Promoted bool
	Since    time.Time // of the promotion
	Relaxed  bool      // as its contract says
	Cells    []int64   // what each has counted since the promotion, or since it grew too large
	Base     int64     // the part of the value that no cell has counted
	// Drift is Value - Base - the sum of Cells, taken while the counter was closed: 0, or a defect.
	Drift int64
}

// Shards returns how the counter at key is kept; ok is false where there is no key. It is no use
// of the key for the detector.
//
// Errors: ErrNotInteger, or why the read may not be answered.
func (e *Engine) Shards(op *Op, key []byte) (s ShardsOf, ok bool, err error) {
	en := e.lockUnused(op, key)
	defer en.p.Unlock()
	switch {
	case en.r == 0:
		return s, false, e.see(&en, op)
	case en.p.Kind(en.r) != shards.Int:
		return s, false, e.orSeen(op, &en, ErrNotInteger)
	}
	s.Value = en.p.Int(en.r)
	s.Base = s.Value
	s.Relaxed = en.c != nil && en.c.Replies == RepliesRelaxed
	if h := en.p.HotOf(en.r); h != nil {
		s.Promoted, s.Since, s.Relaxed = true, h.Since(), h.Options().Relaxed
		s.Base, s.Cells, s.Drift = h.Cells()
	}
	return s, true, e.see(&en, op)
}
