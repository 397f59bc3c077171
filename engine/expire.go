package engine

import (
	"math"
	"time"

	"countd/shards"
)

// Active expiry: what nobody asks for again must go too. Every tick visits a tenth of the
// partitions; each knows an instant before which nothing in it expires, so that most visits are one
// comparison, and one that is due is walked at most once a second.
const (
	expireTick         = 100 * time.Millisecond
	expireTicksPerPass = 10
	// expireBatch bounds the keys that one visit deletes under the partition's lock.
	expireBatch = 256
)

func (e *Engine) expireLoop() {
	defer e.bg.Done()
	ticker := time.NewTicker(expireTick)
	defer ticker.Stop()
	var keys [][]byte
	var disk storeExpiry
	for tick := 0; ; tick++ {
		select {
		case <-e.quit:
			return
		case <-ticker.C:
		}
		e.clock.check(e.log)
		now := e.NowMs()
		e.eachTable(func(db int, t *shards.Table) {
			for part := tick % expireTicksPerPass; part < shards.Partitions; part += expireTicksPerPass {
				keys = e.expirePartition(t, part, now, keys[:0])
			}
		})
		if e.Partial() {
			start := time.Now()
			disk.run(e, now, func() bool { return time.Since(start) >= storeExpiryTime || e.stopped() })
		}
	}
}

// expirePartition deletes at most expireBatch expired entries of a partition. keys is scratch.
func (e *Engine) expirePartition(t *shards.Table, part int, now int64, keys [][]byte) [][]byte {
	p := t.Part(part)
	p.LockAsIs() // what was put off comes soon enough
	defer p.Unlock()
	if p.NextExpiry() >= now {
		return keys
	}
	op := Op{NowMs: now}
	keys = p.CollectExpired(now-1, expireBatch, keys)
	for _, key := range keys {
		en := entry{t: t, p: p, h: t.Hash(key), part: part}
		e.look(&en, key)
		if e.beginWrite(&en, &op) != nil {
			break
		}
		p.Delete(en.h, en.r)
		p.Expired++
	}
	return keys
}

// storeExpiry is where the search for expired entries in the store is. It goes round and round.
type storeExpiry struct {
	db, part int
	tag      uint32
}

const (
	// storeExpiryTime bounds what a tick spends on the search, and storeExpiryBatch how many entries it
	// reads at a time.
	storeExpiryTime  = 2 * time.Millisecond
	storeExpiryBatch = 512
)

// run searches on until enough, which it asks before each read, or once round. An entry that has expired
// is read back, which deletes it. What cannot be read is passed over until the next round.
func (x *storeExpiry) run(e *Engine, now int64, enough func() bool) {
	for !enough() {
		t := e.tables[x.db].Load()
		if t == nil || x.part == shards.Partitions {
			x.db, x.part, x.tag = (x.db+1)%Databases, 0, 0
			if x.db == 0 {
				return // once round at most
			}
			continue
		}
		p := t.Part(x.part)
		p.LockAsIs()
		partial, space := p.Partial, t.Space
		p.Unlock()
		if !partial {
			x.part, x.tag = x.part+1, 0
			continue
		}
		stored, more, err := e.readStored(space, x.part, x.tag, storeExpiryBatch)
		if err != nil { // it is said where a command meets it
			x.part, x.tag = x.part+1, 0
			return
		}
		op := Op{DB: x.db, NowMs: now}
		for i := range stored {
			if s := &stored[i]; s.expireAt() < now {
				en := e.lock(&op, s.key)
				en.p.Unlock()
			}
		}
		if x.tag = 0; more {
			if last := shards.TagOf(stored[len(stored)-1].h); last != math.MaxUint32 {
				x.tag = last + 1
				continue
			}
		}
		x.part++
	}
}
