package engine

import "math"

// A key's durability is the server's policy unless its contract names another. Replies about a key
// whose durability is always wait until what they tell is synced; others are told at once. So that
// neither holds up the other, a sync runs beside the next flushes unless every key waits: then the
// leader syncs in place, which saves two wake-ups.

// durabilityOf is the durability of a key whose contract is c; nil: none.
func (e *Engine) durabilityOf(c *Contract) FsyncPolicy {
	if c != nil && c.Durability != FsyncOff {
		return c.Durability
	}
	return FsyncPolicy(e.policy.Load())
}

// waits reports whether replies about a key whose contract is c wait for the disk. Load the epoch
// that the reply would wait for before: then all that did not wait is in the commit of SetPolicy.
func (e *Engine) waits(c *Contract) bool { return e.durabilityOf(c) == FsyncAlways }

// settled is the highest epoch that a read of a key whose contract is c may show while writes are
// refused: what is synced, or, where nothing is ever promised to be, what is written.
func (e *Engine) settled(c *Contract) uint64 {
	if e.durabilityOf(c) == FsyncNo {
		return e.written.Load()
	}
	return e.durable.Load()
}

// seeEpoch records in op that a key whose contract is c was read, after the read; epoch is that of
// its last write, or a later one. While writes are refused it refuses what must be durable and is
// not: after a failed sync it may never be, and a reply that waits would wait until the log can be
// written.
func (e *Engine) seeEpoch(epoch uint64, c *Contract, op *Op) error {
	waits := e.waits(c)
	if r := e.refusal.Load(); r != nil && (r.final || waits) && epoch > e.settled(c) {
		return r.err // which tells nothing that would have to wait
	}
	if waits && Epoch(epoch) > op.Seen {
		op.Seen = Epoch(epoch)
	}
	return nil
}

// durabilitySet has a bit for each durability that a contract names.
type durabilitySet uint32

func (s *durabilitySet) add(p FsyncPolicy) {
	if p != FsyncOff {
		*s |= 1 << p
	}
}

func (s durabilitySet) has(p FsyncPolicy) bool { return s&(1<<p) != 0 }

// named is what the contracts in force name.
func (e *Engine) named() durabilitySet {
	if s := e.contracts.set.Load(); s != nil {
		return s.named
	}
	return 0
}

// syncSoon has the flusher sync what was acknowledged so far, where a promise of that was given that
// nobody keeps any more.
func (e *Engine) syncSoon() {
	if e.logged {
		e.KickCommit(math.MaxUint64)
	}
}

// someWait reports whether there may be keys that wait: then what tells of all of them waits.
func (e *Engine) someWait() bool { return e.Policy() == FsyncAlways || e.named().has(FsyncAlways) }

// allWait reports whether every key waits, so that a sync in place holds up no one.
func (e *Engine) allWait() bool {
	return e.Policy() == FsyncAlways && e.named()&^(1<<FsyncAlways) == 0
}

// flushSync says how a flush that the engine's flusher leads is synced; see writeFlush. What a loop
// asked for is synced in any case, what a timer began where a second is all that may be lost.
func (e *Engine) flushSync(kicked bool) FsyncPolicy {
	n := e.named()
	switch {
	case e.allWait():
		return FsyncAlways
	case kicked || e.Policy() != FsyncNo || n.has(FsyncEverySec) || n.has(FsyncAlways):
		return FsyncEverySec
	}
	return FsyncNo
}
