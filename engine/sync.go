package engine

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Where every key waits the leader syncs in place; else a sync runs beside the next flushes.

// syncNow syncs what is not synced. REQUIRES e.commit.
func (e *Engine) syncNow() error {
	c := &e.commit
	if err := e.endSync(); err != nil || !c.unsynced {
		return err
	}
	start := time.Now()
	if err := e.files.wal.Sync(); err != nil {
		return e.failed(err)
	}
	c.unsynced = false
	e.syncTook(time.Since(start))
	return nil
}

func (e *Engine) syncTook(took time.Duration) {
	e.commit.speed.add(took)
	e.stats.lastSyncUs.Store(took.Microseconds())
}

// pendingSync is a sync that runs beside the next flushes: a slow one must not keep them from being
// written, which is what a process that is killed loses.
type pendingSync struct {
	epoch uint64 // what it makes durable
	took  time.Duration
	done  chan error // its result, once
}

// beginSync starts a sync of what was appended so far, unless one is running: that one's end is followed
// by another. REQUIRES e.commit.
func (e *Engine) beginSync() {
	c := &e.commit
	if !c.unsynced || c.pending != nil {
		return
	}
	p := &pendingSync{epoch: e.written.Load(), done: make(chan error, 1)}
	c.pending = p
	c.syncing.Store(true)
	run := e.files.wal.BeginSync()
	e.bg.Add(1)
	go func() {
		defer e.bg.Done()
		start := time.Now()
		err := run()
		p.took = time.Since(start)
		p.done <- err
		c.Lock()
		if c.pending == p {
			err = e.endSync() // an error was reported by refuse
		}
		switch {
		case c.kicked.Swap(false):
			_ = e.commitLocked(e.flushSync(true))
		case err == nil && e.promised.Load() > e.durable.Load():
			e.beginSync() // of what was appended meanwhile
		}
		c.Unlock()
		c.hook()
	}()
}

// endSync waits for the pending sync, if there is one, and raises Durable. REQUIRES e.commit.
func (e *Engine) endSync() error {
	c := &e.commit
	p := c.pending
	if p == nil {
		return nil
	}
	err := e.files.wal.EndSync(<-p.done)
	c.pending = nil
	c.syncing.Store(false)
	if err != nil {
		return e.failed(err)
	}
	durable := p.epoch
	if c.appended <= p.epoch { // there was nothing in the flushes behind it
		c.unsynced = false
		durable = e.written.Load()
	}
	e.raiseDurable(durable)
	e.syncTook(p.took)
	e.rotateIfDue()
	return nil
}

// raiseDurable publishes that what was written up to epoch is synced. REQUIRES e.commit.
func (e *Engine) raiseDurable(epoch uint64) { e.durable.Store(max(e.durable.Load(), epoch)) }

// syncSpeed remembers how many of the last 64 syncs were slow, one bit each.
type syncSpeed struct{ slow atomic.Uint64 }

const (
	// slowSync is where handing the sync to another goroutine starts to pay: the handing over
	// itself costs two wake-ups, about 50 µs of CPU.
	slowSync = 3 * time.Millisecond
	// maxSlowSyncs of 64 are forgiven: a loaded machine is not a slow disk.
	maxSlowSyncs = 8
)

func (s *syncSpeed) add(took time.Duration) { // called by the leader only
	bit := uint64(0)
	if took > slowSync {
		bit = 1
	}
	s.slow.Store(s.slow.Load()<<1 | bit)
}

func (s *syncSpeed) fast() bool { return bits.OnesCount64(s.slow.Load()) <= maxSlowSyncs }
