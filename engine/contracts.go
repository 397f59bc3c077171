package engine

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"countd/shards"
)

// contracts are the contracts of an engine. Those of the configuration come first, in its order; then
// those that SetContract made, in the order they were made, which the data directory keeps. One of
// the configuration stands in for a stored one with the same glob.
type contracts struct {
	// set publishes the contracts to commands, which read it under their partition's lock; nil while
	// there are none. A change holds all locks.
	set atomic.Pointer[contractSet]
	// lastEpoch is that of the last change. It is stored before set.
	lastEpoch atomic.Uint64

	changing sync.Mutex // held by a change, guards stored; taken before tablesMu
	stored   contractList
	config   contractList // never changes after Open

	mu      sync.Mutex // guards changes; the innermost lock
	changes []contractChange
}

// contractChange is a change that is not yet flushed.
type contractChange struct {
	epoch uint64
	image []byte
}

// init sets the contracts before the engine is used.
func (k *contracts) init(stored, config contractList) {
	k.stored, k.config = stored, config
	k.set.Store(k.merged(stored))
}

// configContracts checks the contracts of the configuration; of those with the same glob the last one
// counts.
func configContracts(contracts []Contract, logged bool) (contractList, error) {
	var list contractList
	for _, c := range contracts {
		c.FromConfig = true
		if err := c.Check(logged); err != nil {
			return nil, fmt.Errorf("%w (%q)", err, c.Glob)
		}
		if list.set(c); len(list) > MaxContracts {
			return nil, ErrTooManyContracts
		}
	}
	return list, nil
}

// merged returns the set of the configuration's contracts and of stored.
func (k *contracts) merged(stored contractList) *contractSet {
	list := make([]*Contract, 0, len(k.config)+len(stored))
	for i := range k.config {
		list = append(list, &k.config[i])
	}
	for i := range stored {
		if k.config.find(stored[i].Glob) < 0 {
			list = append(list, &stored[i])
		}
	}
	return newContractSet(list)
}

// take appends the images of the changes up to epoch to dst and forgets them.
func (k *contracts) take(epoch uint64, dst []byte) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := 0
	for ; n < len(k.changes) && k.changes[n].epoch <= epoch; n++ {
		dst = append(dst, k.changes[n].image...)
	}
	k.changes = append([]contractChange(nil), k.changes[n:]...)
	return dst
}

// pending reports whether there are changes to flush.
func (k *contracts) pending() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.changes) > 0
}

// SetContract attaches c to the keys that c.Glob matches, existing ones included: when it returns,
// no command runs that does not see it. One with the same glob is replaced, all its properties, and
// keeps its place in the order. FLUSHALL does not touch contracts.
//
// Errors: a *ContractError, or why writes are refused.
func (e *Engine) SetContract(op *Op, c Contract) error {
	c.FromConfig = false
	if err := c.Check(e.logged); err != nil {
		return err
	}
	k := &e.contracts
	k.changing.Lock()
	defer k.changing.Unlock()
	if k.config.find(c.Glob) >= 0 {
		return ErrContractFixed
	}
	stored := slices.Clone(k.stored)
	stored.set(c)
	if len(stored) > MaxContracts {
		return ErrTooManyContracts
	}
	return e.changeContracts(op, stored, appendContractImage(nil, &c))
}

// DelContract removes the contract of a glob and reports whether there was one.
//
// Errors: ErrContractFixed, or why writes are refused.
func (e *Engine) DelContract(op *Op, glob string) (bool, error) {
	k := &e.contracts
	k.changing.Lock()
	defer k.changing.Unlock()
	if k.config.find(glob) >= 0 {
		return false, ErrContractFixed
	}
	stored := slices.Clone(k.stored)
	if !stored.remove(glob) {
		return false, e.seeContracts(op)
	}
	return true, e.changeContracts(op, stored, appendContractDeleteImage(nil, glob))
}

// changeContracts makes stored, which it owns, the contracts that SetContract made. image says how
// they differ from those before. REQUIRES changing.
func (e *Engine) changeContracts(op *Op, stored contractList, image []byte) error {
	k := &e.contracts
	set := k.merged(stored)
	synced := e.flushSync(false) != FsyncNo
	dbs := e.lockTables(0, Databases-1)
	err := e.Err()
	if err == nil {
		k.stored = stored
		retired := e.demoteChanged(set) // before publish reads the epoch
		e.publish(op, set, image)
		e.promoteRetired(retired)
	}
	e.unlockTables(dbs)
	if synced && e.flushSync(false) == FsyncNo {
		e.syncSoon() // a promise of the old contracts
	}
	return err
}

// publish makes set the one in force, in the current epoch, which it reads under k.mu, so that the
// flush that closes the epoch takes the change. REQUIRES all partition locks, and demoteChanged, so
// that every write under the old contracts is of this epoch or an earlier one, every write under the
// new of this or a later one.
func (e *Engine) publish(op *Op, set *contractSet, image []byte) {
	k := &e.contracts
	if e.logged {
		k.mu.Lock()
		epoch := e.epoch.Load()
		k.changes = append(k.changes, contractChange{epoch, image})
		k.mu.Unlock()
		k.lastEpoch.Store(epoch)
		op.Seen = max(op.Seen, Epoch(epoch))
	}
	k.set.Store(set)
}

// lockTables locks all partitions of the databases first to last, in ascending order as all who lock
// several must, and keeps other tables from coming up. It returns the databases that have one.
func (e *Engine) lockTables(first, last int) (dbs []int) {
	e.tablesMu.Lock()
	e.eachTable(func(db int, t *shards.Table) {
		if first <= db && db <= last {
			dbs = append(dbs, db)
			t.LockAllAsIs() // hot counters are in no contents that were put off
		}
	})
	return dbs
}

// unlockTables is the inverse of lockTables.
func (e *Engine) unlockTables(dbs []int) {
	for _, db := range dbs {
		e.tables[db].Load().UnlockAll()
	}
	e.tablesMu.Unlock()
}
