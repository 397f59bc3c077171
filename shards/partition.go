package shards

import (
	"bytes"
	"encoding/binary"
	"math"
	"sync"
)

// NoExpiry is the expiry instant of an entry that does not expire.
const NoExpiry int64 = math.MaxInt64

// Partition is one part of a Table: a lock and everything it guards. It must not be copied.
//
// All methods but Lock and Unlock REQUIRE the lock. Byte slices they return lie in the partition's
// memory: they are valid, and may be read, only while the lock is held (a Blob's bytes are never
// modified and may be kept).
type Partition struct {
	// The first two cache lines are what a lookup and a write of an integer need.

	mu sync.Mutex
	// Epoch is the epoch of the last write, which is that of the dirty list. It is the owner's
	// (the engine's), like Listed: whether the partition is on the table's list of partitions that
	// a flush must visit.
	Epoch  uint64
	Listed bool
	// Partial says that entries may be in the owner's store alone; see resident.go.
	Partial bool
	// StoredExpiry is an instant before which nothing expires that is in the owner's store alone, where the
	// partition is Partial; 0: not known. Evict lowers it, the owner raises it when he has looked.
	StoredExpiry int64
	// Counted says that Live is right for this partition.
	Counted bool

	logged    bool
	loading   bool // see BeginLoad
	unsettled bool // some of hots are closed
	failed    bool // fault is set
	deferred  bool // fill is set; see Defer
	index     index

	arena arena
	live  int // entries that are not tombstones
	inUse int // units of the arena that records in the index own
	dirty []Ref

	// Hits and Misses count lookups for INFO; they are the owner's.
	Hits, Misses, Expired int64

	// Pending holds what was captured of an epoch that has ended, for the flush that will come for
	// it, and PendingDelta how many entries more there were at its end than at the last capture,
	// CutLive. They are the owner's.
	Pending      []byte
	PendingDelta int
	CutLive      int

	blobs     [][]byte
	freeBlobs []uint32
	blobBytes int

	expires    int
	expirySum  int64 // of min(expiry, expirySumCap), for the average TTL
	nextExpiry int64 // no entry expires before

	hots  []*Hot // those of its keys; settle and resume keep them in step with the records
	fault error  // why an entry could not be read

	// Sweeps is how often Stored was called.
	Sweeps uint32
	ghosts int // see AddGhosts
	fill   func()

	_ [40]byte // to a whole number of cache lines
}

const (
	minArenaUnits = 32
	// expirySumCap bounds what one expiry adds to expirySum (year 2109), so that it cannot overflow.
	expirySumCap = 1 << 42
)

// Lock takes the partition's lock.
func (p *Partition) Lock() {
	p.mu.Lock()
	if p.deferred {
		p.bring()
	}
}

// Unlock releases the partition's lock.
func (p *Partition) Unlock() {
	if p.unsettled {
		p.resume()
	}
	if p.failed {
		p.fault, p.failed = nil, false
	}
	p.mu.Unlock()
}

// Fault is why an entry could not be read from the owner's store, if Fail was called since Lock.
func (p *Partition) Fault() error {
	if !p.failed {
		return nil
	}
	return p.fault
}

// Fail sets Fault until Unlock.
func (p *Partition) Fail(err error) { p.fault, p.failed = err, true }

func tagOf(h Hash) uint32 { return uint32(h >> tagShift) }

// Find returns the live entry of key, or 0.
func (p *Partition) Find(h Hash, key []byte) Ref {
	r, _ := p.find(tagOf(h), key)
	if r != 0 {
		if b := p.arena.at(r)[:headerBytes]; Kind(b[4]) == Tombstone {
			return 0
		} else if b[5]&ageFlags != flagUsed {
			b[5] = lookedUp(b[5])
		}
	}
	return r
}

// find returns the record of key, tombstone or not, and its slot.
func (p *Partition) find(tag uint32, key []byte) (Ref, int) {
	slots := p.index.slots
	for i := p.index.home(tag); i < len(slots); i++ {
		s := slots[i]
		t := slotTag(s)
		if t == tag {
			if r := slotRef(s); r != 0 && bytes.Equal(p.arena.key(r), key) {
				return r, i
			}
		}
		if s == 0 || t > tag {
			break
		}
	}
	return 0, -1
}

// PlainInt returns the value of r where it is an Int without room for an expiry or a tally and not hot,
// the common counter. r may be 0, no record.
func (p *Partition) PlainInt(r Ref) (v int64, plain bool) {
	if r == 0 {
		return 0, false
	}
	b := p.arena.at(r)[:headerBytes]
	if Kind(b[4]) != Int || b[5]&(roomFlags|flagHot) != 0 {
		return 0, false
	}
	return int64(binary.LittleEndian.Uint64(b[8:])), true
}

// slotOf returns the position of the slot that names r.
func (p *Partition) slotOf(tag uint32, r Ref) int {
	for i := p.index.home(tag); ; i++ { // r is in the index, so the loop ends
		if p.index.slots[i] == makeSlot(tag, r) {
			return i
		}
	}
}

// Kind returns what r holds.
func (p *Partition) Kind(r Ref) Kind { return p.arena.kind(r) }

// Int returns the value of an Int.
func (p *Partition) Int(r Ref) int64 {
	if p.arena.flags(r)&flagHot != 0 {
		p.settle(r)
	}
	return int64(p.arena.word(r))
}

// Key returns r's key.
func (p *Partition) Key(r Ref) []byte { return p.arena.key(r) }

// Bytes returns the value of an Embedded, a Blob or a Sketch.
func (p *Partition) Bytes(r Ref) []byte {
	if p.arena.kind(r) == Embedded {
		return p.arena.embedded(r)
	}
	return p.blobs[p.arena.word(r)]
}

// ExpireAt returns r's expiry instant in Unix milliseconds, or NoExpiry.
func (p *Partition) ExpireAt(r Ref) int64 {
	b := p.arena.at(r)
	if b[5]&flagExpiry == 0 {
		return NoExpiry
	}
	return int64(binary.LittleEndian.Uint64(b[headerBytes:]))
}

// touch puts r on the dirty list, once.
func (p *Partition) touch(r Ref) {
	if p.logged && p.arena.flags(r)&flagDirty == 0 && !p.loading {
		p.arena.setFlag(r, flagDirty)
		p.dirty = append(p.dirty, r)
	}
}

// SetInt overwrites the value of an Int. Its tally stays.
func (p *Partition) SetInt(r Ref, v int64) {
	b := p.arena.at(r)
	if b[5]&(flagDirty|flagHot) != flagDirty {
		p.written(r)
	}
	binary.LittleEndian.PutUint64(b[8:], uint64(v))
}

// written prepares r for a new value: no Hot may add to it meanwhile, and it is dirty.
func (p *Partition) written(r Ref) {
	if p.arena.flags(r)&flagHot != 0 {
		p.settle(r)
	}
	p.touch(r)
}

// PutInt makes v the value of key. r is key's live entry as Find returned it, or 0. The expiry stays, a
// tally begins anew.
func (p *Partition) PutInt(h Hash, key []byte, r Ref, v int64) Ref {
	if r == 0 {
		r = p.insert(h, key, 0)
	} else {
		p.dropBlob(r)
	}
	p.arena.setKind(r, Int)
	p.arena.setWord(r, uint64(v))
	p.touch(r)
	return r
}

// PutBytes makes a copy of val the value of key, Embedded or a Blob by its length. r is key's live
// entry as Find returned it, or 0. The expiry stays.
func (p *Partition) PutBytes(h Hash, key []byte, r Ref, val []byte) Ref {
	if len(val) > EmbedMax {
		return p.PutBlob(h, key, r, append([]byte(nil), val...), Blob)
	}
	if r == 0 {
		r = p.insert(h, key, len(val))
	} else {
		p.dropBlob(r)
		r = p.resize(h, r, len(val), p.arena.flags(r)&roomFlags)
	}
	p.arena.setKind(r, Embedded)
	p.arena.setWord(r, uint64(len(val)))
	copy(p.arena.embedded(r), val)
	p.touch(r)
	return r
}

// PutBlob makes val the value of key, as a Blob or a Sketch. The partition owns val from now on.
func (p *Partition) PutBlob(h Hash, key []byte, r Ref, val []byte, k Kind) Ref {
	if r == 0 {
		r = p.insert(h, key, 0)
	} else {
		p.dropBlob(r)
	}
	p.arena.setKind(r, k)
	p.arena.setWord(r, uint64(p.addBlob(val)))
	p.touch(r)
	return r
}

// SetSketch replaces the bytes of a Sketch, for instance after it grew, and marks it written.
func (p *Partition) SetSketch(r Ref, val []byte) {
	i := p.arena.word(r)
	p.blobBytes += cap(val) - cap(p.blobs[i])
	p.blobs[i] = val
	p.touch(r)
}

// SetExpireAt sets r's expiry instant; NoExpiry removes it. The record may move: the new Ref is
// returned.
func (p *Partition) SetExpireAt(h Hash, r Ref, at int64) Ref {
	if p.ExpireAt(r) == at {
		return r
	}
	p.written(r)
	if p.arena.flags(r)&flagExpiry == 0 {
		embed := 0
		if p.arena.kind(r) == Embedded {
			embed = int(p.arena.word(r))
		}
		r = p.resize(h, r, embed, p.arena.flags(r)&roomFlags|flagExpiry)
	}
	p.countExpiry(p.ExpireAt(r), at)
	binary.LittleEndian.PutUint64(p.arena.at(r)[headerBytes:], uint64(at))
	return r
}

func (p *Partition) countExpiry(old, at int64) {
	if old != NoExpiry {
		p.expires--
		p.expirySum -= min(old, expirySumCap)
	}
	if at != NoExpiry {
		p.expires++
		p.expirySum += min(at, expirySumCap)
		p.nextExpiry = min(p.nextExpiry, at)
	}
}

// Delete removes the live entry r. In a logged table it becomes a tombstone on the dirty list, in
// another Refs are no longer valid after it.
func (p *Partition) Delete(h Hash, r Ref) {
	p.Demote(r)
	p.dropBlob(r)
	p.countExpiry(p.ExpireAt(r), NoExpiry)
	if p.arena.flags(r)&flagExpiry != 0 {
		binary.LittleEndian.PutUint64(p.arena.at(r)[headerBytes:], uint64(NoExpiry))
	}
	if !p.loading {
		p.live--
	}
	if p.logged {
		p.arena.setKind(r, Tombstone)
		p.touch(r)
		return
	}
	p.dropSlot(tagOf(h), r)
	p.Shrink()
}

// dropSlot takes r out of the index; its space comes back with the next arena.
func (p *Partition) dropSlot(tag uint32, r Ref) {
	p.inUse -= p.arena.units(r)
	p.index.remove(p.slotOf(tag, r))
}

// insert makes room for a new entry with an embedded string of embed bytes and no expiry. The
// caller sets kind and value.
func (p *Partition) insert(h Hash, key []byte, embed int) Ref {
	if !p.loading {
		p.live++
	}
	tag := tagOf(h)
	if r, _ := p.find(tag, key); r != 0 { // a tombstone
		return p.resize(h, r, embed, p.arena.flags(r)&roomFlags)
	}
	units := recordUnits(len(key), embed, 0)
	p.reserve(units, 0)
	r := p.alloc(units)
	b := p.arena.at(r)
	binary.LittleEndian.PutUint32(b, uint32(len(key)))
	copy(b[headerBytes:], key)
	p.index.insert(tag, r)
	return r
}

// resize returns a record for r's entry that has room for an embedded string of embed bytes and, as
// the flags in want say, for an expiry (NoExpiry where there was none) and a tally (0 and 0 where there
// was none). An expiry must be wanted where there is one. Kind, value word and the other flags stay; the
// embedded string is kept as far as it fits.
func (p *Partition) resize(h Hash, r Ref, embed int, want byte) Ref {
	units := recordUnits(p.arena.keyLen(r), embed, want)
	if p.arena.flags(r)&roomFlags == want && units <= p.arena.units(r) {
		return r
	}
	r = p.reserve(units, r)
	n := p.alloc(units)
	src, dst := p.arena.at(r), p.arena.at(n)
	so, do := p.arena.keyOffset(r), headerBytes+room(want)
	copy(dst[:6], src)
	copy(dst[8:headerBytes], src[8:])
	dst[5] = src[5]&^roomFlags | want
	if want&flagExpiry != 0 {
		binary.LittleEndian.PutUint64(dst[headerBytes:], uint64(p.ExpireAt(r)))
	}
	if want&flagTally != 0 {
		if clear(p.arena.tally(n)); p.HasTally(r) {
			copy(p.arena.tally(n), p.arena.tally(r))
		}
	}
	keep := p.arena.keyLen(r)
	if p.arena.kind(r) == Embedded {
		keep += min(embed, int(p.arena.word(r)))
	}
	copy(dst[do:do+keep], src[so:])
	tag := tagOf(h)
	p.index.slots[p.slotOf(tag, r)] = makeSlot(tag, n)
	p.inUse -= p.arena.units(r)
	p.arena.setKind(r, moved)
	p.arena.setWord(r, uint64(n))
	return n
}
