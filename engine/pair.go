package engine

import (
	"slices"

	"countd/shards"
)

// pair is the places of a source and a destination, both locked. They may lie in two databases.
type pair struct {
	src, dst      []byte // the keys
	from, to      entry
	first, second *shards.Partition // in the order of locking; second may be first
}

// lockPair locks the partitions of src in op's database and of dst in database db, by ascending
// database, then partition, as all who lock several must, and finds both entries. The caller calls
// unlock.
func (e *Engine) lockPair(op *Op, src []byte, db int, dst []byte) (pr pair) {
	// Both tables are there before a lock is taken: who creates one waits for those that lock all of
	// them.
	pr = pair{src: src, dst: dst, from: e.place(op, src), to: e.placeIn(db, dst)}
	pr.first, pr.second = pr.from.p, pr.to.p
	if db < op.DB || db == op.DB && pr.to.part < pr.from.part {
		pr.first, pr.second = pr.to.p, pr.from.p
	}
	pr.first.Lock()
	if pr.second != pr.first {
		pr.second.Lock()
	}
	if e.Partial() { // both are read back before anyone holds a Ref, as in lockKeys
		e.look(&pr.to, dst)
		e.look(&pr.from, src)
	}
	// The source last: should the destination have expired, its deletion may move the source's record.
	// Where the source has, nothing is done to the destination.
	e.find(op, &pr.to, dst)
	e.find(op, &pr.from, src)
	return pr
}

func (pr *pair) unlock() {
	if pr.second != pr.first {
		pr.second.Unlock()
	}
	pr.first.Unlock()
}

// beginWritePair is beginWrite for both places: one epoch for the two, so that no crash finds half of
// the command. The reply waits where one of the keys does.
func (e *Engine) beginWritePair(op *Op, pr *pair) error {
	to := &pr.to
	if err := to.p.Fault(); err != nil {
		return err
	}
	if e.logged && !to.p.Listed { // before beginWrite reads the epoch
		to.p.Listed = true
		to.t.List(to.part)
	}
	if err := e.beginWrite(&pr.from, op); err != nil || !e.logged {
		return err
	}
	ep := pr.from.p.Epoch
	if to.p.Epoch != ep {
		e.enterEpoch(to.t, to.p, ep)
	}
	if Epoch(ep) > op.Seen && e.waits(to.c) {
		op.Seen = Epoch(ep)
	}
	return nil
}

// seePair is see for both places.
func (e *Engine) seePair(op *Op, pr *pair) error {
	if err := e.see(&pr.from, op); err != nil {
		return err
	}
	return e.see(&pr.to, op)
}

// admitsContent returns nil where v may be made the value of a key under c, which may be nil, else
// ErrOutOfRange.
func (c *Contract) admitsContent(v *content) error {
	if c.bounded() && (v.kind != shards.Int || !c.allows(v.n)) {
		return ErrOutOfRange
	}
	return nil
}

// content is what an entry holds.
type content struct {
	kind     shards.Kind
	n        int64 // of an Int, like tally
	tally    tally
	bytes    []byte // of the others
	expireAt int64
}

// content returns what en holds. The bytes of a Blob or a Sketch are those that en has, others lie in
// op.scratch. REQUIRES the lock, and that the entry is there.
func (en *entry) content(op *Op) content {
	v := content{kind: en.p.Kind(en.r), expireAt: en.p.ExpireAt(en.r)}
	switch v.kind {
	case shards.Int:
		v.n = en.p.Int(en.r)
		v.tally.ups, v.tally.downs = en.p.Tally(en.r)
	case shards.Embedded:
		op.scratch = append(op.scratch[:0], en.p.Bytes(en.r)...)
		v.bytes = op.scratch
	default:
		v.bytes = en.p.Bytes(en.r)
	}
	return v
}

// copy returns v for an entry beside the one that holds it. Both may have the same bytes of a Blob, since
// they are never modified, but only one may have the room behind them.
func (v content) copy() content {
	switch v.kind {
	case shards.Blob:
		v.bytes = slices.Clip(v.bytes)
	case shards.Sketch:
		v.bytes = slices.Clone(v.bytes)
	}
	return v
}

// putContent makes v what en holds, which owns the bytes of a Blob or a Sketch from now on. REQUIRES
// beginWrite.
func (en *entry) putContent(key []byte, v content) {
	switch v.kind {
	case shards.Int:
		en.r = en.p.PutInt(en.h, key, en.r, v.n)
		if en.c.tallies() {
			en.putTally(v.tally)
		}
	case shards.Embedded:
		en.r = en.p.PutBytes(en.h, key, en.r, v.bytes)
	default:
		en.r = en.p.PutBlob(en.h, key, en.r, v.bytes, v.kind)
	}
	en.r = en.p.SetExpireAt(en.h, en.r, v.expireAt)
}
