package engine

import (
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
			disk.tick(e, now)
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
