package engine

import "cmp"

// tally is what increments have added to a counter and taken from it, apart, each 0 or more. It begins
// at 0 where the value is set, and where the contract comes to have a tally.
type tally struct{ ups, downs int64 }

// add adds delta to the side it belongs to. It returns false, and changes nothing, where the side would
// pass the largest int64.
func (t *tally) add(delta int64) bool {
	ups, downs := t.ups, t.downs
	if delta > 0 {
		ups += delta
	} else {
		downs -= delta // of the smallest int64 too: then it is negative
	}
	if ups < 0 || downs < 0 {
		return false
	}
	t.ups, t.downs = ups, downs
	return true
}

// tallies reports whether counters under c, which may be nil, have a tally.
func (c *Contract) tallies() bool { return c != nil && c.Tally }

// refuses returns why an increment by delta, which came to sum, may not be, or nil; then it is noted in t.
func (c *Contract) refuses(sum, delta int64, t *tally) error {
	switch {
	case c.leaves(sum, delta):
		return ErrLeavesRange
	case c.Tally && !t.add(delta):
		return ErrOverflow
	}
	return nil
}

// tally returns the tally of en, of 0 and 0 where its contract has none. REQUIRES the lock.
func (en *entry) tally() (t tally) {
	if en.r != 0 && en.c.tallies() {
		t.ups, t.downs = en.p.Tally(en.r)
	}
	return t
}

// putTally makes t the tally of en, an integer, or drops it where its contract has none: then what it
// said until now ends with this write. REQUIRES beginWrite.
func (en *entry) putTally(t tally) {
	if en.c.tallies() {
		en.r = en.p.SetTally(en.h, en.r, t.ups, t.downs)
	} else {
		en.r = en.p.DropTally(en.h, en.r)
	}
}

// KeyInfo is what CNT.INFO tells of a key.
type KeyInfo struct {
	Type     Type
	IsInt    bool
	Int      int64     // the value of an integer
	Contract *Contract // that applies, or nil
	// Ups and Downs are what increments have added and taken since the value was last set, where the
	// contract has a tally.
	Ups, Downs int64
}

// Info returns what there is to tell of key.
func (e *Engine) Info(op *Op, key []byte) (KeyInfo, error) {
	en := e.lockUnused(op, key)
	defer en.p.Unlock()
	info := KeyInfo{Contract: en.c}
	if en.r != 0 {
		info.Type = TypeString
		if v := e.value(op, &en); v.IsInt {
			info.IsInt, info.Int = true, v.Int
		}
	}
	t := en.tally()
	info.Ups, info.Downs = t.ups, t.downs
	return info, cmp.Or(e.see(&en, op), e.seeContracts(op))
}
