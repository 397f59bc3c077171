package soak

import "sync/atomic"

// maxHot bounds how many increments of the hot key one cycle checks for repetition.
const maxHot = 1 << 26

// hot is what is known of the key that all writers increment by 1.
type hot struct {
	base int64 // its value when the cycle began; set while no writer runs
	sent atomic.Int64
	// given has a bit for each value above base that was answered. The writers set them.
	given []atomic.Uint64
}

func newHot() *hot { return &hot{given: make([]atomic.Uint64, maxHot/64)} }

// begin starts a cycle with the value that the key has now.
func (h *hot) begin(value int64) {
	h.base = value
	h.sent.Store(0)
	for i := range h.given {
		h.given[i].Store(0)
	}
}

// take notes that value was answered and says whether it may have been: within what was sent, and not
// answered before.
func (h *hot) take(value int64) bool {
	i := value - h.base - 1
	if i < 0 || i >= h.sent.Load() {
		return false
	}
	if i >= maxHot {
		return true
	}
	bit := uint64(1) << (i % 64)
	return h.given[i/64].Or(bit)&bit == 0
}
