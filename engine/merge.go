package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"countd/shards"
	"countd/wal"
)

// merger carries sealed segments of the log over into the store, in a goroutine of its own. It
// reads nothing but the log, so the store is never ahead of what is durable.
type merger struct {
	kick    chan struct{}
	running atomic.Bool
	merges  atomic.Int64

	// gen is the generation that is captured now, job what is to be merged: the segments that hold all of
	// an earlier one. The committer sets both, the merger takes the job away when it is done.
	gen atomic.Uint32
	job atomic.Pointer[mergeJob]

	// merged is the last segment that the store has. The log keeps it as long as there is no newer one.
	merged atomic.Uint64

	// changing is held while the store takes segments and they are removed. A backup holds it, and takes
	// e.commit below it.
	changing sync.Mutex
}

// mergeJob is the merge of all segments up to one, which hold the captures of a generation.
type mergeJob struct {
	sealed []wal.SegmentInfo
	gen    byte
}

const firstGeneration = 1

func sealedBytes(sealed []wal.SegmentInfo) (n int64) {
	for _, s := range sealed {
		n += s.Bytes
	}
	return n
}

// propose makes a job of the sealed segments when together they have reached size, the last of them is not in
// the store, and the last job is done. Segments that were merged and not removed count: a job removes them.
// REQUIRES e.commit, and that no flush is under way: what was captured is in sealed segments.
func (m *merger) propose(sealed []wal.SegmentInfo, size int64) {
	n := len(sealed)
	if n == 0 || uint64(sealed[n-1].ID) <= m.merged.Load() || sealedBytes(sealed) < size || m.job.Load() != nil {
		return
	}
	gen := m.gen.Load()
	m.gen.Store(gen%shards.Generations + 1)
	m.job.Store(&mergeJob{sealed, byte(gen)})
	m.wake()
}

func (m *merger) wake() {
	select {
	case m.kick <- struct{}{}:
	default:
	}
}

func (e *Engine) mergeLoop() {
	defer e.bg.Done()
	var again retry
	e.merge.wake()
	if err := e.removeMerged(); err != nil {
		e.log.Error("segments of the log that are in the store cannot be removed; the next merge tries again",
			"err", err)
	}
	for {
		select {
		case <-e.quit:
			return
		case <-e.merge.kick:
		case <-again.tick():
			if !e.due(&again) {
				continue
			}
		}
		again = retry{}
		if err := e.mergeIfDue(); err != nil && !errors.Is(err, errMergeStopped) {
			e.log.Error("merging the log into the store failed; it is tried again", "err", err)
			again = e.retryMerge(err)
		}
	}
}

// removeMerged removes the segments that a crash kept from being removed after a merge.
func (e *Engine) removeMerged() error {
	e.merge.changing.Lock()
	defer e.merge.changing.Unlock()
	return e.files.wal.Remove(wal.SegmentID(e.merge.merged.Load()))
}

// mergeIfDue does the job there is, and tells the tables that the store has that generation.
func (e *Engine) mergeIfDue() error {
	job := e.merge.job.Load()
	if job == nil {
		return nil
	}
	if err := e.mergeSegments(job.sealed); err != nil {
		return err
	}
	e.eachTable(func(_ int, t *shards.Table) {
		for part := 0; part < shards.Partitions; part++ {
			p := t.Part(part)
			p.Lock()
			p.Stored(job.gen)
			p.Unlock()
		}
	})
	e.merge.job.Store(nil)
	if e.Err() != nil {
		e.KickCommit(math.MaxUint64) // the log may have waited for the room that the merge has given back
	}
	e.rotateBehind()
	e.mayEvict()
	e.setSlowness()
	return nil
}

var errMergeStopped = errors.New("engine: merge stopped by Close")

// mergeSegments applies segments to the store, the last image of each key, and removes them.
func (e *Engine) mergeSegments(sealed []wal.SegmentInfo) error {
	e.merge.running.Store(true)
	defer e.merge.running.Store(false)
	start := time.Now()
	b, err := e.files.store.Position()
	if err != nil {
		return err
	}
	m := merge{readSeg: e.readSealed, rangeMax: e.mergeRangeBytes()}
	m.seed = e.seed
	if m.pos, err = decodePosition(b); err != nil {
		return err
	}
	m.sealed = slices.DeleteFunc(slices.Clone(sealed), func(s wal.SegmentInfo) bool {
		return s.ID <= m.pos.segment // merged before, but a crash kept it from being removed
	})
	if err := m.survey(); err != nil {
		return err
	}
	m.pos.clockMs = e.clock.last.Load()
	e.merge.changing.Lock()
	defer e.merge.changing.Unlock()
	if len(m.sealed) > 0 {
		if err := e.files.store.Apply(m.pos.append(nil), m.dead, m.next); err != nil {
			return err
		}
		e.merge.merged.Store(uint64(m.pos.segment))
	}
	if err := e.files.wal.Remove(sealed[len(sealed)-1].ID); err != nil {
		return fmt.Errorf("removing merged segments: %w", err)
	}
	e.merge.merges.Add(1)
	e.log.Info("merged the log into the store", "segments", len(sealed), "images", m.images,
		"keys", m.keys, "took", time.Since(start).Round(time.Millisecond))
	return nil
}

// readSealed is wal.Log.ReadSegment, which Close ends.
func (e *Engine) readSealed(id wal.SegmentID, fn func(epoch uint64, chunk []byte) error) ([]byte, error) {
	return e.files.wal.ReadSegment(id, func(epoch uint64, chunk []byte) error {
		if e.stopped() {
			return errMergeStopped
		}
		return fn(epoch, chunk)
	})
}
