package hotkeys

import (
	"bytes"
	"cmp"
	"slices"
	"time"
)

// Entry is a key's rate in the last window: at least Rate-d and at most Rate+Err commands per
// second, where d, two standard deviations of the sampling, is part of Err. The rest of Err is what
// the sketches may have missed.
type Entry struct {
	Key
	Rate, Err float64
}

// Top returns the n fastest keys of the last window, fastest first. It knows the keys that have about
// 1/Config.Entries of a loop's commands, and of a small load all.
func (d *Detector) Top(n int) []Entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := &d.window
	order := make([]*count, len(w.counts))
	for i := range order {
		order[i] = &w.counts[i]
	}
	slices.SortFunc(order, func(a, b *count) int {
		return cmp.Or(cmp.Compare(b.low, a.low), bytes.Compare(w.raw(a), w.raw(b)))
	})
	order = order[:min(max(n, 0), len(order))]
	top := make([]Entry, len(order))
	for i, c := range order {
		rate, err := w.rate(c)
		top[i] = Entry{keyOf(c.id, w.raw(c)), rate, err}
	}
	return top
}

// Rate returns a key's rate in the last window and its error, as Entry has them; 0 and what may have
// been missed for a key that was not noticed. h is the key's hash.
func (d *Detector) Rate(db int, h uint64, key []byte) (rate, err float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.window.tally.find(idOf(db, h))
	if c != nil && !bytes.Equal(d.window.raw(c)[dbBytes:], key) {
		c = nil
	}
	return d.window.rate(c)
}

// Stats says what the detector saw and what it cost.
type Stats struct {
	Commands    uint64        // up to the last sample of each loop
	Samples     uint64        // runs of commands that were looked at; Samples/Commands is the share
	SampleTime  time.Duration // in samples, by one in 256 that was timed; the countdown not included
	Ticks       uint64
	TickTime    time.Duration
	CommandRate float64 // commands per second in the last window
	Tracked     int     // keys with a rate in the last window
}

// Stats returns the figures of all time, but for the last two.
func (d *Detector) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	st := Stats{Ticks: d.ticks, TickTime: d.tickTime, Tracked: len(d.window.counts)}
	if d.window.covered > 0 {
		st.CommandRate = float64(d.window.commands) / d.window.covered.Seconds()
	}
	for _, s := range d.samplers {
		s.mu.Lock()
		st.Commands += s.mu.total
		st.Samples += s.mu.samples
		st.SampleTime += s.mu.spent * timedShare
		s.mu.Unlock()
	}
	return st
}
