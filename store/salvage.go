package store

import (
	"bytes"
	"errors"
	"path"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// Salvage calls fn, as Load does, for the entries that no damage in c touches. Those that may have
// been in a damaged block are left out, whatever other tables have in their place: that would be
// out of date. It returns how many entries such other tables had, at least, and where it found
// more damage than c knows, the errors (it goes on behind the next place that c knows).
func (s *Store) Salvage(
	c *Checked, fn func(key, value []byte) error,
) (outOfDate int64, more []error, err error) {
	done, err := s.use()
	if err != nil {
		return 0, nil, err
	}
	defer done()
	lower := []byte{entrySpace}
	for _, lost := range mergeSpans(c.suspect) {
		// The block before the damaged one ends at or before the key lo. What other tables have
		// between cannot be read, for Pebble looks into the damaged one there.
		if err := s.salvage(lower, after(lost.lo), fn); err != nil {
			if !c.knows(err) {
				if !isBad(err) || !errors.Is(explain(err), ErrCorrupt) {
					return outOfDate, more, err
				}
				more = append(more, explain(err))
			}
		}
		_ = s.salvage(after(lost.lo), after(lost.hi), func(_, _ []byte) error { outOfDate++; return nil })
		lower = after(lost.hi)
	}
	err = s.salvage(lower, []byte{endSpace}, fn)
	if isBad(err) && errors.Is(explain(err), ErrCorrupt) {
		more, err = append(more, explain(err)), nil
	}
	return outOfDate, more, err
}

// after is the first key above key.
func after(key []byte) []byte { return append(bytes.Clone(key), 0) }

// badTable is an error of the store, not of the function that is given entries.
type badTable struct{ error }

func (e badTable) Unwrap() error { return e.error }

func isBad(err error) bool {
	var bad badTable
	return errors.As(err, &bad)
}

// knows reports whether err is that of a damage in c.
func (c *Checked) knows(err error) bool {
	info := pebble.ExtractDataCorruptionInfo(err)
	if info == nil {
		return false
	}
	table := path.Base(info.Path)
	place, _ := placeOf(info.Details)
	return slices.ContainsFunc(c.Damages, func(d Damage) bool {
		return d.Table == table && (d.Whole || d.Offset == place)
	})
}

// salvage calls fn for the entries with lower <= key < upper, up to the first that cannot be read.
func (s *Store) salvage(lower, upper []byte, fn func(key, value []byte) error) error {
	if bytes.Compare(lower, []byte{entrySpace}) < 0 {
		lower = []byte{entrySpace}
	}
	if bytes.Compare(lower, upper) >= 0 {
		return nil
	}
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return badTable{err}
	}
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return errors.Join(badTable{err}, it.Close())
		}
		if err := fn(it.Key()[1:], value); err != nil {
			return errors.Join(err, it.Close())
		}
	}
	if err := it.Close(); err != nil {
		return badTable{err}
	}
	return nil
}

// mergeSpans returns spans sorted and disjoint.
func mergeSpans(spans []span) []span {
	sorted := slices.Clone(spans)
	slices.SortFunc(sorted, func(a, b span) int { return bytes.Compare(a.lo, b.lo) })
	n := 0
	for _, s := range sorted {
		if n > 0 && bytes.Compare(s.lo, sorted[n-1].hi) <= 0 {
			if bytes.Compare(s.hi, sorted[n-1].hi) > 0 {
				sorted[n-1].hi = s.hi
			}
			continue
		}
		sorted[n] = s
		n++
	}
	return sorted[:n]
}
