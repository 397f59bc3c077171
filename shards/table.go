package shards

import (
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// The hash, from its top: partition, tag, and 20 bits that only the seed's quality needs.
const (
	partitionBits = 12
	tagShift      = 64 - partitionBits - 32

	// Partitions is the number of partitions of a table.
	Partitions = 1 << partitionBits
)

// Cursors are positions in hash order: the top cursorBits bits of a hash.
const (
	cursorBits  = 48
	cursorShift = cursorBits - partitionBits - 32 // from a partition and tag to a cursor
)

// Table is one logical database.
type Table struct {
	Seed Seed
	// Space is the owner's name for the table's present contents. It is read under any partition's
	// lock and written under all.
	Space uint64
	parts []Partition
	hots  hots
	// listed has a bit for every partition that a flush must visit. A writer sets it under the
	// partition's lock before it reads the epoch; a flush clears it after it closed the epoch. So
	// a flush that closed an epoch sees the bit of every partition that was written in it.
	listed [Partitions / 64]atomic.Uint64
}

// NewTable returns an empty table. A logged table keeps dirty lists and tombstones; the owner must
// capture them.
func NewTable(seed Seed, logged bool) *Table {
	t := &Table{Seed: seed, parts: make([]Partition, Partitions)}
	for i := range t.parts {
		t.parts[i].logged = logged
		t.parts[i].nextExpiry = NoExpiry
		t.parts[i].Counted = true
	}
	return t
}

// Hash returns the hash of a key.
func (t *Table) Hash(key []byte) Hash { return t.Seed.Hash(key) }

// TagOf returns the part of a hash by which a partition orders its entries.
func TagOf(h Hash) uint32 { return tagOf(h) }

// FirstHash returns the lowest hash of partition part that has this tag.
func FirstHash(part int, tag uint32) Hash {
	return Hash(part)<<(64-partitionBits) | Hash(tag)<<tagShift
}

// PartOf returns the number of the partition that h belongs to.
func PartOf(h Hash) int { return int(h >> (64 - partitionBits)) }

// Part returns partition i.
func (t *Table) Part(i int) *Partition { return &t.parts[i] }

// List puts partition i on the list of those that a flush must visit.
func (t *Table) List(i int) { t.listed[i/64].Or(1 << (i % 64)) }

// AnyListed reports whether a flush has partitions to visit.
func (t *Table) AnyListed() bool {
	for w := range t.listed {
		if t.listed[w].Load() != 0 {
			return true
		}
	}
	return false
}

// TakeListed empties the list and calls fn for each partition that was on it.
func (t *Table) TakeListed(fn func(i int)) {
	for w := range t.listed {
		if t.listed[w].Load() == 0 {
			continue
		}
		for b := t.listed[w].Swap(0); b != 0; b &= b - 1 {
			fn(w*64 + bits.TrailingZeros64(b))
		}
	}
}

// LockAll locks every partition, in ascending order as all who lock several must.
func (t *Table) LockAll() {
	for i := range t.parts {
		t.parts[i].Lock()
	}
}

// LockAllAsIs is LockAll by LockAsIs.
func (t *Table) LockAllAsIs() {
	for i := range t.parts {
		t.parts[i].LockAsIs()
	}
}

// UnlockAll is the inverse of LockAll.
func (t *Table) UnlockAll() {
	for i := range t.parts {
		t.parts[i].Unlock()
	}
}

// ScanPartial scans a part of a partition that is Partial: it calls fn for about count entries from tag
// on, in any order, each once, and returns how many there were and the tag to go on at; done says that
// the partition is exhausted. It is called without locks.
type ScanPartial func(part int, tag uint32, count int) (n int, next uint32, done bool)

// Scan calls fn for about count entries from cursor on, in hash order, each under its partition's
// lock, and returns the next cursor, 0 at the end. An entry that is there from the first call of a
// scan to the last is passed exactly once. Empty partitions cost nothing but a look, about 10 ns.
// Partial partitions are left to partial, which may be nil where there are none.
func (t *Table) Scan(cursor uint64, count int, fn func(p *Partition, r Ref), partial ScanPartial) uint64 {
	cursor &= 1<<cursorBits - 1
	part := int(cursor >> (cursorBits - partitionBits))
	tag := uint32(cursor >> cursorShift)
	for ; part < Partitions; part++ {
		p := &t.parts[part]
		p.Lock()
		var n int
		var next uint32
		var done bool
		if p.Partial {
			p.Unlock()
			n, next, done = partial(part, tag, count)
		} else {
			n, next, done = p.ScanFrom(tag, math.MaxUint32, count, func(r Ref) { fn(p, r) })
			p.Unlock()
		}
		if !done {
			return uint64(part)<<(cursorBits-partitionBits) | uint64(next)<<cursorShift
		}
		tag = 0
		count -= n
		if count <= 0 && part+1 < Partitions {
			return uint64(part+1) << (cursorBits - partitionBits)
		}
	}
	return 0
}

// Size is the memory of the table in bytes.
func (t *Table) Size() int64 {
	n := int64(0)
	for i := range t.parts {
		p := &t.parts[i]
		p.LockAsIs()
		n += int64(p.size())
		p.Unlock()
	}
	return n + int64(len(t.parts))*partitionBytes
}

// partitionBytes is the size of an empty partition's struct.
const partitionBytes = int64(unsafe.Sizeof(Partition{}))
