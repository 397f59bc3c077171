package shards

import "time"

// A rollUp is what all cells of a relaxed Hot held at an instant, so that a read costs the same whatever
// the number of cells. A reader adds what has come to his own cell since, and so always sees his own
// increments.
type rollUp struct {
	at    time.Duration
	state uint64 // it holds in this state only
	total int64  // base and all cells
	cells []int64
}

// RollUp refreshes the rolled-up total; it does nothing where the Hot is exact or not open. at is the
// time before the call. Only one goroutine at a time may call it.
func (h *Hot) RollUp(at time.Duration) {
	state := h.state.Load()
	if !h.opt.Relaxed || state&modeMask != modeOpen {
		return
	}
	r := &rollUp{at: at, state: state, total: h.base.Load(), cells: make([]int64, len(h.cells))}
	for i := range h.cells {
		v, ok := h.cells[i].load()
		if !ok {
			return
		}
		r.cells[i] = v
		r.total += v
	}
	h.roll.Store(r)
}

// stale returns the rolled-up total and the writer's own increments since. Where that is too old, or
// older than what the writer has read before, it adds up the cells: what one connection reads of a
// counter that only grows never falls.
func (h *Hot) stale(writer int, state uint64, at func() time.Duration) (v int64, ok bool) {
	i := writer % len(h.cells)
	c := &h.cells[i]
	if r := h.roll.Load(); r != nil && r.state == state && int64(r.at) >= c.freshAt.Load() && at()-r.at <= h.opt.Stale {
		own, ok := c.load()
		return r.total - r.cells[i] + own, ok && h.state.Load() == state
	}
	v, ok = h.sum(state)
	for now := int64(at()); ; { // after the sum, and never back
		old := c.freshAt.Load()
		if old >= now || c.freshAt.CompareAndSwap(old, now) {
			return v, ok
		}
	}
}
