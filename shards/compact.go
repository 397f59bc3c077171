package shards

import "encoding/binary"

// An arena only appends. What records that moved or were deleted leave behind comes back when the
// partition copies the others to a new arena: when the old one is full, or mostly dead.

// alloc cuts units off the arena. REQUIRES reserve.
func (p *Partition) alloc(units int) Ref {
	r := Ref(len(p.arena) / 8)
	p.arena = p.arena[:len(p.arena)+units*8]
	clear(p.arena.at(r)[:headerBytes])
	binary.LittleEndian.PutUint16(p.arena.at(r)[6:], uint16(min(units, maxUnits)))
	p.inUse += units
	return r
}

// reserve sees to it that the arena has room for units more, moving to a new one where it has not.
// It returns where r is now.
func (p *Partition) reserve(units int, r Ref) Ref {
	if len(p.arena)+units*8 <= cap(p.arena) {
		return r
	}
	return p.rebuild(units, r)
}

// rebuild copies the records, in hash order, into a new arena with a fifth of its room free, at
// least extra units. It returns where r is now.
func (p *Partition) rebuild(extra int, r Ref) Ref {
	old := p.arena
	need := 1 + p.inUse + extra
	next := make(arena, 8, 8*max(minArenaUnits, need+p.inUse/4))
	for i, s := range p.index.slots {
		if s == 0 {
			continue
		}
		from, to := slotRef(s), Ref(len(next)/8)
		next = append(next, old.at(from)[:8*old.units(from)]...)
		p.index.slots[i] = makeSlot(slotTag(s), to)
		old.setKind(from, copied)
		old.setWord(from, uint64(to))
	}
	p.inUse = len(next)/8 - 1
	for i, d := range p.dirty {
		p.dirty[i] = old.forward(d)
	}
	p.arena = next
	if r != 0 {
		r = old.forward(r)
	}
	return r
}

// forward follows a record that moved, as far as the next arena.
func (a arena) forward(r Ref) Ref {
	for {
		switch a.kind(r) {
		case moved:
			r = Ref(a.word(r))
		case copied:
			return Ref(a.word(r))
		default:
			return r
		}
	}
}

// Shrink gives memory back after deletions. Refs are no longer valid after it.
func (p *Partition) Shrink() {
	if 8*p.inUse < len(p.arena)/2 && len(p.arena) > 8*4*minArenaUnits {
		p.rebuild(0, 0)
	}
	if p.index.homes > 4*minHomes && uint64(p.index.used)*4 < p.index.homes {
		p.index.resize(uint64(p.index.used) * 2)
	}
}
