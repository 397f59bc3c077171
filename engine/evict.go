package engine

import (
	"sync/atomic"
	"time"

	"countd/shards"
)

// evictor keeps the tables within the budget: what was not used of late leaves them, and is read back from
// the store when it is asked for.
type evictor struct {
	budget atomic.Int64  // bytes of all tables; 0: none
	began  atomic.Bool   // entries were evicted, and so may be at any time
	kick   chan struct{} // a merge has ended: more entries may be evicted
	db     int           // where the clock hand is
	part   int
}

const (
	// evictTick is how often the size is looked at. An insertion load of a million keys a second passes the
	// budget by about a megabyte meanwhile.
	evictTick = 20 * time.Millisecond
	// evictSlack is what is evicted below the budget, as a fraction of it: 1/evictSlack.
	evictSlack = 64
	// vainShare bounds the time in which the clock hand moves in vain, where what is over the budget is not
	// stored yet: 1/vainShare. The end of a merge ends the rest.
	vainShare = 32
	// warmShare is how much of the budget a start fills: 1 - 1/warmShare.
	warmShare = 8
	// The store's cache is 1/cacheShare of maxmemory, within these bounds. Filters take a byte a key.
	cacheShare = 4
	minCache   = 16 << 20
	maxCache   = 1 << 30
	// entryOverhead is what an entry takes of its partition's index, in bytes.
	entryOverhead = 11
)

// SetMaxMemory sets how many bytes the tables may take before entries that were not used of late leave
// them; 0: any number. Without a log it must be 0.
func (e *Engine) SetMaxMemory(bytes int64) error {
	if bytes > 0 && !e.logged {
		return ErrNoStore
	}
	e.evict.budget.Store(bytes)
	return nil
}

// tableBudget is what the tables may take of the budget, in bytes; 0: any number. What the store's cache
// takes above its least is the rest: without its filters in memory the store reads a part of each table to
// find out that a key is not there.
func (e *Engine) tableBudget() int64 {
	budget := e.evict.budget.Load()
	return budget - min(CacheOf(e.opts.MaxMemory), budget/2)
}

// CacheOf is how much of maxMemory bytes the store's cache takes above its least. The cache is made when the
// engine is opened, and lies outside of Go's heap where Pebble is built with cgo: there the C library needs
// half as much again.
func CacheOf(maxMemory int64) int64 { return (cacheBytes(maxMemory) - minCache) * 3 / 2 }

func cacheBytes(maxMemory int64) int64 { return max(minCache, min(maxMemory/cacheShare, maxCache)) }

// MaxMemory is what SetMaxMemory has set.
func (e *Engine) MaxMemory() int64 { return e.evict.budget.Load() }

func (e *Engine) tableBytes() (n int64) {
	e.eachTable(func(_ int, t *shards.Table) { n += t.Size() })
	return n
}

func (e *Engine) evictLoop() {
	defer e.bg.Done()
	for !e.stopped() {
		rest := evictTick
		set := e.evict.budget.Load()
		if budget := e.tableBudget(); budget > 0 {
			start := time.Now()
			if size := e.tableBytes(); size > budget && !e.evictBytes(set, size-budget+budget/evictSlack) {
				rest = max(rest, vainShare*time.Since(start))
			}
		}
		select {
		case <-e.quit:
		case <-e.evict.kick:
		case <-time.After(rest):
		}
	}
}

// evictBytes moves the clock hand on until it has evicted so much, been everywhere EvictPasses times, or
// maxmemory is no longer budget. It reports whether it has evicted so much.
func (e *Engine) evictBytes(budget, want int64) bool {
	e.evict.began.Store(true)
	freed, tables := int64(0), 0
	e.eachTable(func(int, *shards.Table) { tables++ })
	for left := shards.EvictPasses * tables * shards.Partitions; left > 0 && freed < want; left-- {
		if e.stopped() || e.evict.budget.Load() != budget {
			break
		}
		t := e.tables[e.evict.db].Load()
		if t == nil || e.evict.part == shards.Partitions {
			e.nextTable()
			left++ // that was no partition
			continue
		}
		p := t.Part(e.evict.part)
		e.evict.part++
		p.Lock()
		bytes, n := p.Evict()
		p.Unlock()
		freed += int64(bytes + n*entryOverhead)
		e.stats.evicted.Add(int64(n))
	}
	return freed >= want
}

// mayEvict says that there is more to evict.
func (e *Engine) mayEvict() {
	select {
	case e.evict.kick <- struct{}{}:
	default:
	}
}

func (e *Engine) nextTable() {
	e.evict.db, e.evict.part = (e.evict.db+1)%Databases, 0
}
