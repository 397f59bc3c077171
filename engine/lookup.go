package engine

import (
	"slices"

	"countd/shards"
)

// entry is a key's place: table, partition and, where the key is there, record. It is valid while
// the partition is locked and nothing was inserted.
type entry struct {
	t    *shards.Table
	p    *shards.Partition
	h    shards.Hash
	part int
	r    shards.Ref // 0: the key is absent
	c    *Contract  // nil: none applies
}

// lock locks the partition of key and finds its entry; what has expired is deleted and not found.
// The caller unlocks en.p.
func (e *Engine) lock(op *Op, key []byte) entry {
	en := e.place(op, key)
	en.hit(op, key, 1)
	en.p.Lock()
	e.find(op, &en, key)
	return en
}

// place computes where key belongs.
func (e *Engine) place(op *Op, key []byte) entry { return e.placeIn(op.DB, key) }

func (e *Engine) placeIn(db int, key []byte) entry {
	t := e.table(db)
	h := t.Hash(key)
	part := shards.PartOf(h)
	return entry{t: t, p: t.Part(part), h: h, part: part}
}

// find looks key up in its place. REQUIRES the partition's lock.
func (e *Engine) find(op *Op, en *entry, key []byte) {
	e.look(en, key)
	e.checkExpiry(op, en)
}

// look is find without expiry. The contract is read under the lock, so that a change of contracts,
// which passes through all locks, is complete when it returns. REQUIRES the partition's lock.
func (e *Engine) look(en *entry, key []byte) {
	en.c = e.contractOf(key)
	if en.r = en.p.Find(en.h, key); en.r == 0 && en.p.Partial {
		e.fault(en, key)
	}
}

// checkExpiry makes en absent where its time has come. REQUIRES the lock.
func (e *Engine) checkExpiry(op *Op, en *entry) {
	if en.r != 0 && en.p.ExpireAt(en.r) < op.NowMs {
		e.expire(op, en)
	}
}

// expire deletes an entry whose time has come. While writes are refused it is only hidden.
func (e *Engine) expire(op *Op, en *entry) {
	if e.beginWrite(en, op) == nil {
		en.p.Delete(en.h, en.r)
		en.p.Expired++
	}
	en.r = 0
}

// count counts a lookup for the keyspace_hits and keyspace_misses of INFO. REQUIRES the lock.
func (en *entry) count() { en.countTimes(1) }

func (en *entry) countTimes(n int) {
	if en.r != 0 {
		en.p.Hits += int64(n)
	} else {
		en.p.Misses += int64(n)
	}
}

// lockKeys locks the partitions of every stride-th key in ascending order, each once, as all who
// lock several must. The caller calls unlockKeys.
func (e *Engine) lockKeys(op *Op, keys [][]byte, stride int) {
	t := e.table(op.DB)
	op.locks = op.locks[:0]
	for i := 0; i < len(keys); i += stride {
		op.locks = append(op.locks, shards.PartOf(t.Hash(keys[i])))
	}
	slices.Sort(op.locks)
	op.locks = slices.Compact(op.locks)
	for _, part := range op.locks {
		t.Part(part).Lock()
	}
	for i := 0; i < len(keys) && e.Partial(); i += stride {
		en := e.place(op, keys[i]) // read back before anyone holds a Ref
		e.look(&en, keys[i])
	}
}

// unlockKeys releases what lockKeys locked.
func (e *Engine) unlockKeys(op *Op) {
	t := e.table(op.DB)
	for _, part := range op.locks {
		t.Part(part).Unlock()
	}
}

// beginWrites is beginWrite for all partitions that lockKeys locked for the same keys: one epoch for
// them all, so that no crash tears the command apart. The reply waits where one of the keys does.
func (e *Engine) beginWrites(op *Op, keys [][]byte, stride int) error {
	if r := e.refusal.Load(); r != nil {
		return r.err
	}
	if !e.logged {
		return nil
	}
	t := e.table(op.DB)
	for _, part := range op.locks {
		if err := t.Part(part).Fault(); err != nil {
			return err
		}
	}
	for _, part := range op.locks {
		if p := t.Part(part); !p.Listed {
			p.Listed = true
			t.List(part)
		}
	}
	ep := e.epoch.Load()
	for _, part := range op.locks {
		if p := t.Part(part); p.Epoch != ep {
			e.enterEpoch(t, p, ep)
		}
	}
	if Epoch(ep) > op.Seen && e.anyWaits(keys, stride) {
		op.Seen = Epoch(ep)
	}
	return nil
}

// anyWaits reports whether one of every stride-th key waits. REQUIRES the keys' locks.
func (e *Engine) anyWaits(keys [][]byte, stride int) bool {
	if e.named() == 0 {
		return e.waits(nil)
	}
	for i := 0; i < len(keys); i += stride {
		if e.waits(e.contractOf(keys[i])) {
			return true
		}
	}
	return false
}

// seeKeys is see for every stride-th key; lockKeys locked them.
func (e *Engine) seeKeys(op *Op, keys [][]byte, stride int) error {
	t := e.table(op.DB)
	if e.named() == 0 {
		for _, part := range op.locks {
			if err := e.seePart(t.Part(part), nil, op); err != nil {
				return err
			}
		}
		return nil
	}
	for i := 0; i < len(keys); i += stride {
		key := keys[i]
		p := t.Part(shards.PartOf(t.Hash(key)))
		if err := e.seePart(p, e.contractOf(key), op); err != nil {
			return err
		}
	}
	return nil
}
