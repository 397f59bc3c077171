package engine

import (
	"time"

	"countd/shards"
)

// promote gives the counter at key a Hot, as its contract says, and reports whether it has one. One with
// bounds or a tally never gets one: its increments must be looked at one by one, under the lock.
func (e *Engine) promote(db int, key []byte) bool {
	return e.locked(db, key, func(en *entry) bool { return e.promoteEntry(en, key) })
}

// locked runs fn under the lock of key's partition with the entry that was found there. Where the
// database is not in use it is not run, and the result is false.
func (e *Engine) locked(db int, key []byte, fn func(*entry) bool) bool {
	if e.tables[db].Load() == nil {
		return false
	}
	en := e.place(&Op{DB: db}, key)
	en.p.Lock()
	defer en.p.Unlock()
	e.look(&en, key)
	return fn(&en)
}

// promoteEntry is promote once the entry was found. REQUIRES the lock.
func (e *Engine) promoteEntry(en *entry, key []byte) bool {
	return e.promoteAs(en, key, e.hotOptions(en.c))
}

// promoteAs is promoteEntry with a Hot of another form.
func (e *Engine) promoteAs(en *entry, key []byte, o shards.HotOptions) bool {
	if en.r == 0 || en.c.alone() {
		return false
	}
	if en.p.HasTally(en.r) { // of a former contract; the next increment drops it
		return false
	}
	return en.p.Promote(en.t, en.h, key, o)
}

// hotOptions is the form that contract c gives a Hot.
func (e *Engine) hotOptions(c *Contract) shards.HotOptions {
	n := max(len(e.writers.list()), 1)
	o := shards.HotOptions{Cells: n, Writers: n, Owner: c}
	if c != nil {
		if c.Shards > 0 {
			o.Cells = min(c.Shards, n) // a cell that has no writer would only be read
		}
		o.Relaxed = c.Replies == RepliesRelaxed
		o.Stale = time.Duration(c.StalenessMs) * time.Millisecond
	}
	return o
}

// demote takes key's Hot away, and reports whether it had one.
func (e *Engine) demote(db int, key []byte) bool {
	return e.locked(db, key, func(en *entry) bool { return en.r != 0 && en.p.Demote(en.r) })
}

// demoteChanged takes the Hots away whose contract is another one in set, and returns them by database.
// Nothing adds to them any more. REQUIRES the locks of all partitions.
func (e *Engine) demoteChanged(set *contractSet) (retired [Databases][]*shards.Hot) {
	e.eachTable(func(db int, t *shards.Table) {
		for _, hot := range t.Hots() {
			was, _ := hot.Owner().(*Contract)
			is := set.contractOf(hot.Key())
			if was == is || was != nil && is != nil && *was == *is {
				continue
			}
			p := hot.Partition()
			if r := p.Find(hot.Hash(), hot.Key()); r != 0 && p.Demote(r) {
				retired[db] = append(retired[db], hot)
			}
		}
	})
	return retired
}

// promoteRetired gives counters Hots again, of the form that their contracts say now. REQUIRES the locks
// of all partitions.
func (e *Engine) promoteRetired(retired [Databases][]*shards.Hot) {
	for db, hots := range retired {
		for _, hot := range hots {
			en := e.place(&Op{DB: db}, hot.Key())
			e.look(&en, hot.Key())
			e.promoteEntry(&en, hot.Key())
		}
	}
}
