package shards

// Eviction is a CLOCK (Corbato, "A paging experiment with the Multics system", 1968) with a probation. The
// hand passes a whole partition at a time, and a record has two bits:
//
//	           a lookup makes it   a pass that renews   another pass
//	awaited    new                 -                    drops it
//	new        used                -                    drops it
//	used       used                old                  -
//	old        used                new                  -
//
// New records have not been looked up since they came. They go, and nothing else changes, as long as they
// are at least newShare of what may be evicted: so what is looked up once, by a scan or as a key that is
// written and forgotten, does not drive out what is looked up again. Where fewer are new the pass renews:
// used records become old, old ones new. That is the idea of segmented LRU (Karedla, Love and Wherry, 1994)
// and of S3-FIFO's small queue (Yang et al., SOSP 2023), with no list and no memory but the bits.
const (
	ageFlags = flagOld | flagUsed

	ageNew     = 0
	ageUsed    = flagUsed
	ageOld     = flagOld
	ageAwaited = flagOld | flagUsed // read for a command whose lookup is still to come

	// newShare is two fifths. With one there are up to 1.1 points more hits under Zipf's law and 1.9 with a
	// scan beside, but 4 less where what is hot moves.
	newShareNum, newShareDen = 2, 5
)

// EvictPasses: new entries go; used become old and old new; these go, and the others become new and go.
const EvictPasses = 5

// lookedUp returns the flags of a record after a lookup.
func lookedUp(flags byte) byte {
	if flags&ageFlags == ageAwaited {
		return flags &^ ageFlags
	}
	return flags&^ageFlags | ageUsed
}

// Await says that r was read from the owner's store for a command: the next lookup is that command's and
// not another one.
func (p *Partition) Await(r Ref) { p.arena.setFlag(r, ageAwaited) }

// evictable reports whether slot s holds a record that may leave the table.
func (p *Partition) evictable(s uint64) bool {
	return s != 0 && p.arena.flags(slotRef(s))&(flagDirty|flagHot|genMask) == 0
}

// Evict is a pass of the hand: it drops new entries, or renews. It returns how many bytes of the arena what
// it dropped took, and how many entries there were. EvictPasses without a lookup between drop all that is
// stored.
func (p *Partition) Evict() (bytes, entries int) {
	fresh, all := 0, 0
	for _, s := range p.index.slots {
		if p.evictable(s) {
			all++
			if age := p.arena.flags(slotRef(s)) & ageFlags; age == ageNew || age == ageAwaited {
				fresh++
			}
		}
	}
	renew := fresh*newShareDen < all*newShareNum
	if !p.Partial {
		p.StoredExpiry = NoExpiry
	}
	for i := 0; i < len(p.index.slots); {
		s := p.index.slots[i]
		if !p.evictable(s) || p.keep(slotRef(s), renew) {
			i++
			continue
		}
		bytes += p.evict(i, slotRef(s))
		entries++
	}
	if entries > 0 {
		p.Partial = true
		p.compact()
	}
	return bytes, entries
}

// keep is a pass of the hand over one record: it reports whether r stays. A tombstone says no more than the
// store does.
func (p *Partition) keep(r Ref, renew bool) bool {
	if p.arena.kind(r) == Tombstone {
		return false
	}
	if renew {
		switch p.arena.flags(r) & ageFlags {
		case ageUsed:
			p.arena.clearFlag(r, flagUsed)
			p.arena.setFlag(r, flagOld)
		case ageOld:
			p.arena.clearFlag(r, flagOld)
		}
		return true
	}
	age := p.arena.flags(r) & ageFlags
	return age == ageUsed || age == ageOld
}

// evict drops record r at position i of the index, and returns the bytes it took.
func (p *Partition) evict(i int, r Ref) int {
	bytes := 8 * p.arena.units(r)
	if k := p.arena.kind(r); k == Blob || k == Sketch {
		bytes += cap(p.blobs[p.arena.word(r)])
	}
	if p.arena.kind(r) != Tombstone {
		p.dropBlob(r)
		p.countExpiry(p.ExpireAt(r), NoExpiry)
		p.StoredExpiry = min(p.StoredExpiry, p.ExpireAt(r))
	}
	p.drop(i, r)
	return bytes
}
