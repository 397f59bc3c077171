package engine

import (
	"time"

	"countd/shards"
)

// The fast path of hot counters: what a numbered writer does without a lock. Wherever it cannot be sure
// it does nothing, and the command takes the ordinary path under the partition's lock, which settles the
// counter (package shards, Hot).

// hotOf returns the Hot of a key where op may use it just now: its writer is numbered, writes are not
// refused, the counter has not expired. current tells whether its epoch is the current one: only then may
// op add to it.
func (e *Engine) hotOf(op *Op, t *shards.Table, h shards.Hash, key []byte) (hot *shards.Hot, current bool) {
	hot = t.Hot(h, key)
	if hot == nil || op.Writer == nil || hot.ExpireAt() < op.NowMs || e.refusal.Load() != nil {
		return nil, false
	}
	// In this order: an opening never outlives the epoch it is for by more than what is in flight.
	ep := hot.Epoch()
	return hot, !e.logged || ep == e.epoch.Load()
}

// incrHot is IncrBy on a Hot; ok is false where nothing was done.
func (e *Engine) incrHot(op *Op, hot *shards.Hot, delta int64) (sum int64, ok bool) {
	if delta < -shards.MaxAdd || delta > shards.MaxAdd {
		return 0, false
	}
	sum, added := addHot(op, hot, delta)
	if added == shards.AddedNot {
		return 0, false
	}
	e.seeHot(op, hot)
	if added != shards.AddedYes {
		sum = e.settleHot(hot, sum, added)
	}
	return sum, true
}

// addHot is hot.Add, inlined for relaxed counters.
func addHot(op *Op, hot *shards.Hot, delta int64) (sum int64, added shards.Added) {
	c := hot.Relaxed(op.Writer.id)
	if c == nil {
		return hot.Add(op.Writer.id, delta, op.NowMs)
	}
	n, fresh := c.Add(hot, delta, op.NowMs)
	if fresh {
		return c.Sum(n), shards.AddedYes
	}
	return hot.Refresh(c, n, op.NowMs)
}

// seeHot notes in op what it wrote to or read of hot, where its key waits. The epoch is read after that:
// if hot was closed and opened meanwhile, it is that of a later opening.
func (e *Engine) seeHot(op *Op, hot *shards.Hot) {
	c, _ := hot.Owner().(*Contract)
	if ep := Epoch(hot.Epoch()); ep > op.Seen && e.waits(c) {
		op.Seen = ep
	}
}

// settleHot passes a Hot through its partition's lock, because a word nears its limit or because there is
// no sum, and returns the sum.
func (e *Engine) settleHot(hot *shards.Hot, sum int64, added shards.Added) int64 {
	p := hot.Partition()
	p.Lock()
	v := p.ValueOf(hot)
	p.Unlock()
	if added == shards.AddedBlind {
		return v
	}
	return sum
}

// incrHotRun is IncrByRun on a Hot, all or nothing.
func (e *Engine) incrHotRun(op *Op, hot *shards.Hot, deltas, sums []int64) bool {
	total, size := int64(0), int64(0)
	for i, d := range deltas {
		if d < -shards.MaxAdd || d > shards.MaxAdd {
			return false
		}
		total += d
		size += max(d, -d)
		sums[i] = total
	}
	if size > shards.MaxAdd {
		return false
	}
	sum, ok := e.incrHot(op, hot, total)
	if !ok {
		return false
	}
	base := sum - total
	for i := range sums {
		sums[i] += base
	}
	return true
}

// incrHotTimes is IncrByTimes on a Hot, all or nothing.
func (e *Engine) incrHotTimes(op *Op, hot *shards.Hot, delta int64, times int) (sum int64, ok bool) {
	if max := int64(shards.MaxAdd / times); delta < -max || delta > max {
		return 0, false
	}
	sum, ok = e.incrHot(op, hot, delta*int64(times))
	return sum - delta*int64(times-1), ok
}

// getHot is Get on a Hot; ok is false where the ordinary path must do it.
func (e *Engine) getHot(op *Op, hot *shards.Hot, current bool, times int) (v int64, ok bool) {
	if v, ok = hot.Get(op.Writer.id, current, sinceStart); ok {
		e.seeHot(op, hot)
		op.Writer.hits.Add(int64(times))
	}
	return v, ok
}

// sinceStart is the clock of roll-ups.
func sinceStart() time.Duration { return time.Since(started) }

var started = time.Now()
