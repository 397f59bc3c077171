package store

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// compactScheduler is a pebble.CompactionScheduler that runs one compaction at a time, and none while it is
// held. Pebble's own, which it follows, cannot be held; and Pebble starts a compaction as soon as it opens
// a store that needs one, and does not come back from Open before that has ended.
type compactScheduler struct {
	db   pebble.DBForCompaction
	poke chan struct{}
	quit chan struct{}
	bg   sync.WaitGroup

	mu struct {
		sync.Mutex
		held    bool
		running bool // a compaction, or somebody asks for one
		ended   bool
	}
}

// scheduleTick is how often the scheduler asks for work that nobody told it of.
const scheduleTick = 100 * time.Millisecond

func newCompactScheduler(held bool) *compactScheduler {
	s := &compactScheduler{poke: make(chan struct{}, 1), quit: make(chan struct{})}
	s.mu.held = held
	return s
}

// letGo ends the holding.
func (s *compactScheduler) letGo() {
	s.mu.Lock()
	s.mu.held = false
	s.mu.Unlock()
	s.wake()
}

func (s *compactScheduler) wake() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// Register is part of pebble.CompactionScheduler.
func (s *compactScheduler) Register(_ int, db pebble.DBForCompaction) {
	s.db = db
	s.bg.Add(1)
	go func() {
		defer s.bg.Done()
		tick := time.NewTicker(scheduleTick)
		defer tick.Stop()
		for {
			select {
			case <-s.quit:
				return
			case <-tick.C:
			case <-s.poke:
			}
			if ok, handle := s.TrySchedule(); ok {
				if waiting, _ := db.GetWaitingCompaction(); !waiting || !db.Schedule(handle) {
					s.free()
				}
			}
		}
	}()
}

// Unregister is part of pebble.CompactionScheduler: nothing is scheduled after it.
func (s *compactScheduler) Unregister() {
	close(s.quit)
	s.bg.Wait()
	s.mu.Lock()
	s.mu.ended = true
	s.mu.Unlock()
}

// TrySchedule is part of pebble.CompactionScheduler. Pebble may hold its locks.
func (s *compactScheduler) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.held || s.mu.running || s.mu.ended {
		return false, nil
	}
	s.mu.running = true
	return true, s
}

func (s *compactScheduler) free() {
	s.mu.Lock()
	s.mu.running = false
	s.mu.Unlock()
}

// UpdateGetAllowedWithoutPermission is part of pebble.CompactionScheduler; what is allowed does not change.
func (s *compactScheduler) UpdateGetAllowedWithoutPermission() {}

// The rest is pebble.CompactionGrantHandle.

// Started is called when a compaction starts.
func (s *compactScheduler) Started() {}

// MeasureCPU is called by a compaction's goroutines.
func (s *compactScheduler) MeasureCPU(pebble.CompactionGoroutineKind) {}

// CumulativeStats is called now and then.
func (s *compactScheduler) CumulativeStats(pebble.CompactionGrantHandleStats) {}

// Done is called when a compaction has ended.
func (s *compactScheduler) Done() {
	s.free()
	s.wake()
}
