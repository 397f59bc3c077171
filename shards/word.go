package shards

import (
	"math"
	"sync/atomic"
)

// A word is an integer that any number of writers add to without locks, and that can be closed: a
// writer learns from the result of his addition whether it counted.
//
// An open word's value lies in (-wordLimit, wordLimit). Closing swaps in closedMark, far outside, and
// returns exactly what had been added by then; an addition that comes later disturbs only the mark,
// and its result lies in the closed band. So neither side waits for the other, and a write costs
// one fetch-and-add and nothing else. Opening stores a new value.
//
// The band is 2^61 wide on each side of the mark, and a writer that finds a word closed goes to the
// partition's lock, so at most one addition of maxAdd per writer disturbs it: far from enough to
// leave it.
type word struct{ v atomic.Int64 }

const (
	// wordLimit bounds an open word.
	wordLimit = 1 << 62
	// openLimit bounds the value that a word is opened with: 2^21 additions of maxAdd below wordLimit.
	openLimit = 1 << 61
	// MaxAdd is the largest magnitude of one addition to a Hot counter; of a run it is that of all
	// its increments together.
	MaxAdd = 1 << 40

	closedMark = math.MinInt64 + 1<<61
)

func closed(v int64) bool { return v <= -wordLimit }

// openable reports whether a word may be opened with v.
func openable(v int64) bool { return -openLimit < v && v < openLimit }

// add adds d, |d| <= MaxAdd, and returns the sum; ok is false where the word is closed and nothing was
// added.
func (w *word) add(d int64) (sum int64, ok bool) {
	sum = w.v.Add(d)
	return sum, !closed(sum)
}

// load returns the value; ok is false where the word is closed.
func (w *word) load() (v int64, ok bool) {
	v = w.v.Load()
	return v, !closed(v)
}

// close closes an open word and returns its last value. Only one goroutine at a time may close or open.
func (w *word) close() int64 { return w.v.Swap(closedMark) }

// open opens a closed word. REQUIRES openable(v).
func (w *word) open(v int64) { w.v.Store(v) }
