package engine

import "countd/wal"

// The tail is the log that is not yet in the store, which a start replays. Merges keep it short; where
// clients write new keys faster than those can be merged, writers are slowed, so that a restart stays
// within a second.

// Under a budget (SetMaxMemory) the tail is a part of the problem that eviction solves: what is not stored
// cannot leave the tables. There new keys take two to four times as many bytes as their images do in the
// log. So segments, merges and the cap of the tail are shares of the budget, where those are less than
// Options says; at the cap two to four fifths of the budget cannot be evicted.
const (
	segmentShare = 64           // of the budget: 1/segmentShare
	mergeShare   = 16           // likewise
	tailShare    = 5            // likewise
	minShare     = 1 << 20      // segments are no smaller for it
	minMerge     = 4 * minShare // merges
	budgetRange  = 48 << 20     // see mergeRangeBytes
	minTail      = 3 * minMerge // the tail's cap
)

// shareOf is 1/part of the budget, at least least; full where that is less or there is no budget.
func (e *Engine) shareOf(part, least, full int64) int64 {
	if budget := e.evict.budget.Load(); budget > 0 {
		return min(full, max(budget/part, least))
	}
	return full
}

// segmentBytes is the size at which a segment is sealed.
func (e *Engine) segmentBytes() int64 { return e.shareOf(segmentShare, minShare, e.opts.SegmentBytes) }

// mergeBytes is the size of sealed log at which it is merged.
func (e *Engine) mergeBytes() int64 { return e.shareOf(mergeShare, minMerge, e.opts.MergeBytes) }

// mergeRangeBytes is how many bytes of log a merge may hold in memory; each further range of so many costs
// one more reading of the log. Without a budget the tail's cap is the bound, so that it reads once.
func (e *Engine) mergeRangeBytes() int64 {
	if e.opts.mergeRangeBytes > 0 {
		return e.opts.mergeRangeBytes
	}
	if e.evict.budget.Load() > 0 {
		return budgetRange
	}
	return DefaultTailBytes
}

// maxSlowness bounds Slowness: at twice the cap writers rest 64 times as long as they work.
const maxSlowness = 64

// Slowness is how many times as long as it works a loop that writes is to rest now; 0: not at all. It
// rises with the tail's excess over TailCap.
func (e *Engine) Slowness() int64 { return e.slow.Load() }

// TailCap is the size of the tail above which writers are slowed: Options.TailBytes, or a share of the
// budget.
func (e *Engine) TailCap() int64 { return e.shareOf(tailShare, minTail, e.opts.TailBytes) }

// tailBytes is the size of the tail.
func (e *Engine) tailBytes() int64 {
	return e.files.wal.SizeAfter(wal.SegmentID(e.merge.merged.Load()))
}

// setSlowness looks at the tail, after it has grown or shrunk.
func (e *Engine) setSlowness() {
	limit := e.TailCap()
	over := e.tailBytes() - limit
	if over <= 0 {
		e.slow.Store(0)
		return
	}
	e.slow.Store(min(1+over*maxSlowness/limit, maxSlowness))
}
