package engine

import (
	"sync/atomic"
	"time"

	"countd/shards"
)

// warming is how far the reading back of what a start left in the store is.
type warming struct {
	of, done atomic.Int64 // partitions
	ended    atomic.Bool
	left     atomic.Bool // a start left entries in the store alone, and not all were read back
}

func (w *warming) progress() (running bool, percent float64) {
	running = w.left.Load() && !w.ended.Load()
	of := w.of.Load()
	switch {
	case of > 0:
		percent = 100 * float64(w.done.Load()) / float64(of)
	case !running:
		percent = 100
	}
	return running, percent
}

// warmStride is how long the warming works between two rests: thousands of short ones would take longer than
// they say.
const warmStride = 500 * time.Microsecond

// breather rests as long as it worked.
type breather struct {
	e     *Engine
	since time.Time // the last rest
}

func (b *breather) breathe() {
	if worked := time.Since(b.since); worked > warmStride {
		b.e.rest(worked)
		b.since = time.Now()
	}
}

// warmLoop applies the images that a start put off, then reads the store back, partition by partition, until
// all is in the table. It rests as long as it works, since clients are served meanwhile.
func (e *Engine) warmLoop() {
	defer e.bg.Done()
	defer e.warm.ended.Store(true)
	if e.opts.noWarming || !e.warm.left.Load() { // not Partial: entries may have been evicted by now
		return
	}
	start := time.Now()
	e.eachTable(func(int, *shards.Table) { e.warm.of.Add(shards.Partitions) })
	e.eachTable(func(_ int, t *shards.Table) {
		work := breather{e, time.Now()}
		for part := 0; part < shards.Partitions && !e.stopped(); part++ {
			countPartition(t, part)
			work.breathe()
		}
	})
	complete, full := true, false
	e.eachTable(func(db int, t *shards.Table) {
		work := breather{e, time.Now()}
		for part := 0; part < shards.Partitions; part++ {
			if e.stopped() {
				complete = false
				return
			}
			if budget := e.tableBudget(); budget > 0 && part%16 == 0 && e.tableBytes() > budget-budget/warmShare {
				full = true
			}
			if full {
				complete = false
				return
			}
			if err := e.loadPartition(t, part); err != nil {
				complete = false
				e.log.Error("a part of the store could not be read back; its keys are read when they are "+
					"asked for", "database", db, "partition", part, "err", err)
			}
			e.warm.done.Add(1)
			work.breathe()
		}
		first := t.Part(0)
		first.Lock()
		missing := first.Ghosts()
		first.Unlock()
		if missing != 0 && complete {
			e.log.Error("the number of keys is not that of the last flush: the data directory is damaged; "+
				"countd check tells more",
				"database", db, "missing", missing)
		}
	})
	if complete {
		e.warm.left.Store(false)
		e.log.Info("all keys are in memory", "took", time.Since(start).Round(time.Millisecond))
	}
}

// countPartition finds out how many entries a partition has, where all of them are in the table.
func countPartition(t *shards.Table, part int) {
	first, p := t.Part(0), t.Part(part)
	if part > 0 {
		first.Lock()
		defer first.Unlock()
	}
	p.Lock()
	defer p.Unlock()
	if !p.Partial && !p.Counted {
		first.AddGhosts(-p.Count())
	}
}

// countAll brings all entries of a table back and counts them. It is used before anyone else uses the engine.
func (e *Engine) countAll(t *shards.Table) (n int64, err error) {
	for part := 0; part < shards.Partitions; part++ {
		if err := e.loadPartition(t, part); err != nil {
			return 0, err
		}
		countPartition(t, part)
	}
	first := t.Part(0)
	first.AddGhosts(-first.Ghosts()) // nobody said how many there would be
	for part := 0; part < shards.Partitions; part++ {
		n += int64(t.Part(part).Live())
	}
	return n, nil
}

func (e *Engine) stopped() bool {
	select {
	case <-e.quit:
		return true
	default:
		return false
	}
}

func (e *Engine) rest(d time.Duration) {
	select {
	case <-e.quit:
	case <-time.After(d):
	}
}
