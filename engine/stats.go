package engine

import (
	"sync/atomic"

	"countd/shards"
	"countd/wal"
)

// counters are what no partition counts.
type counters struct {
	flushes     atomic.Int64
	images      atomic.Int64
	unsaved     atomic.Int64 // images since the last backup's cut
	lastFlushUs atomic.Int64
	lastSyncUs  atomic.Int64
	faults      atomic.Int64 // entries that a command had to read from the store itself
	loads       atomic.Int64 // entries that were read for it before
	evicted     atomic.Int64
}

// Stats is what INFO prints of the engine.
type Stats struct {
	Keys, Expires   [Databases]int64
	AvgTTLMs        [Databases]int64
	TableBytes      int64 // resident tables: indexes, arenas, blobs
	ExpiredKeys     int64 // since start or ResetStats, like the next two
	KeyspaceHits    int64
	KeyspaceMisses  int64
	Dirty           int64 // entries written since the last flush began
	Unsaved         int64 // entries written since the last backup's cut; once for each flush that has it
	LogBytes        int64 // log that is not yet in the store
	LogSegments     int64 // sealed ones
	LogFailover     wal.FailoverStats
	StoreBytes      int64
	Flushes         int64
	FlushedImages   int64
	LastFlushUs     int64
	LastSyncUs      int64
	LastFlushOK     bool
	Epoch, Durable  Epoch // the current one, the last that is synced
	Written         Epoch // the last that is in the log
	MergeInProgress bool
	Merges          int64
	Faults, Loads   int64 // reads of the store by commands, and ahead of them
	Evicted         int64
	Warming         bool
	WarmedPercent   float64
}

// Stats adds up the statistics. It takes every partition's lock once, one at a time.
func (e *Engine) Stats() Stats {
	s := Stats{
		Flushes:         e.stats.flushes.Load(),
		FlushedImages:   e.stats.images.Load(),
		LastFlushUs:     e.stats.lastFlushUs.Load(),
		LastSyncUs:      e.stats.lastSyncUs.Load(),
		LastFlushOK:     e.Err() == nil,
		Epoch:           Epoch(e.epoch.Load()),
		Durable:         e.Durable(),
		Written:         Epoch(e.written.Load()),
		MergeInProgress: e.merge.running.Load(),
		Merges:          e.merge.merges.Load(),
	}
	for _, w := range e.writers.list() {
		s.KeyspaceHits += w.hits.Load()
	}
	s.Warming, s.WarmedPercent = e.warm.progress()
	s.Faults, s.Loads, s.Evicted = e.stats.faults.Load(), e.stats.loads.Load(), e.stats.evicted.Load()
	now := e.NowMs()
	e.eachTable(func(db int, t *shards.Table) {
		s.TableBytes += t.Size()
		sum := int64(0)
		for part := 0; part < shards.Partitions; part++ {
			p := t.Part(part)
			p.LockAsIs()
			s.Keys[db] += int64(p.Live())
			n, partSum := p.Expires()
			s.Expires[db] += int64(n)
			sum += partSum - int64(n)*now
			s.ExpiredKeys += p.Expired
			s.KeyspaceHits += p.Hits
			s.KeyspaceMisses += p.Misses
			s.Dirty += int64(p.DirtyLen())
			p.Unlock()
		}
		if s.Expires[db] > 0 {
			s.AvgTTLMs[db] = max(0, sum/s.Expires[db])
		}
	})
	s.Unsaved = e.stats.unsaved.Load() + s.Dirty
	if e.logged {
		s.LogBytes = e.tailBytes()
		s.LogFailover = e.files.wal.FailoverStats()
		s.LogSegments = int64(len(e.files.wal.Sealed()))
		s.StoreBytes = e.files.store.Metrics().DiskBytes
	}
	return s
}

// ResetStats sets the counts of CONFIG RESETSTAT to 0.
func (e *Engine) ResetStats() {
	e.eachTable(func(db int, t *shards.Table) {
		for part := 0; part < shards.Partitions; part++ {
			p := t.Part(part)
			p.LockAsIs()
			p.Hits, p.Misses, p.Expired = 0, 0, 0
			p.Unlock()
		}
	})
	for _, w := range e.writers.list() {
		w.hits.Store(0)
	}
	e.detect.resetStats()
	e.stats.flushes.Store(0)
	e.stats.images.Store(0)
}
