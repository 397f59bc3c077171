package engine

import (
	"sync"

	"countd/shards"
)

// spaces names the contents of each database by a number, its space. Images and stored entries
// carry it. FLUSHDB is a new number: what has the old one is then of no account, and need not be
// deleted one by one.
type spaces struct {
	mu      sync.Mutex
	next    uint64
	current [Databases]uint64
	changes []spaceChange // not yet flushed
}

type spaceChange struct {
	epoch uint64
	db    int
	space uint64
}

// init sets the spaces as the data directory has them.
func (s *spaces) init(current [Databases]uint64) {
	s.current = current
	for _, id := range current {
		s.next = max(s.next, id+1)
	}
}

func (s *spaces) of(db int) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current[db]
}

// newSpaces are the spaces of a new data directory.
func newSpaces() (current [Databases]uint64) {
	for db := range current {
		current[db] = uint64(db) + 1
	}
	return current
}

// fresh gives database db a new space in the current epoch. REQUIRES all partition locks of its
// table, listed before the epoch was read: so the flush that closes the epoch takes the change only
// after it is complete.
func (s *spaces) fresh(epoch uint64, db int) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	space := s.next
	s.next++
	s.current[db] = space
	s.changes = append(s.changes, spaceChange{epoch, db, space})
	return space
}

// take appends the images of the changes up to epoch to dst and forgets them.
func (s *spaces) take(epoch uint64, dst []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.changes[:0]
	for _, c := range s.changes {
		if c.epoch <= epoch {
			dst = appendSpaceImage(dst, c.db, c.space)
		} else {
			kept = append(kept, c)
		}
	}
	s.changes = kept
	return dst
}

// FlushDB deletes every key of the database.
func (e *Engine) FlushDB(op *Op) error { return e.flushTables(op, op.DB, op.DB) }

// FlushAll deletes every key of all databases, at one instant.
func (e *Engine) FlushAll(op *Op) error { return e.flushTables(op, 0, Databases-1) }

func (e *Engine) flushTables(op *Op, first, last int) error {
	dbs := e.lockTables(first, last)
	defer e.unlockTables(dbs)
	if err := e.Err(); err != nil {
		return err
	}
	for _, db := range dbs { // all are listed before the epoch is read, as beginWrite says
		t := e.tables[db].Load()
		for part := 0; e.logged && part < shards.Partitions; part++ {
			if p := t.Part(part); !p.Listed {
				p.Listed = true
				t.List(part)
			}
		}
	}
	ep := e.epoch.Load()
	for _, db := range dbs {
		e.resetTable(db, e.tables[db].Load(), ep)
	}
	if e.logged && e.someWait() {
		op.Seen = max(op.Seen, Epoch(ep))
	}
	return nil
}

// resetTable empties a table in epoch ep. What is dirty of an earlier epoch is captured, what is
// dirty of this one is of no account. REQUIRES all of t's locks.
func (e *Engine) resetTable(db int, t *shards.Table, ep uint64) {
	for part := 0; part < shards.Partitions; part++ {
		p := t.Part(part)
		if e.logged && p.Epoch != ep {
			e.enterEpoch(t, p, ep)
		}
		p.Reset()
	}
	if e.logged {
		t.Space = e.spaces.fresh(ep, db)
	}
}
