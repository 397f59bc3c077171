package hotkeys

// tally adds up what several tables counted for the same keys. It keeps its memory over resets.
//
// Keys are told apart by their ids alone: of 32,768 keys two have the same 64-bit keyed hash once in
// 3*10^10 times, and all that would come of it is a key that is promoted for another. Comparing the
// keys would take a third of the time, since each is another cache miss.
type tally struct {
	slots  []uint64 // open addressing by id: its upper half, and the place in counts plus 1
	counts []count
	arena  []byte // raw keys
}

// count is what is known of a key in some tables: in number of commands, between low and low+over in
// those that have the key, up to the sum of the tables' own bounds in the others.
type count struct {
	id       uint64
	low      uint64
	over     uint64
	bound    uint64  // the sum of the bounds of those tables that have the key
	variance float64 // of low, by the sampling
	at       int     // the raw key in the arena
	len      int
	hot      bool // promoted; see detector.decide
}

func (t *tally) reset() {
	clear(t.slots)
	t.counts, t.arena = t.counts[:0], t.arena[:0]
}

func (t *tally) raw(c *count) []byte { return t.arena[c.at : c.at+c.len] }

// find returns the count of a key, nil if it has none. It is valid until the next add.
func (t *tally) find(id uint64) *count {
	if len(t.slots) == 0 {
		return nil
	}
	mask := uint64(len(t.slots) - 1)
	for i := id & mask; t.slots[i] != 0; i = (i + 1) & mask {
		if s := t.slots[i]; s>>32 == id>>32 {
			if c := &t.counts[uint32(s)-1]; c.id == id {
				return c
			}
		}
	}
	return nil
}

// add adds what c says of the key whose raw form this is; it is copied.
func (t *tally) add(raw []byte, c count) {
	if old := t.find(c.id); old != nil {
		old.low += c.low
		old.over += c.over
		old.bound += c.bound
		old.variance += c.variance
		return
	}
	if 2*(len(t.counts)+1) > len(t.slots) {
		t.grow()
	}
	c.at, c.len = len(t.arena), len(raw)
	t.arena = append(t.arena, raw...)
	t.counts = append(t.counts, c)
	t.index(len(t.counts))
}

// grow doubles the index.
func (t *tally) grow() {
	t.slots = make([]uint64, max(1024, 2*len(t.slots)))
	for i := range t.counts {
		t.index(i + 1)
	}
}

// index enters the i-th count, from 1.
func (t *tally) index(i int) {
	mask := uint64(len(t.slots) - 1)
	id := t.counts[i-1].id
	at := id & mask
	for t.slots[at] != 0 {
		at = (at + 1) & mask
	}
	t.slots[at] = id>>32<<32 | uint64(i)
}
