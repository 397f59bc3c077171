package shards

import (
	"runtime"
	"sync/atomic"
	"time"
)

// A Hot is the lock-free form of a promoted counter. Its record stays where it is, with flagHot; while
// the Hot is open its value is in the Hot, and the record's is out of date.
//
// Writers are numbered (event loops); each has a cell of its own, unless there are fewer cells than
// writers.
//
//   - An exact Hot has one word, total, in a cache line of its own. A run of increments is one
//     fetch-and-add on it, which reserves the range of its replies (the idea of aggregating funnels,
//     Roh et al., PPoPP 2025). The cells only tell who added what.
//   - A relaxed Hot has a word per cell and no shared line; a read sums them. For unit increments the
//     sum is linearizable, in general it is an intermediate value (Rinberg & Keidar, DISC 2020).
//
// # States
//
// A Hot is open (writers add, readers read), frozen (readers read; the first write must go through the
// lock, since it begins an epoch) or closed. It is opened, frozen and closed only under its partition's
// lock: closed where something under the lock looks at the record's value or changes it (settle), and
// opened or frozen again by Unlock. A writer that finds it closed or frozen takes the lock, too, so
// the two paths cannot run at once. No one waits for anyone but for the lock.
//
// A closed Hot whose record was deleted or became something else stays closed for ever (it is
// retired), so one may keep a pointer to a Hot as long as one likes.
//
// # Epochs
//
// An opening belongs to one epoch (Partition.Epoch at that time). Who adds must compare Epoch with the
// owner's current epoch first, who reads likewise; where they differ he takes the lock. After the
// addition Epoch is read again: the Hot may have been closed and opened meanwhile, and the addition
// belongs to the opening it fell in, whose epoch is at most that.
type Hot struct {
	// What every use reads, in few lines.
	cells []Cell
	opt   HotOptions
	// state is a number that changes with every opening, freezing and closing, times 4, plus a mode.
	state    atomic.Uint64
	epoch    atomic.Uint64
	expireAt atomic.Int64
	frozen   atomic.Int64 // the value, in mode frozen
	// base is the value minus all cells. It changes only while the Hot is closed: by writes that were not
	// a numbered writer's increments, and where a cell that grew large begins again at 0.
	base atomic.Int64
	roll atomic.Pointer[rollUp]

	hash  Hash
	key   []byte
	table *Table
	since time.Time

	// Under the partition's lock:
	settled bool    // the record holds the value, the Hot is closed
	value   int64   // the value when it was closed, and what was credited since
	saved   []int64 // relaxed: the cells while it is closed

	_     [cacheLine]byte
	total word // exact
	_     [cacheLine - 8]byte
}

// HotOptions are fixed for the life of a Hot.
type HotOptions struct {
	// Cells is the number of cells, at least 1.
	Cells int
	// Writers is the number of writers there are.
	Writers int
	// Relaxed says that increments touch only their cell.
	Relaxed bool
	// Stale is how old the rolled-up total may be that Get returns, where Relaxed; 0: Get adds up the
	// cells. A read of an exact Hot costs one line whatever the number of cells, and is never stale.
	Stale time.Duration
	// Owner is the owner's own.
	Owner any
}

// cacheLine is the distance at which two words do not share a line, nor the pair of lines that
// processors prefetch together.
const cacheLine = 128

const (
	// MaxCells bounds HotOptions.Cells.
	MaxCells = 1 << 10
	// cellLimit bounds a cell's value: at the next opening after it passed this it begins again at 0.
	// So the sum of MaxCells cells stays below openLimit.
	cellLimit = 1 << 50
)

// A Cell is a writer's part of a Hot.
type Cell struct {
	word // of an exact Hot never closed
	// The writer's view of the others' part, where the cell has one writer: his alone.
	others   int64
	othersAt int64  // the instant it was read at
	othersIn uint64 // the state it was read in

	freshAt atomic.Int64 // when a writer of this cell last added up all cells himself

	_ [cacheLine - 40]byte
}

const (
	modeClosed = iota
	modeOpen
	modeFrozen

	modeMask = 3
)

// Partition returns the partition of the counter's key.
func (h *Hot) Partition() *Partition { return h.table.Part(PartOf(h.hash)) }

// Key returns the counter's key; it must not be modified.
func (h *Hot) Key() []byte { return h.key }

// Hash returns the hash of the key.
func (h *Hot) Hash() Hash { return h.hash }

// Options returns what the Hot was made with.
func (h *Hot) Options() HotOptions { return h.opt }

// Owner returns HotOptions.Owner.
func (h *Hot) Owner() any { return h.opt.Owner }

// Since is when it was promoted.
func (h *Hot) Since() time.Time { return h.since }

// Epoch is the epoch of the last opening or freezing.
func (h *Hot) Epoch() uint64 { return h.epoch.Load() }

// ExpireAt is the expiry instant of the counter in Unix milliseconds, or NoExpiry.
func (h *Hot) ExpireAt() int64 { return h.expireAt.Load() }

// Frozen reports whether only readers may use it.
func (h *Hot) Frozen() bool { return h.state.Load()&modeMask == modeFrozen }

// Added says what Add did.
type Added uint8

const (
	// AddedNot: nothing was added; the caller must take the partition's lock.
	AddedNot Added = iota
	// AddedYes: it was added and the sum is good.
	AddedYes
	// AddedFull is AddedYes, and a word nears its limit: the Hot must pass through Settle soon.
	AddedFull
	// AddedBlind: it was added, but the Hot was closed before there was a sum, which is now the
	// record's value or less.
	AddedBlind
)

// Add adds d for a writer, |d| <= MaxAdd. The sum is that of all increments so far where the Hot is
// exact, else a recent sum that includes d, in which other writers' part may be as old as the instant
// now is long. The caller has compared the epochs.
func (h *Hot) Add(writer int, d, now int64) (sum int64, added Added) {
	c := h.cell(writer)
	if h.opt.Relaxed {
		n, fresh := c.Add(h, d, now)
		if fresh {
			return c.Sum(n), AddedYes
		}
		return h.Refresh(c, n, now)
	}
	sum, ok := h.total.add(d)
	if !ok {
		return 0, AddedNot
	}
	if n := c.v.Add(d); !openable(sum) || !inCell(n) {
		return sum, AddedFull
	}
	return sum, AddedYes
}

// Relaxed returns the cell of a writer of a relaxed Hot, nil where the Hot is exact. With it the caller
// writes out what Add does, and the compiler inlines all of it but Refresh: a call costs a sixth of a
// fetch-and-add on a line of one's own, mostly by the stores that the next one waits for.
func (h *Hot) Relaxed(writer int) *Cell {
	if h.opt.Relaxed {
		return h.cell(writer)
	}
	return nil
}

func (h *Hot) cell(writer int) *Cell {
	if uint(writer) < uint(len(h.cells)) {
		return &h.cells[writer]
	}
	return &h.cells[writer%len(h.cells)]
}

// Add adds d to a cell of h. Where the writer's view of the other cells is fresh Sum(n) is the sum, else
// Refresh tells whether d was added, and the sum.
func (c *Cell) Add(h *Hot, d, now int64) (n int64, fresh bool) {
	n = c.v.Add(d)
	// othersIn is no state but an open one.
	return n, inCell(n) && c.othersIn == h.state.Load() && c.othersAt == now
}

// Sum is the sum after an addition that returned n.
func (c *Cell) Sum(n int64) int64 { return c.others + n }

// inCell reports whether a cell may go on from n: it is open, and not near its limit.
func inCell(n int64) bool { return uint64(n+cellLimit) < 2*cellLimit }

// Refresh is the rest of an addition of which Cell.Add returned n and not fresh. Where each cell has one
// writer, he reads the others once per instant.
func (h *Hot) Refresh(c *Cell, n, now int64) (sum int64, added Added) {
	if closed(n) {
		return 0, AddedNot
	}
	state := h.state.Load()
	if state&modeMask != modeOpen {
		return 0, AddedBlind
	}
	sum, same := h.sum(state)
	switch {
	case !same:
		return 0, AddedBlind
	case h.opt.Writers <= len(h.cells):
		c.others, c.othersAt, c.othersIn = sum-n, now, state
	}
	if !inCell(n) {
		return sum, AddedFull
	}
	return sum, AddedYes
}

// sum adds up the cells; same is false where the Hot did not stay in state.
func (h *Hot) sum(state uint64) (sum int64, same bool) {
	sum = h.base.Load()
	for i := range h.cells {
		v, ok := h.cells[i].load()
		if !ok {
			return 0, false
		}
		sum += v
	}
	return sum, h.state.Load() == state
}

// Get returns the value for a writer; ok is false where the caller must take the partition's lock.
// current says whether the caller has found Epoch to be the owner's current epoch; a frozen value needs
// it not. at tells the time, by RollUp's clock;
// it is called only where HotOptions.Stale is set.
func (h *Hot) Get(writer int, current bool, at func() time.Duration) (v int64, ok bool) {
	state := h.state.Load()
	switch state & modeMask {
	case modeFrozen:
		v = h.frozen.Load()
		return v, h.state.Load() == state
	case modeOpen:
		switch {
		case !current:
			return 0, false
		case !h.opt.Relaxed:
			return h.total.load()
		case h.opt.Stale == 0:
			return h.sum(state)
		}
		return h.stale(writer, state, at)
	}
	return 0, false
}

// close makes value the value. REQUIRES the partition's lock.
func (h *Hot) close() {
	mode := h.state.Load() & modeMask
	h.shift(modeClosed)
	if mode != modeOpen { // the words are closed, and value and saved are as they were
		return
	}
	if !h.opt.Relaxed {
		h.value = h.total.close()
		return
	}
	h.value = h.base.Load()
	for i := range h.cells {
		h.saved[i] = h.cells[i].close()
		h.value += h.saved[i]
	}
}

// credit books d, which was added to the record under the lock, as a writer's. REQUIRES the partition's
// lock; the Hot is closed.
func (h *Hot) credit(writer int, d int64) {
	h.value += d
	if h.opt.Relaxed {
		h.saved[writer%len(h.cells)] += d
	} else {
		h.cell(writer).v.Add(d)
	}
}

// shift begins a new state with this mode.
func (h *Hot) shift(mode uint64) {
	h.state.Store((h.state.Load()/(modeMask+1)+1)*(modeMask+1) | mode)
}

// open makes v the value and lets writers in, freeze lets only readers in. REQUIRES the partition's
// lock; the Hot is closed, openable(v).
func (h *Hot) open(v int64, epoch uint64, expireAt int64) {
	h.prepare(v, epoch, expireAt)
	if h.opt.Relaxed {
		for i := range h.cells {
			h.cells[i].open(h.saved[i])
		}
	} else {
		h.total.open(v)
	}
	h.shift(modeOpen)
}

func (h *Hot) freeze(v int64, epoch uint64, expireAt int64) {
	h.prepare(v, epoch, expireAt)
	h.frozen.Store(v)
	h.shift(modeFrozen)
}

func (h *Hot) prepare(v int64, epoch uint64, expireAt int64) {
	h.epoch.Store(epoch)
	h.expireAt.Store(expireAt)
	base := h.base.Load() + v - h.value
	for i := range h.cells {
		if c := h.cellValue(i); !inCell(c) {
			base += c
			if h.opt.Relaxed {
				h.saved[i] = 0
			} else {
				h.cells[i].v.Add(-c)
			}
		}
	}
	h.value = v
	h.base.Store(base)
	h.roll.Store(nil)
}

// cellValue is the value of a cell while the Hot is closed.
func (h *Hot) cellValue(i int) int64 {
	if h.opt.Relaxed {
		return h.saved[i]
	}
	return h.cells[i].v.Load()
}

// Cells tells what is in the cells, and what the value is besides; drift is by how much value, base and
// cells disagree, which is never anything but 0. REQUIRES the partition's lock; the Hot is settled.
//
// A writer of an exact Hot that had added to the total just before it was closed may still have to book
// it in his cell: Cells waits for him, which takes nanoseconds unless his thread has lost the processor.
func (h *Hot) Cells() (base int64, cells []int64, drift int64) {
	for until := time.Now().Add(maxBooking); ; runtime.Gosched() {
		base, drift, cells = h.base.Load(), h.value-h.base.Load(), cells[:0]
		for i := range h.cells {
			cells = append(cells, h.cellValue(i))
			drift -= cells[i]
		}
		if drift == 0 || time.Now().After(until) {
			return base, cells, drift
		}
	}
}

// maxBooking bounds how long Cells waits.
const maxBooking = 100 * time.Millisecond
