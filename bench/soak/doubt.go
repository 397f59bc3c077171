package soak

import (
	"fmt"
	"slices"
)

// entry is an acknowledged command that a crash may still lose.
type entry struct {
	key    uint32
	acked  millis
	before state // what the key held before it
}

// journal is the entries of the last while, oldest first, in a ring.
type journal struct {
	keep    millis // how long an entry stays; 0: nothing is kept
	entries []entry
	first   int // the oldest that may still be lost
	hotSafe int // increments of the hot key that are no longer in it; who begins a cycle sets it to 0
}

// add notes a command and forgets what is too old.
func (j *journal) add(e entry) {
	if j.keep == 0 {
		j.leave(e)
		return
	}
	for j.first < len(j.entries) && j.entries[j.first].acked+j.keep < e.acked {
		j.leave(j.entries[j.first])
		j.first++
	}
	if j.first > len(j.entries)/2 && j.first > 1024 {
		j.entries = j.entries[:copy(j.entries, j.entries[j.first:])]
		j.first = 0
	}
	j.entries = append(j.entries, e)
}

// leave notes that an entry can no longer be lost.
func (j *journal) leave(e entry) {
	if e.key == hotKey {
		j.hotSafe++
	}
}

// keepAll notes that no entry can be lost.
func (j *journal) keepAll() {
	for _, e := range j.take() {
		j.leave(e)
	}
}

// take returns all entries and empties the journal; they are valid until the next add.
func (j *journal) take() []entry {
	all := j.entries[j.first:]
	j.entries, j.first = j.entries[:0], 0
	return all
}

// doubt is what is not known of a writer's keys after a crash: of commands 0 to n-1 the first so many
// survived. Place p is the state after the first p of them.
type doubt struct {
	n      int
	acked  []entry // commands 0 to len(acked)-1; the others were not acknowledged
	hot    []int   // hot increments among the first p commands, for each place
	past   map[uint32]*past
	fitted []int // how many keys fit at each place; as differences until cut sums them up
}

// past is what a key may have been.
type past struct {
	steps []step
	seen  int64
	// When it was read.
	from, by millis
}

// step is what a key may hold from a place on, until the next step.
type step struct {
	place  int
	states []state
}

func (s step) String() string { return fmt.Sprintf("%v from place %d", s.states, s.place) }

// newDoubt makes the doubt of a writer whose table is as of the last reply: the acknowledged commands
// that may be lost, and those that were sent at sent and not acknowledged when the server was killed.
func newDoubt(table []state, acked []entry, pending []op, sent, killed millis) *doubt {
	d := &doubt{n: len(acked) + len(pending), acked: acked, past: map[uint32]*past{}}
	d.hot = make([]int, d.n+1)
	d.fitted = make([]int, d.n+2)
	last := func(key uint32) *step { // what it holds after all steps so far
		p := d.past[key]
		if p == nil {
			p = &past{steps: []step{{0, []state{table[key]}}}}
			d.past[key] = p
		}
		return &p.steps[len(p.steps)-1]
	}
	for i, e := range acked {
		d.hot[i+1] = d.hot[i]
		if e.key == hotKey {
			d.hot[i+1]++
			continue
		}
		last(e.key).states[0] = e.before
		p := d.past[e.key]
		p.steps = append(p.steps, step{i + 1, []state{table[e.key]}}) // until a later entry says
	}
	for i, o := range pending {
		place := len(acked) + i + 1
		d.hot[place] = d.hot[place-1]
		if o.kind == opHot {
			d.hot[place]++
			continue
		}
		var next []state
		for _, s := range last(o.key).states {
			next = o.outcomes(next, s, sent, killed)
		}
		next = distinct(next)
		p := d.past[o.key]
		p.steps = append(p.steps, step{place, next})
	}
	return d
}

// distinct removes repetitions. What is left is no more than one for each command of the batch: only a
// state that may have expired has two outcomes, and one of them has no expiry.
func distinct(states []state) []state {
	var out []state
	for _, s := range states {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// see notes that a key of the doubt was read between from and by, and returns whether it was ever like
// that.
func (d *doubt) see(p *past, value int64, from, by millis) bool {
	p.seen, p.from, p.by = value, from, by
	fits := false
	for i, s := range p.steps {
		if _, found := s.fitting(p); !found {
			continue
		}
		fits = true
		end := d.n + 1
		if i+1 < len(p.steps) {
			end = p.steps[i+1].place
		}
		d.fitted[s.place]++
		d.fitted[end]--
	}
	return fits
}

// fitting is the state of a step that was seen.
func (s step) fitting(p *past) (state, bool) {
	for _, st := range s.states {
		if st.fits(p.seen, p.from, p.by) {
			return st, true
		}
	}
	return state{}, false
}

// cut is the first and the last place at which all keys were as they were seen; found is false where
// there is none. Once, after all keys of the doubt were seen.
func (d *doubt) cut() (first, last int, found bool) {
	sum := 0
	for place := range d.n + 1 {
		sum += d.fitted[place]
		if sum != len(d.past) {
			continue
		}
		if !found {
			first, found = place, true
		}
		last = place
	}
	return first, last, found
}

// settle sets the keys of the doubt to what they were at a place of the cut.
func (d *doubt) settle(table []state, place int) {
	for key, p := range d.past {
		i := len(p.steps) - 1
		for p.steps[i].place > place {
			i--
		}
		table[key], _ = p.steps[i].fitting(p)
	}
}

// lost is how long before the kill the oldest command was acknowledged that is not at a place; 0 where
// none is lost.
func (d *doubt) lost(place int, killed millis) (n int, oldest millis) {
	if place >= len(d.acked) {
		return 0, 0
	}
	return len(d.acked) - place, killed - min(killed, d.acked[place].acked)
}
