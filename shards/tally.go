package shards

import "encoding/binary"

// A tally is what was added to an Int and what was taken from it, apart: ups and downs, both 0 or more.
// Their difference is the value's, since its value was last set (PutInt). Records without room for a
// tally, nearly all, have one of 0 and 0.

const tallyBytes = 16

func (a arena) tally(r Ref) []byte {
	o := headerBytes + room(a.flags(r)&flagExpiry)
	return a.at(r)[o : o+tallyBytes]
}

// Tally returns the tally of r.
func (p *Partition) Tally(r Ref) (ups, downs int64) {
	if !p.HasTally(r) {
		return 0, 0
	}
	b := p.arena.tally(r)
	return int64(binary.LittleEndian.Uint64(b)), int64(binary.LittleEndian.Uint64(b[8:]))
}

// HasTally reports whether r has room for a tally.
func (p *Partition) HasTally(r Ref) bool { return p.arena.flags(r)&flagTally != 0 }

// SetTally sets the tally of r, an Int. The record may move: the new Ref is returned.
func (p *Partition) SetTally(h Hash, r Ref, ups, downs int64) Ref {
	r = p.resize(h, r, 0, p.arena.flags(r)&flagExpiry|flagTally)
	b := p.arena.tally(r)
	binary.LittleEndian.PutUint64(b, uint64(ups))
	binary.LittleEndian.PutUint64(b[8:], uint64(downs))
	p.touch(r)
	return r
}

// DropTally makes the tally of r, an Int that is being written, one of 0 and 0 and gives its room back.
// The record may move: the new Ref is returned.
func (p *Partition) DropTally(h Hash, r Ref) Ref {
	if !p.HasTally(r) {
		return r
	}
	return p.resize(h, r, 0, p.arena.flags(r)&flagExpiry)
}

// clearTally makes the tally of r one of 0 and 0.
func (p *Partition) clearTally(r Ref) {
	if p.HasTally(r) {
		clear(p.arena.tally(r))
	}
}
