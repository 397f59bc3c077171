package engine

import (
	"bytes"
	"errors"
	"time"

	"countd/shards"
)

// storeExpiry is the search for entries that have expired and are in the store alone. It goes round and round,
// through the partitions in which something may have expired (shards.Partition.StoredExpiry): the eviction knows
// of what it takes out of the table, so that each partition is read once after a start, and then no more before
// its time.
type storeExpiry struct {
	db, part int
	from     []byte // the stored key where it goes on, nil at the begin of the partition
	least    int64  // of the entries read in the partition that have not expired, when the first one will

	time          time.Duration // what the next tick may take
	read, expired int           // entries, in this tick
}

const (
	// A tick takes storeExpiryTime at most, or up to storeExpiryMax, a quarter of a core, while one in
	// storeExpiryYield of the entries that it reads has expired.
	storeExpiryTime  = 2 * time.Millisecond
	storeExpiryMax   = 25 * time.Millisecond
	storeExpiryYield = 8
	// storeExpiryRead bounds how many entries are read at a time, and storeExpiryBatch how many deleted.
	storeExpiryRead  = 512
	storeExpiryBatch = loadPiece
	// storeExpiryRetry is after how many milliseconds a partition is looked at again that could not be read.
	storeExpiryRetry = 10_000
)

// tick searches on for its share of the time, once round at most.
func (x *storeExpiry) tick(e *Engine, now int64) {
	start, share := time.Now(), max(x.time, storeExpiryTime)
	x.read, x.expired = 0, 0
	x.run(e, now, func() bool { return time.Since(start) >= share || e.stopped() })
	if x.time = storeExpiryTime; x.expired > 0 && x.expired*storeExpiryYield >= x.read {
		x.time = min(2*share, storeExpiryMax)
	}
}

// run searches on until enough, which it asks before each read, or the end of the round, which it reports.
func (x *storeExpiry) run(e *Engine, now int64, enough func() bool) (ended bool) {
	for !enough() {
		t := e.tables[x.db].Load()
		for t != nil && x.part < shards.Partitions && !x.due(t, now) {
			x.part, x.from = x.part+1, nil
		}
		if t == nil || x.part == shards.Partitions {
			x.db, x.part, x.from = (x.db+1)%Databases, 0, nil
			if x.db == 0 {
				return true
			}
			continue
		}
		x.step(e, t, now)
	}
	return false
}

// due reports whether the search goes on in its partition of t, or begins there.
func (x *storeExpiry) due(t *shards.Table, now int64) bool {
	p := t.Part(x.part)
	p.LockAsIs()
	defer p.Unlock()
	if !p.Partial {
		return false
	}
	if x.from != nil && spaceOf(x.from) == t.Space {
		return true
	}
	if p.StoredExpiry >= now {
		return false
	}
	// What is evicted from now on lowers it again.
	p.StoredExpiry, x.least = shards.NoExpiry, shards.NoExpiry
	x.from = appendStoredKey(nil, t.Space, shards.FirstHash(x.part, 0), nil)
	return true
}

// step reads a piece of the partition, and deletes what has expired of it.
func (x *storeExpiry) step(e *Engine, t *shards.Table, now int64) {
	space := spaceOf(x.from)
	end := spaceBound(space + 1)
	if x.part+1 < shards.Partitions {
		end = appendStoredKey(nil, space, shards.FirstHash(x.part+1, 0), nil)
	}
	var keys [][]byte
	read, from := 0, x.from
	x.from = nil
	err := e.eachStored(from, end, func(s storedEntry) error {
		if read == storeExpiryRead || len(keys) == storeExpiryBatch {
			x.from = appendStoredKey(nil, space, s.h, s.key)
			return errEnough
		}
		read++
		if at := s.expireAt(); at < now {
			keys = append(keys, bytes.Clone(s.key))
		} else {
			x.least = min(x.least, at)
		}
		return nil
	})
	x.read += read
	if err != nil && !errors.Is(err, errEnough) { // it is said where a command meets it
		x.least = min(x.least, now+storeExpiryRetry)
	}
	if !x.expire(e, keys, now) {
		x.least = min(x.least, now+storeExpiryRetry)
	}
	if x.from == nil {
		p := t.Part(x.part)
		p.LockAsIs()
		p.StoredExpiry = min(p.StoredExpiry, x.least)
		p.Unlock()
		x.part++
	}
}

// expire deletes those of keys that have expired, and reports whether the table knows of all of them now: they
// are read back, and found to have expired or to be something else by now.
func (x *storeExpiry) expire(e *Engine, keys [][]byte, now int64) (all bool) {
	e.Load(x.db, keys)
	op, all := Op{DB: x.db, NowMs: now}, true
	for _, key := range keys {
		en := e.place(&op, key)
		en.p.Lock()
		expired := en.p.Expired
		e.find(&op, &en, key)
		x.expired += int(en.p.Expired - expired)
		all = all && (!en.p.Partial || en.p.Has(en.h, key))
		en.p.Unlock()
	}
	return all
}
