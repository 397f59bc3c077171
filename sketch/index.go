package sketch

import "math/bits"

// index finds entries by hash: open addressing with linear probing, at most half full. The home of a
// hash is its low bits, the tag its top 16, so that hardly any entry is looked at in vain.
type index struct {
	slots []slot
	mask  uint64
}

// slot is tag<<16 | entry+1; 0 is an empty one.
type slot uint32

func makeSlot(hash uint64, e uint16) slot { return slot(tagOf(hash))<<16 | slot(e+1) }
func tagOf(hash uint64) uint16            { return uint16(hash >> 48) }
func (s slot) tag() uint16                { return uint16(s >> 16) }
func (s slot) entry() uint16              { return uint16(s) - 1 }

// newIndex makes an index for up to k entries.
func newIndex(k int) index {
	n := powerOfTwo(2 * k)
	return index{slots: make([]slot, n), mask: uint64(n - 1)}
}

// powerOfTwo is the least power of two that is at least n.
func powerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }

func (x *index) home(hash uint64) uint64 { return hash & x.mask }
func (x *index) next(i uint64) uint64    { return (i + 1) & x.mask }
func (x *index) clear()                  { clear(x.slots) }

// insert adds entry e, which must not be there.
func (x *index) insert(hash uint64, e uint16) {
	i := x.home(hash)
	for x.slots[i] != 0 {
		i = x.next(i)
	}
	x.slots[i] = makeSlot(hash, e)
}

// remove takes entry e out and moves back what stood behind it (Knuth, The Art of Computer
// Programming, vol. 3, 6.4, algorithm R): no slot is ever marked as deleted.
func (x *index) remove(entries []entry, e uint16) {
	want := makeSlot(entries[e].hash, e)
	i := x.home(entries[e].hash)
	for x.slots[i] != want {
		i = x.next(i)
	}
	for j := x.next(i); x.slots[j] != 0; j = x.next(j) {
		home := x.home(entries[x.slots[j].entry()].hash)
		if (j-home)&x.mask >= (j-i)&x.mask { // its home is not behind the gap
			x.slots[i] = x.slots[j]
			i = j
		}
	}
	x.slots[i] = 0
}
