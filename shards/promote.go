package shards

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// hotSet finds the Hots of a table without a lock: an immutable open-addressed table. Promotions are
// rare, so each makes a new one.
type hotSet struct {
	slots []*Hot // a power of two, at most half full
	all   []*Hot
}

func (s *hotSet) find(h Hash, key []byte) *Hot {
	mask := uint64(len(s.slots) - 1)
	for i := uint64(h) & mask; ; i = (i + 1) & mask {
		hot := s.slots[i]
		if hot == nil || hot.hash == h && bytes.Equal(hot.key, key) {
			return hot
		}
	}
}

func newHotSet(all []*Hot) *hotSet {
	if len(all) == 0 {
		return nil
	}
	n := 4
	for n < 2*len(all) {
		n *= 2
	}
	s := &hotSet{slots: make([]*Hot, n), all: all}
	for _, h := range all {
		i := uint64(h.hash) & uint64(n-1)
		for ; s.slots[i] != nil; i = (i + 1) & uint64(n-1) {
		}
		s.slots[i] = h
	}
	return s
}

// hots is a table's directory of Hots.
type hots struct {
	mu  sync.Mutex // of those that change the set; taken after a partition's lock
	set atomic.Pointer[hotSet]
}

func (d *hots) add(h *Hot) {
	d.mu.Lock()
	d.set.Store(newHotSet(append(slices.Clone(d.all()), h)))
	d.mu.Unlock()
}

func (d *hots) remove(h *Hot) {
	d.mu.Lock()
	d.set.Store(newHotSet(slices.DeleteFunc(slices.Clone(d.all()), func(o *Hot) bool { return o == h })))
	d.mu.Unlock()
}

func (d *hots) all() []*Hot {
	if s := d.set.Load(); s != nil {
		return s.all
	}
	return nil
}

// Hot returns the Hot of key, or nil. It needs no lock.
func (t *Table) Hot(h Hash, key []byte) *Hot {
	if s := t.hots.set.Load(); s != nil {
		return s.find(h, key)
	}
	return nil
}

// AnyHot reports whether the table has any Hots.
func (t *Table) AnyHot() bool { return t.hots.set.Load() != nil }

// Hots returns the table's Hots. The slice must not be modified.
func (t *Table) Hots() []*Hot { return t.hots.all() }

// Promote gives the entry of key a Hot, and reports whether it has one now. It must be an integer that is
// not near the ends of int64. The options are ignored where it has one.
func (p *Partition) Promote(t *Table, h Hash, key []byte, opt HotOptions) bool {
	r := p.Find(h, key)
	if r == 0 || p.arena.kind(r) != Int {
		return false
	}
	if p.arena.flags(r)&flagHot != 0 {
		return true
	}
	v := int64(p.arena.word(r))
	if !openable(v) {
		return false
	}
	n := min(max(opt.Cells, 1), MaxCells)
	hot := &Hot{
		table: t, hash: h, key: slices.Clone(key), opt: opt, since: time.Now(),
		cells: make([]Cell, n), value: v, settled: true,
	}
	hot.opt.Cells = n
	if opt.Relaxed {
		hot.saved = make([]int64, n)
	}
	hot.base.Store(v)
	hot.total.v.Store(closedMark)
	for i := range hot.cells {
		if opt.Relaxed {
			hot.cells[i].v.Store(closedMark)
		}
	}
	p.arena.setFlag(r, flagHot)
	p.hots = append(p.hots, hot)
	p.unsettled = true
	t.hots.add(hot)
	return true
}

// Demote takes the Hot of r away, and reports whether it had one.
func (p *Partition) Demote(r Ref) bool {
	if p.arena.flags(r)&flagHot == 0 {
		return false
	}
	p.settle(r)
	p.arena.clearFlag(r, flagHot)
	h := p.hotOf(r)
	p.hots = slices.DeleteFunc(p.hots, func(o *Hot) bool { return o == h })
	h.table.hots.remove(h)
	return true
}

// HotOf returns the Hot of r, or nil, settled: r's value is right and stays so until Unlock.
func (p *Partition) HotOf(r Ref) *Hot {
	if r == 0 || p.arena.flags(r)&flagHot == 0 {
		return nil
	}
	p.settle(r)
	return p.hotOf(r)
}

// ValueOf returns the value of h, whose key's partition this is: the present one, or the last one it had
// before it was retired. It is settled until Unlock.
func (p *Partition) ValueOf(h *Hot) int64 {
	if !h.settled {
		r, _ := p.find(tagOf(h.hash), h.key) // not retired, so the record is there
		p.settle(r)
	}
	return h.value
}

// Credit books d, which SetInt has just added to r, as an increment of a writer, if r has a Hot.
func (p *Partition) Credit(r Ref, writer int, d int64) {
	if p.arena.flags(r)&flagHot != 0 {
		p.hotOf(r).credit(writer, d)
	}
}

func (p *Partition) hotOf(r Ref) *Hot {
	key := p.arena.key(r)
	for _, h := range p.hots {
		if bytes.Equal(h.key, key) {
			return h
		}
	}
	panic("shards: a record with flagHot has no Hot")
}

// settle closes the Hot of r, which has flagHot, and puts the value into the record.
func (p *Partition) settle(r Ref) {
	if h := p.hotOf(r); !h.settled {
		h.close()
		h.settled = true
		p.unsettled = true
		p.arena.setWord(r, uint64(h.value))
	}
}

// settleAll closes every Hot; their records are about to go.
func (p *Partition) settleAll() {
	for _, h := range p.hots {
		if !h.settled {
			h.close()
			h.settled = true
			p.unsettled = true
		}
	}
}

// resume opens what settle closed, and retires Hots whose record is no longer theirs. It is the last
// thing that is done under the lock. A counter that was written in the partition's epoch is opened for
// it; one that was not is frozen, since its next write must put it on the dirty list.
func (p *Partition) resume() {
	p.unsettled = false
	p.hots = slices.DeleteFunc(p.hots, func(h *Hot) bool {
		if !h.settled || p.resumeOne(h) {
			return false
		}
		h.table.hots.remove(h)
		return true
	})
}

func (p *Partition) resumeOne(h *Hot) bool {
	r, _ := p.find(tagOf(h.hash), h.key)
	if r == 0 {
		return false // by Reset
	}
	v := int64(p.arena.word(r))
	if p.arena.kind(r) != Int || !openable(v) {
		p.arena.clearFlag(r, flagHot)
		return false
	}
	h.settled = false
	if p.logged && p.arena.flags(r)&flagDirty == 0 {
		h.freeze(v, p.Epoch, p.ExpireAt(r))
	} else {
		h.open(v, p.Epoch, p.ExpireAt(r))
	}
	return true
}
