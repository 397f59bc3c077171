package engine

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"countd/shards"
	"countd/wal"
)

// committer is the one flush that is under way. It has no goroutine: whoever needs durability
// leads, in his own.
type committer struct {
	sync.Mutex // held by the leader; guards what follows

	// The flush: the epoch that was closed for it, its images, and their cut into chunks. stalled
	// says that the log had no room for it: it is written before another epoch is closed.
	closed  uint64
	changes []byte // images of spaces and contracts, before the others
	images  []byte
	chunks  [][]byte
	meta    []byte
	stalled bool
	// marks: the flush carries the clock, if nothing else; markDue says that one is to, see Engine.hides.
	marks   bool
	markDue atomic.Bool
	// unsynced: the log holds flushes that were appended and not synced.
	unsynced bool
	// unproven: nothing in the log says yet that its last flush was synced, see prove.
	unproven bool
	appended uint64       // the epoch of the last of them
	pending  *pendingSync // nil: no sync runs beside
	// keys counts the entries of each database at the cut.
	keys [Databases]int64

	rotateWarned bool // that there can be no new segment

	hook func()
	kick chan struct{}
	// kicked: someone asked for a commit that has not begun. He sets it and then looks at syncing, which
	// says that a sync runs beside; who has ended that clears syncing and then looks at kicked.
	kicked, syncing atomic.Bool
	speed           syncSpeed
}

const (
	// keepImageBytes bounds the buffer that is kept from flush to flush.
	keepImageBytes = 16 << 20
)

// Policy is the current appendfsync policy.
func (e *Engine) Policy() FsyncPolicy { return FsyncPolicy(e.policy.Load()) }

// ErrPolicy is returned by SetPolicy for a change that needs a restart.
var ErrPolicy = errors.New("engine: the log cannot be turned on or off at run time")

// SetPolicy changes the policy; FsyncOff can be neither left nor entered. Where syncs begin it
// returns when all that was acknowledged before is synced; where they end the last one is on its way.
func (e *Engine) SetPolicy(p FsyncPolicy) error {
	if (p == FsyncOff) == e.logged {
		return ErrPolicy
	}
	old := FsyncPolicy(e.policy.Swap(int32(p)))
	e.policySince.Store(e.epoch.Load()) // a write that read the old policy read its epoch before
	if old != FsyncAlways && p != FsyncNo {
		return e.Commit(math.MaxUint64) // what was only written so far is synced first
	}
	if old == FsyncEverySec {
		e.syncSoon()
	}
	return nil
}

// Durable is the highest epoch that is synced, whatever the policy.
func (e *Engine) Durable() Epoch { return Epoch(e.durable.Load()) }

// OnCommit sets the hook that runs after a commit that the engine's flusher or Commit led, where a
// sync runs beside after that, and after the log failed; a caller of TryCommit that got true looks
// after the others himself. It runs in the goroutine that led or synced, without locks, and must not
// block. Set it before the first command.
func (e *Engine) OnCommit(fn func()) { e.commit.hook = fn }

// TryCommit leads one commit in the caller's goroutine: it closes the current epoch, syncs it and
// raises Durable. It returns false where another goroutine leads just now, and where
// the log does not take the flush (then Err says why). After a commit that another goroutine leads,
// the hook runs or, if that was a caller of TryCommit, he looks for waiters: so nobody who
// registered his need before TryCommit returned false is left waiting.
func (e *Engine) TryCommit() bool {
	if !e.commit.TryLock() {
		return false
	}
	err := e.commitLocked(FsyncAlways)
	e.commit.Unlock()
	if err != nil {
		e.commit.hook()
	}
	return err == nil
}

// Commit returns when everything up to epoch is synced, or with the error that prevents it.
func (e *Engine) Commit(epoch Epoch) error {
	if !e.logged {
		return nil
	}
	e.commit.Lock()
	var err error
	if e.Durable() < epoch {
		err = e.commitLocked(FsyncAlways)
	}
	e.commit.Unlock()
	e.commit.hook()
	return err
}

// KickCommit asks for a commit soon that makes epoch durable, unless a sync that does is under way.
// When it has ended, or where it failed, the hook runs. The engine's flusher leads it, or where a sync
// runs beside, which the new one must wait for, its goroutine when that has ended: so that all who come
// meanwhile share a flush.
func (e *Engine) KickCommit(epoch Epoch) {
	if Epoch(e.promised.Load()) >= epoch {
		return
	}
	c := &e.commit
	c.kicked.Store(true)
	if c.syncing.Load() {
		return
	}
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// CommitInPlace reports whether an event loop does better to lead (TryCommit) than to leave it to the
// flusher (KickCommit): syncs have been fast of late, and there is no one who need not wait for them. It
// does not where the log can fail over: a loop cannot leave a sync that stalls, the flusher can.
func (e *Engine) CommitInPlace() bool {
	return e.allWait() && e.commit.speed.fast() && e.opts.LogFailoverDir == ""
}

// commitLocked makes one flush: the stalled one, or that of the current epoch, and syncs it as
// writeFlush says. REQUIRES e.commit.
func (e *Engine) commitLocked(sync FsyncPolicy) error {
	c := &e.commit
	if r := e.refusal.Load(); r != nil && r.final {
		return r.err
	}
	start := time.Now()
	if !c.stalled {
		c.closed = e.epoch.Add(1) - 1
		e.collect()
	}
	if err := e.writeFlush(sync); err != nil {
		return err
	}
	e.acceptWrites()
	if c.pending == nil && !c.unsynced {
		e.raiseDurable(c.closed)
	} // else endSync raises it, or a later sync
	e.stats.flushes.Add(1)
	e.stats.lastFlushUs.Store(time.Since(start).Microseconds())
	e.rotateIfDue()
	e.setSlowness()
	return nil
}

// writeFlush appends the flush to the log, if there is anything in it. What is not synced it syncs:
// before it returns with FsyncAlways, beside the next flushes with FsyncEverySec, not with FsyncNo.
// REQUIRES e.commit.
func (e *Engine) writeFlush(sync FsyncPolicy) error {
	c := &e.commit
	if len(c.chunks) > 0 || c.marks {
		err := e.files.wal.Append(c.closed, c.chunks, c.meta)
		if err != nil && !errors.Is(err, wal.ErrFailed) { // nothing was written; it is tried again
			kind := ErrLogBlocked
			if errors.Is(err, wal.ErrDiskFull) {
				kind = ErrDiskFull
			}
			c.stalled = true
			e.refuse(&refusal{err: fmt.Errorf("%w: a flush of %d bytes: %w", kind, len(c.images), err)})
			return err
		}
		c.stalled = false
		if err != nil {
			return e.failed(err)
		}
		c.unsynced, c.unproven, c.appended, c.marks = true, true, c.closed, false
	}
	e.written.Store(c.closed)
	switch sync {
	case FsyncEverySec:
		e.promised.Store(c.closed)
		e.beginSync()
		return nil
	case FsyncAlways:
		return e.syncNow()
	}
	return nil
}

// prove appends a flush of nothing behind the last one, if that is synced: so that damage to it can be told
// from a torn write, which only what was written after a sync can do. It comes when nothing else is to be
// written, and takes no sync. REQUIRES e.commit, right behind commitLocked.
func (e *Engine) prove() {
	c := &e.commit
	if !c.unproven || c.unsynced || c.pending != nil || len(c.chunks) > 0 || c.appended == c.closed {
		return
	}
	switch err := e.files.wal.Append(c.closed, nil, c.meta); {
	case err == nil:
		c.unproven, c.unsynced, c.appended = false, true, c.closed
	case errors.Is(err, wal.ErrFailed):
		_ = e.failed(err)
	} // no room: it need not be
}

// mayProve reports whether prove has something to do.
func (e *Engine) mayProve() bool {
	e.commit.Lock()
	defer e.commit.Unlock()
	return e.commit.unproven && !e.commit.unsynced && e.commit.pending == nil && e.Err() == nil
}

// failed makes an error of the log final.
func (e *Engine) failed(err error) error {
	e.refuse(&refusal{err: fmt.Errorf("%w: %w", ErrSyncFailed, err), final: true})
	return err
}

// collect gathers the images of the epoch that was just closed. REQUIRES e.commit.
//
// They are those of one instant, the closing: a write that read the epoch before it was closed has
// its partition on the list (beginWrite) and keeps the partition's lock until it is complete, and
// collect takes that lock. A write that reads the new epoch finds what its partition holds of the
// old one still dirty, or already taken; dirty images it captures first (enterEpoch). No writer can
// be two epochs ahead, since the next epoch is closed only after collect has visited all.
func (e *Engine) collect() {
	c := &e.commit
	c.images = c.images[:0]
	if cap(c.images) > keepImageBytes {
		c.images = nil
		c.chunks = nil // they point into it
	}
	e.eachTable(func(db int, t *shards.Table) {
		t.TakeListed(func(part int) {
			p := t.Part(part)
			p.Lock()
			c.images = e.collectPartition(db, t, part, p, c.images)
			p.Unlock()
		})
	})
	c.marks = c.markDue.Swap(false) || c.marks
	c.changes = e.spaces.take(c.closed, c.changes[:0])
	c.changes = e.contracts.take(c.closed, c.changes)
	c.chunks = c.chunks[:0]
	for _, b := range [][]byte{c.changes, c.images} {
		for len(b) > 0 {
			n := min(len(b), wal.MaxChunkBytes)
			c.chunks = append(c.chunks, b[:n])
			b = b[n:]
		}
	}
	m := flushMeta{clockMs: e.clock.now(), keys: c.keys}
	c.meta = m.append(c.meta[:0])
}

// collectPartition takes what p holds of the closed epoch, and puts p back on the list where it
// holds something of the next. REQUIRES e.commit and p's lock.
func (e *Engine) collectPartition(db int, t *shards.Table, part int, p *shards.Partition, dst []byte) []byte {
	p.Listed = false
	if p.Epoch <= e.commit.closed { // nothing is pending: the dirty list was not turned over
		dst = e.capture(t, p, dst)
	} else if p.DirtyLen() > 0 || p.CutLive != p.Live() {
		p.Listed = true
		t.List(part)
	}
	p.Shrink() // here, where no command has found a record in it
	dst, delta := p.TakePending(dst)
	e.commit.keys[db] += int64(delta)
	return dst
}

// capture appends the images of p's dirty list and empties it. REQUIRES p's lock.
func (e *Engine) capture(t *shards.Table, p *shards.Partition, dst []byte) []byte {
	n := p.DirtyLen()
	p.Capture(byte(e.merge.gen.Load()), func(r shards.Ref) { dst = appendImage(dst, t, p, r) })
	p.PendingDelta += p.Live() - p.CutLive
	p.CutLive = p.Live()
	e.stats.images.Add(int64(n))
	e.stats.unsaved.Add(int64(n))
	return dst
}

// refuse makes writes answer r.err and says so once.
func (e *Engine) refuse(r *refusal) {
	if old := e.refusal.Load(); old == nil || (r.final && !old.final) {
		e.log.Error("writes are refused", "final", r.final, "err", r.err)
		e.refusal.Store(r)
	}
}

// acceptWrites ends a refusal that was not final.
func (e *Engine) acceptWrites() {
	if r := e.refusal.Load(); r != nil && !r.final {
		e.refusal.Store(nil)
		e.log.Info("writes are accepted again")
	}
}

// rotateIfDue seals the log's segment when it is full, or is to go on in its own directory again, and
// wakes the merger. REQUIRES e.commit.
func (e *Engine) rotateIfDue() {
	log := e.files.wal
	if e.commit.pending != nil || log.ActiveBytes() < e.segmentBytes() && !log.ShouldRotate() {
		return
	}
	// No room, no descriptor: the segment grows until there is.
	if err := e.rotate(); err != nil && !errors.Is(err, wal.ErrFailed) && !e.commit.rotateWarned {
		e.commit.rotateWarned = true
		e.log.Warn("the log cannot begin a new segment; it goes on in the old one", "err", err)
	}
}

// rotateBehind seals the log's segment after a merge, where enough was sealed meanwhile to merge again.
func (e *Engine) rotateBehind() {
	e.commit.Lock()
	defer e.commit.Unlock()
	if e.commit.pending == nil && !e.commit.stalled && sealedBytes(e.files.wal.Sealed()) >= e.mergeBytes() {
		_ = e.rotate() // else when the segment is full
	}
}

// rotate seals the log's segment and wakes the merger. REQUIRES e.commit, and that no sync is pending.
func (e *Engine) rotate() error {
	_, err := e.files.wal.Rotate()
	switch {
	case err == nil:
		e.commit.rotateWarned, e.commit.unsynced, e.commit.unproven = false, false, false // Rotate synced it
		e.raiseDurable(e.written.Load())
		e.merge.propose(e.files.wal.Sealed(), e.mergeBytes())
	case errors.Is(err, wal.ErrFailed):
		_ = e.failed(err)
	}
	return err
}

// flushLoop is the engine's flusher: it commits on a timer, and when it is kicked.
func (e *Engine) flushLoop() {
	defer e.bg.Done()
	timer := time.NewTimer(e.opts.FlushInterval)
	defer timer.Stop()
	for {
		kicked := false
		select {
		case <-e.quit:
			return
		case <-e.commit.kick:
			kicked = true
		case <-timer.C:
		}
		start := time.Now()
		kicked = e.commit.kicked.Swap(false) || kicked
		busy := kicked || e.anyListed()
		if busy || e.mayProve() {
			e.commit.Lock()
			err := e.commitLocked(e.flushSync(kicked)) // reported by refuse
			if !busy && err == nil {
				e.prove()
			}
			beside := err == nil && e.commit.pending != nil
			e.commit.Unlock()
			if !beside { // else when the sync has ended
				e.commit.hook()
			}
		}
		timer.Reset(max(e.opts.FlushInterval-time.Since(start), time.Millisecond))
	}
}

func (e *Engine) anyListed() bool {
	any := e.refusal.Load() != nil || e.contracts.pending() || // a stalled flush is tried again
		e.commit.markDue.Load()
	e.eachTable(func(_ int, t *shards.Table) { any = any || t.AnyListed() })
	return any
}
