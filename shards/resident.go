package shards

// Behind a logged table stands its owner's store, which follows the log: an entry is
//
//   - unlogged, on the dirty list;
//   - unstored, captured in a generation that is not yet in the store;
//   - stored, in generation 0: its value and expiry, or its absence, are what the store says.
//
// Only stored entries may leave the table. So of an entry that is not here, not even as a tombstone, the
// store has the truth; where a partition is not Partial there is no such entry.
//
// Generations are numbered 1 to Generations in turn. The owner begins one where it begins a segment of
// its log, and when the store has all of a generation he calls Stored, before he uses its number again.

// Generations is how many numbers of generations there are, beside 0.
const Generations = 3

// Has reports whether the table knows of key, be it as a tombstone.
func (p *Partition) Has(h Hash, key []byte) bool {
	r, _ := p.find(tagOf(h), key)
	return r != 0
}

// BeginLoad makes the changes that follow, until EndLoad, those of a load: the entries were there before,
// so that they are neither dirty nor counted by Live. They are stored, unless SetGeneration says else.
func (p *Partition) BeginLoad() { p.loading = true }

// EndLoad ends what BeginLoad began.
func (p *Partition) EndLoad() { p.loading = false }

// SetGeneration says which generation r, which is being loaded, was captured in.
func (p *Partition) SetGeneration(r Ref, gen byte) { p.arena.setGen(r, gen) }

// PutTombstone makes key, which the table does not know or which is r, a tombstone. REQUIRES BeginLoad.
func (p *Partition) PutTombstone(h Hash, key []byte, r Ref) Ref {
	if r == 0 {
		r = p.insert(h, key, 0)
		p.arena.setKind(r, Int)
		p.arena.setWord(r, 0)
	}
	p.Delete(h, r)
	return r
}

// Stored says that the store has all that was captured in generation gen. Tombstones of it go.
func (p *Partition) Stored(gen byte) {
	p.Sweeps++
	for i := 0; i < len(p.index.slots); {
		s := p.index.slots[i]
		if s == 0 {
			i++
			continue
		}
		r := slotRef(s)
		if p.arena.gen(r) == gen {
			p.arena.setGen(r, 0)
			if p.arena.kind(r) == Tombstone && p.arena.flags(r)&flagDirty == 0 {
				p.drop(i, r)
				continue
			}
		}
		i++
	}
	p.Shrink()
}

// drop takes the record at position i out of the index. What follows it may move to i.
func (p *Partition) drop(i int, r Ref) {
	p.inUse -= p.arena.units(r)
	p.index.remove(i)
}

// compact gives the arena's dead room back where it is a fifth.
func (p *Partition) compact() {
	if 8*p.inUse < len(p.arena)*4/5 {
		p.rebuild(0, 0)
	}
	p.Shrink()
}

// DropTombstones drops the tombstones that say no more than that the store has no such entry. Where the
// partition is not Partial they are of no use.
func (p *Partition) DropTombstones() {
	for i := 0; i < len(p.index.slots); {
		s := p.index.slots[i]
		if r := slotRef(s); s != 0 && p.arena.kind(r) == Tombstone && p.arena.gen(r) == 0 &&
			p.arena.flags(r)&flagDirty == 0 {
			p.drop(i, r)
			continue
		}
		i++
	}
}

// Residents is the number of entries in the table, tombstones not counted.
func (p *Partition) Residents() (n int) {
	p.Walk(func(Ref) bool { n++; return true })
	return n
}

// Count makes the number of residents the number of entries, and returns by how many that are more than
// were thought. REQUIRES that all entries are in the table.
func (p *Partition) Count() (more int) {
	more = p.Residents() - p.live
	p.live += more
	p.CutLive += more
	p.Counted = true
	return more
}

// Ghosts is what AddGhosts has added up to.
func (p *Partition) Ghosts() int { return p.ghosts }

// AddGhosts makes Live n larger: entries that are counted here, since it is not known in which partition
// they are.
func (p *Partition) AddGhosts(n int) {
	p.ghosts += n
	p.CutLive += n
}
