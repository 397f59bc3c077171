package server

import "time"

// A moderator decides when a busy loop that found few of its clients ready takes a short nap before it
// looks again, as a network card moderates its interrupts. Clients that share a machine or a network
// come in trickles: each reply wakes one, whose next command wakes the loop. Twice as many a turn save
// a sixth of the CPU per command at P=1 and let the clients work in larger batches too, so that they
// get more done. A loop that is not busy never naps, since there a nap would only add to latency.
//
// Figures, 50 connections of redis-benchmark on the same two cores, without a log: CPU per INCRBY 6.7,
// 0.45, 0.15 µs at P=1, 16, 64 without naps, 5.7, 0.39, 0.135 with naps of 45 µs from 0.60 on; commands a second
// 110 k, 1.65 M, 5.3 M without, 119 k, 1.76 M, 5.5 M with. Where system calls are dearer (medians of five): CPU
// 12.2, 0.69, 0.223 µs with those, and 10.1, 0.51, 0.150 with the present ones; 56 k and 57 k, 855 k and 1.01 M,
// 2.87 M and 3.37 M commands a second. Naps of 200 µs hold up a dozen clients at P=16 by an eighth.
type moderator struct {
	window      int           // number of the present window
	windowStart time.Duration // by the process's clock
	busy        time.Duration // in turns, in this window
	seen        int           // clients heard in this window

	on     bool // the last window was busy
	active int  // clients heard in it
}

const (
	// moderateWindow is how long the load is measured.
	moderateWindow = 2 * time.Millisecond
	// Naps begin above moderateAbove of the time spent in turns and end below moderateBelow; the time in turns
	// is less with them. A loop that serves half of what it can is below the first.
	moderateAbove, moderateBelow = 0.40, 0.25
	// moderateNap is about what a few clients need to send their next commands.
	moderateNap = 100 * time.Microsecond
	// minModerated is how many clients a turn must have heard: one or two may be all there are.
	minModerated = 3
)

// heard notes that a client sent something in this window.
func (m *moderator) heard(s *Session) {
	if s.heardIn != m.window {
		s.heardIn = m.window
		m.seen++
	}
}

// turn is told of a turn that heard n clients, and reports whether the loop should nap. It does not
// where it has heard half of the active clients: the others may all be waiting for something else.
func (m *moderator) turn(n int, start, end time.Duration) bool {
	m.busy += end - start
	if length := end - m.windowStart; length >= moderateWindow {
		load := float64(m.busy) / float64(length)
		m.on = load > moderateAbove || m.on && load > moderateBelow
		m.active = m.seen
		m.window++
		m.windowStart, m.busy, m.seen = end, 0, 0
	}
	return m.on && n >= minModerated && 2*n < m.active
}
