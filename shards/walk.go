package shards

import "slices"

// Live is the number of entries, resident or not, tombstones not counted. Of a partition that was never
// complete it is only right in the sum over a table.
func (p *Partition) Live() int { return p.live + p.ghosts }

// DirtyLen is the number of entries on the dirty list.
func (p *Partition) DirtyLen() int { return len(p.dirty) }

// Expires is the number of entries that have an expiry, and expirySum the sum of their instants
// (each at most expirySumCap).
func (p *Partition) Expires() (n int, sum int64) { return p.expires, p.expirySum }

// NextExpiry is an instant before which no entry expires.
func (p *Partition) NextExpiry() int64 { return p.nextExpiry }

// Bytes the partition occupies: index, arena and blobs.
func (p *Partition) size() int {
	return cap(p.index.slots)*8 + cap(p.arena) + p.blobBytes + cap(p.blobs)*24 +
		cap(p.freeBlobs)*4 + cap(p.dirty)*4 + cap(p.Pending)
}

// Capture calls fn for every entry on the dirty list, tombstones included, and empties the list. What it
// captures belongs to generation gen. Records stay where they are, since whoever captures may be about to
// write to one. fn must look at the values, and not change the partition.
func (p *Partition) Capture(gen byte, fn func(r Ref)) {
	for _, r := range p.dirty {
		r = p.arena.forward(r)
		p.arena.clearFlag(r, flagDirty)
		p.arena.setGen(r, gen)
		fn(r) // whose look at the value settles a Hot
	}
	p.dirty = p.dirty[:0]
}

// Walk calls fn for every live entry in hash order until it returns false. fn must not change the
// partition but for overwriting integers and existing expiries.
func (p *Partition) Walk(fn func(r Ref) bool) {
	for _, s := range p.index.slots {
		if s != 0 && p.arena.kind(slotRef(s)) != Tombstone && !fn(slotRef(s)) {
			return
		}
	}
}

// CollectExpired appends to dst the keys of at most limit entries whose expiry is not after now, as
// copies, and makes NextExpiry exact where all were found.
func (p *Partition) CollectExpired(now int64, limit int, dst [][]byte) [][]byte {
	next := NoExpiry
	full := false
	p.Walk(func(r Ref) bool {
		at := p.ExpireAt(r)
		switch {
		case at > now:
			next = min(next, at)
		case limit == 0:
			full = true
			return false
		default:
			dst = append(dst, slices.Clone(p.Key(r)))
			limit--
		}
		return true
	})
	if !full {
		p.nextExpiry = next
	}
	return dst
}

// ScanFrom calls fn for the live entries whose tag is at least tag and at most last, in hash order, until
// fn has been called count times; then it goes on only through entries with the same tag. It returns the
// number of calls and the tag to continue at; done is true where there is none left up to last.
func (p *Partition) ScanFrom(tag, last uint32, count int, fn func(r Ref)) (n int, next uint32, done bool) {
	var at uint32
	for i := p.index.lowerBound(tag); i < len(p.index.slots); i++ {
		s := p.index.slots[i]
		if s == 0 {
			continue
		}
		if slotTag(s) > last {
			break
		}
		if n >= count && slotTag(s) != at {
			return n, slotTag(s), false
		}
		if r := slotRef(s); p.arena.kind(r) != Tombstone {
			fn(r)
			n++
		}
		at = slotTag(s)
	}
	return n, 0, true
}

// Reset drops every entry, and the dirty list with them.
func (p *Partition) Reset() {
	p.undefer()
	p.settleAll()
	p.Partial, p.Counted = false, true
	p.index = index{}
	p.arena = nil
	p.live, p.ghosts, p.inUse = 0, 0, 0
	p.dirty = nil
	p.blobs, p.freeBlobs, p.blobBytes = nil, nil, 0
	p.expires, p.expirySum, p.nextExpiry = 0, 0, NoExpiry
}

// TakePending appends what was captured to dst and forgets it, keeping a small buffer for the next
// time. delta is PendingDelta.
func (p *Partition) TakePending(dst []byte) (grown []byte, delta int) {
	dst = append(dst, p.Pending...)
	p.Pending = p.Pending[:0]
	if cap(p.Pending) > keepPendingBytes {
		p.Pending = nil
	}
	delta, p.PendingDelta = p.PendingDelta, 0
	return dst, delta
}

// keepPendingBytes bounds the idle capture buffer of a partition.
const keepPendingBytes = 4096
