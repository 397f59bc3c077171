package hotkeys

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// held is what the detector remembers of a promoted key.
type held struct {
	key      Key
	cold     time.Duration // since when it has been below the demotion rate
	standing float64       // its rate, or a faster one of late; see decay
	tick     uint64        // the last tick that found it promoted
}

// newcomerFactor: where all places are taken, a key that is so many times faster than the slowest
// promoted one takes its place. That one then has to be as much faster to come back.
const newcomerFactor = 2

// candidate is a key above the promotion thresholds that is not promoted.
type candidate struct {
	key     Key
	rate    float64
	refused bool // named before, and not promoted
}

// decision is the room that decide works in.
type decision struct {
	promote, demote []Key
	held            []*held
	candidates      []candidate
}

// decide compares the rates of the window with the thresholds. A key is promoted when the commands
// that the window has of it would do over the whole of Config.Window, so that a short burst does not
// pass for a rate in a window that has only begun. It is demoted when it was below the lower
// thresholds for Config.Hold, in which passed counts for the period that ends now: after a late tick
// that is a window and no more.
//
// What was named for promotion and is not in hot was refused: not every key can be promoted. It is
// named again while places are free, but takes none from another.
func (d *Detector) decide(hot []Key, passed time.Duration) (promote, demote []Key) {
	r := &d.decision
	r.demote, r.held, r.candidates = r.demote[:0], r.held[:0], r.candidates[:0]
	d.judge(hot, passed)
	for _, k := range r.promote { // of the last tick
		if h := d.held[k]; h == nil || h.tick != d.ticks+1 {
			d.refused[k] = 0
		}
	}
	r.promote = r.promote[:0]
	d.findCandidates()
	d.forget()
	d.fill()
	return r.promote, r.demote
}

// judge divides what is hot into what is to be demoted and what is held.
func (d *Detector) judge(hot []Key, passed time.Duration) {
	w, cfg, r := &d.window, &d.cfg, &d.decision
	warm := max(cfg.DemoteRate, cfg.demoteShare()*float64(w.commands)/w.covered.Seconds())
	for _, k := range hot {
		h := d.hold(k)
		if h.tick == d.ticks+1 {
			continue // hot names it twice
		}
		h.tick = d.ticks + 1
		rate := 0.0
		if c := w.tally.find(idOf(k.DB, k.Hash)); c != nil {
			c.hot = true
			rate, _ = w.rate(c)
		}
		h.standing = max(rate, h.standing*decay(passed, cfg.Hold))
		if h.cold += passed; rate >= warm {
			h.cold = 0
		}
		if h.cold > 0 && h.cold >= cfg.Hold {
			r.demote = append(r.demote, k)
		} else {
			r.held = append(r.held, h)
		}
	}
}

// fill gives the places that are free to the candidates, and those of the slowest keys to such as are
// much faster.
func (d *Detector) fill() {
	r, places := &d.decision, d.cfg.MaxHot
	slices.SortFunc(r.held, func(a, b *held) int { return cmp.Compare(b.standing, a.standing) })
	for len(r.held) > places {
		d.demoteSlowest()
	}
	for _, c := range r.candidates {
		if len(r.held)+len(r.promote) >= places {
			if len(r.held) == 0 || c.refused ||
				c.rate < newcomerFactor*r.held[len(r.held)-1].standing {
				break
			}
			d.demoteSlowest()
		}
		r.promote = append(r.promote, c.key)
	}
}

// hold returns what is remembered of k.
func (d *Detector) hold(k Key) *held {
	h := d.held[k]
	if h == nil {
		h = &held{key: k}
		d.held[k] = h
	}
	return h
}

// forget drops what is remembered of keys that are no longer promoted, or no candidates any more.
func (d *Detector) forget() {
	for k, h := range d.held {
		if h.tick != d.ticks+1 {
			delete(d.held, k)
		}
	}
	for k, tick := range d.refused {
		if tick != d.ticks+1 {
			delete(d.refused, k)
		}
	}
}

func (d *Detector) demoteSlowest() {
	r := &d.decision
	last := len(r.held) - 1
	r.demote = append(r.demote, r.held[last].key)
	r.held = r.held[:last]
}

// findCandidates collects what is above the promotion thresholds and not promoted: what was never
// refused first, and of that the fastest.
func (d *Detector) findCandidates() {
	w, cfg, r := &d.window, &d.cfg, &d.decision
	least := max(cfg.PromoteRate*max(w.covered, cfg.Window).Seconds(), cfg.Share*float64(w.commands))
	for i := range w.counts {
		c := &w.counts[i]
		if c.hot || float64(c.low) < least {
			continue
		}
		n := candidate{key: keyOf(c.id, w.raw(c))}
		n.rate, _ = w.rate(c)
		if _, n.refused = d.refused[n.key]; n.refused {
			d.refused[n.key] = d.ticks + 1
		}
		r.candidates = append(r.candidates, n)
	}
	slices.SortFunc(r.candidates, func(a, b candidate) int {
		switch {
		case a.refused && !b.refused:
			return 1
		case b.refused && !a.refused:
			return -1
		default:
			return cmp.Compare(b.rate, a.rate)
		}
	})
}

// decay is by how much the memory of a fast time fades: by half in a quarter of hold, so that a key
// that pauses does not lose its place to a slower one.
func decay(passed, hold time.Duration) float64 {
	if hold <= 0 {
		return 0
	}
	return math.Exp2(-4 * passed.Seconds() / hold.Seconds())
}
