package shards

// index maps 32 bits of hash to Refs: open addressing with linear probing, every slot in hash order.
//
// A slot is tag<<32 | ref; 0 is an empty slot (no record has Ref 0). The home of a tag is
// tag*homes/2^32, a monotone function, and a run of neighbouring slots is kept sorted by tag. So the
// occupied slots, read from left to right, are sorted. There is no wrap-around: slots behind the
// last home take what spills over.
//
// Tags of two keys may be equal; find lets the caller compare keys.
type index struct {
	slots []uint64
	homes uint64
	used  int
}

const (
	minHomes = 8
	spill    = 8 // slots behind the last home, at least
)

func slotTag(s uint64) uint32           { return uint32(s >> 32) }
func slotRef(s uint64) Ref              { return Ref(uint32(s)) }
func makeSlot(tag uint32, r Ref) uint64 { return uint64(tag)<<32 | uint64(r) }

func (x *index) home(tag uint32) int { return int(uint64(tag) * x.homes >> 32) }

// lowerBound returns the position of the first slot whose tag is at least tag, or of an empty slot
// or the end where a new slot with that tag may go.
func (x *index) lowerBound(tag uint32) int {
	i := x.home(tag)
	for i < len(x.slots) && x.slots[i] != 0 && slotTag(x.slots[i]) < tag {
		i++
	}
	return i
}

// insert adds a slot behind those with an equal tag.
func (x *index) insert(tag uint32, r Ref) {
	if uint64(x.used+1)*5 > x.homes*4 { // load above 0.8
		x.grow()
	}
	i := x.home(tag)
	for i < len(x.slots) && x.slots[i] != 0 && slotTag(x.slots[i]) <= tag {
		i++
	}
	s := makeSlot(tag, r)
	for s != 0 {
		if i == len(x.slots) {
			x.slots = append(x.slots, make([]uint64, spill)...)
		}
		s, x.slots[i] = x.slots[i], s
		i++
	}
	x.used++
}

// remove empties the slot at position i and closes the gap.
func (x *index) remove(i int) {
	for i+1 < len(x.slots) && x.slots[i+1] != 0 && x.home(slotTag(x.slots[i+1])) <= i {
		x.slots[i] = x.slots[i+1]
		i++
	}
	x.slots[i] = 0
	x.used--
}

// grow makes room for half as many slots again.
func (x *index) grow() { x.resize(max(minHomes, x.homes+x.homes/2)) }

// resize lays the slots out over another number of homes. Order is preserved, so one pass from left
// to right does it.
func (x *index) resize(homes uint64) {
	old := x.slots
	x.homes = homes
	x.slots = make([]uint64, homes+spill)
	next := 0
	for _, s := range old {
		if s == 0 {
			continue
		}
		next = max(next, x.home(slotTag(s)))
		for next >= len(x.slots) {
			x.slots = append(x.slots, make([]uint64, spill)...)
		}
		x.slots[next] = s
		next++
	}
}
