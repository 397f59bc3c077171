package hotkeys

import (
	"math"
	"time"
)

// period is what all loops saw between two ticks.
type period struct {
	tally
	elapsed  time.Duration
	commands uint64
	bound    uint64 // the most that a key without a count may have had
	rare     uint64 // the most that may have been counted for it
}

// pruneShare: what has less than this part of a sketch's guarantee, of Total/Entries, is dropped
// before it costs anything. At the defaults that is one command in 4096, a tenth of the share that
// keeps a key warm.
const pruneShare = 8

// begin empties p for a period of this length.
func (p *period) begin(elapsed time.Duration) {
	p.reset()
	p.elapsed, p.commands, p.bound, p.rare = elapsed, 0, 0, 0
}

// add merges what one loop saw.
func (p *period) add(t taken) {
	p.commands += t.commands
	if t.table.Len() == 0 {
		return
	}
	rare := t.table.Total() / uint64(t.table.Cap()) / pruneShare
	bound := t.table.Min() + rare
	p.bound += bound
	p.rare += rare
	perCommand := float64(t.maxN - 1) // Bernoulli: n commands of weight N vary by n(N-1)
	t.table.Each(func(raw []byte, id, n, over uint64) {
		if low := n - over; low > rare {
			p.tally.add(raw, count{
				id: id, low: low, over: over, bound: bound, variance: float64(low) * perCommand,
			})
		}
	})
}

// end drops what turned out to be rare among all loops. Nothing may be added then.
func (p *period) end() {
	kept := p.counts[:0]
	for _, c := range p.counts {
		if c.low > p.rare {
			c.bound += p.rare
			kept = append(kept, c)
		}
	}
	p.counts = kept
	p.bound += p.rare
}

// window is the sum of the newest periods that cover Config.Window.
type window struct {
	tally
	covered  time.Duration
	commands uint64
	bound    uint64
}

// slack is which part of a tick a window may lack. Ticks are never quite on time.
const slack = 16

// sum makes w the sum of periods, newest first, as far as the configured window goes. Where a tick
// was so late that its period is a window by itself, how its commands were spread is not known: it
// is not mixed with others, and the next window begins after it, as the first does.
func (w *window) sum(periods []*period, cfg *Config) {
	w.reset()
	w.covered, w.commands, w.bound = 0, 0, 0
	for i, p := range periods {
		if w.covered >= cfg.Window-cfg.Tick/slack || (i > 0 && p.elapsed > cfg.Window) {
			break
		}
		w.covered += p.elapsed
		w.commands += p.commands
		w.bound += p.bound
		for j := range p.counts {
			c := &p.counts[j]
			w.tally.add(p.raw(c), *c)
		}
	}
}

// rate is what is known of a key: at least so many commands per second, and by how much it may be
// wrong: the sketches' bounds and two standard deviations of the sampling. c may be nil, for a key
// without a count.
func (w *window) rate(c *count) (rate, err float64) {
	if w.covered <= 0 {
		return 0, 0
	}
	seconds := w.covered.Seconds()
	if c == nil {
		return 0, float64(w.bound) / seconds
	}
	low, over := float64(c.low), float64(c.over+w.bound-c.bound)
	return low / seconds, (over + 2*math.Sqrt(c.variance)) / seconds
}
