package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"countd/shards"
)

// seeAll makes op wait for the current epoch where there may be keys that wait: what was read is
// spread over all partitions.
func (e *Engine) seeAll(op *Op) error {
	if !e.logged {
		return nil
	}
	ep := Epoch(e.epoch.Load())
	waits := e.someWait()
	if r := e.refusal.Load(); r != nil && (r.final || waits) {
		return r.err
	}
	if waits {
		op.Seen = max(op.Seen, ep)
	}
	return nil
}

// hides reports whether an entry that expires at atMs has expired for op, which passes over it. Nobody has
// deleted it yet; so that it does not come back even where the wall clock is set back and the process
// killed, the next flush, for which the reply waits where seeAll says so, carries the clock.
func (e *Engine) hides(op *Op, atMs int64) bool {
	if atMs >= op.NowMs {
		return false
	}
	e.commit.markDue.Store(true) // published to the leader of the next flush by seeAll's epoch
	return true
}

// Keys calls fn for every key at one instant, in hash order but for those that are in the store alone. fn
// must not call the engine nor keep the slice.
func (e *Engine) Keys(op *Op, fn func(key []byte)) error {
	t := e.table(op.DB)
	t.LockAll()
	defer t.UnlockAll()
	for part := 0; part < shards.Partitions; part++ {
		p := t.Part(part)
		p.Walk(func(r shards.Ref) bool {
			if !e.hides(op, p.ExpireAt(r)) {
				fn(p.Key(r))
			}
			return true
		})
	}
	if e.Partial() {
		lo, hi := appendStoredKey(nil, t.Space, 0, nil), spaceBound(t.Space+1)
		err := e.eachStored(lo, hi, func(s storedEntry) error {
			if p := t.Part(shards.PartOf(s.h)); p.Partial && !p.Has(s.h, s.key) && !e.hides(op, s.expireAt()) {
				fn(s.key)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("%w: %w", ErrStoreRead, err)
		}
	}
	return e.seeAll(op)
}

// Scan calls fn for about count keys from cursor on, about in hash order, and returns the next cursor, 0
// at the end. A key that is there during a whole scan is passed exactly once. Cursors are below
// 2^48. fn must not call the engine nor keep the slice.
func (e *Engine) Scan(op *Op, cursor uint64, count int, fn func(key []byte, t Type)) (uint64, error) {
	t := e.table(op.DB)
	var err error
	next := t.Scan(cursor, count, func(p *shards.Partition, r shards.Ref) {
		if !e.hides(op, p.ExpireAt(r)) {
			fn(p.Key(r), TypeString)
		}
	}, func(part int, tag uint32, count int) (n int, next uint32, done bool) {
		n, next, done, perr := e.scanPartial(op, t, part, tag, count, fn)
		if perr != nil {
			err = fmt.Errorf("%w: %w", ErrStoreRead, perr)
		}
		return n, next, done || perr != nil
	})
	if err != nil {
		return 0, err
	}
	return next, e.seeAll(op)
}

// scanPartial is Scan in a partition of which entries may be in the store alone; see shards.ScanPartial.
func (e *Engine) scanPartial(
	op *Op, t *shards.Table, part int, tag uint32, count int, fn func(key []byte, t Type),
) (n int, next uint32, done bool, err error) {
	p := t.Part(part)
	for {
		p.Lock()
		sweeps, space := p.Sweeps, t.Space
		p.Unlock()
		stored, more, err := e.readStored(space, part, tag, count)
		if err != nil {
			return 0, 0, false, err
		}
		last := uint32(math.MaxUint32)
		if more {
			last = shards.TagOf(stored[len(stored)-1].h)
		}
		p.Lock()
		if p.Sweeps != sweeps || t.Space != space { // what was read may be out of date
			p.Unlock()
			continue
		}
		n, next, done = p.ScanFrom(tag, last, count, func(r shards.Ref) {
			if !e.hides(op, p.ExpireAt(r)) {
				fn(p.Key(r), TypeString)
			}
		})
		for i := range stored {
			s := &stored[i]
			if !done && shards.TagOf(s.h) >= next {
				break
			}
			if !p.Has(s.h, s.key) && !e.hides(op, s.expireAt()) {
				fn(s.key, TypeString)
				n++
			}
		}
		p.Unlock()
		if done && more {
			next, done = last+1, last == math.MaxUint32
		}
		return n, next, done, nil
	}
}

// DBSize returns the number of keys; those that have expired count until they are found out.
func (e *Engine) DBSize(op *Op) (int64, error) {
	t := e.table(op.DB)
	t.LockAllAsIs()
	n := 0
	for part := 0; part < shards.Partitions; part++ {
		n += t.Part(part).Live()
	}
	err := e.seeAll(op)
	t.UnlockAll()
	return int64(n), err
}

// RandomKey returns a key picked at random, as a copy; ok is false where there is none. Keys behind
// sparse stretches of hash order are picked more often.
func (e *Engine) RandomKey(op *Op) (key []byte, ok bool, err error) {
	take := func(k []byte, _ Type) {
		if !ok {
			key, ok = slices.Clone(k), true
		}
	}
	cursor := rand.Uint64()
	for rounds := 0; rounds < 2 && !ok && err == nil; {
		if cursor, err = e.Scan(op, cursor, 1, take); cursor == 0 {
			rounds++ // the first began in the middle
		}
	}
	return key, ok, err
}
