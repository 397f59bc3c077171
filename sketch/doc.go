// Package sketch keeps the heaviest keys of a stream in bounded memory.
//
// SpaceSaving counts in k entries. A key that has an entry is counted in it. Where none is free, a key
// that has none is counted in a cell that it shares with others of its hash, until it would have more
// than the least entry: then it takes that over, begins with what the cell had, and remembers this as
// its error, since all or nothing of it may have been its own. The key that lost the entry leaves its
// count as a bound in its own cell. For weighted updates as for single ones:
//
//   - count-err <= truth <= count for every tracked key,
//   - truth <= its cell <= Min for every other: a cell never gets above the least count, which only
//     grows,
//   - the counts add up to Total at most, since who takes over an entry brings no more than was there,
//     so that Min <= Total/k: every key with more than Total/k is tracked.
//
// It is Filtered Space-Saving (N. Homem and J. P. Carvalho, "Finding top-k elements in data streams",
// Information Sciences 180(24), 2010). The cells filter out what is rare: most of a skewed load's rare
// keys never touch an entry. In Space-Saving itself (A. Metwally, D. Agrawal, A. El Abbadi, "Efficient
// Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005) each of them takes one over
// and makes the least count grow.
//
// The entries are found by the caller's hash (index.go, open addressing), and ordered by a binary
// heap whose root is the least count (heap.go). The stream summary of the paper, a list of buckets of
// equal counts, makes a step of one cheap, but takes as many steps as there are buckets for a
// weighted one.
//
// Caveats: a key above MaxKeyBytes is not tracked. A SpaceSaving is for one goroutine at a time.
package sketch
