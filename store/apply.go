package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// KeyRange is the keys with Lo <= key < Hi. A nil Hi is above all keys.
type KeyRange struct{ Lo, Hi []byte }

// Apply makes one merge durable. It deletes what is stored in deleteRanges, then
// sets what next yields, until its error is io.EOF: keys must ascend strictly, a nil value
// deletes its key. pos, at most about a megabyte, replaces the position. All of
// it becomes durable together or not at all: when Apply returns nil it is on disk;
// when it returns an error, or the process ends before it returns, a later Open
// sees either the old state with the old position or all of the new one.
//
// key and value may be reused once next is called again. next must not call Apply. Another error of it is
// returned.
//
// An error before the last step leaves the store as it was, and Apply may be
// called again. If the last step fails Options.Fatal is called, see ErrFailed.
//
// The steps:
//
//  1. Wait until fewer than maxSublevels merges lie on top of one another, or
//     compaction has nothing to do. It runs unpaced then. The wait ends after
//     maxApplyWait: reads get slower before the log grows without bound.
//  2. Write the position and the entries as sorted tables, in a directory of the
//     store's own, and sync each. A range deletion is cut at the tables' borders.
//     Within a table it has the same sequence number as the entries, and so hides
//     only older ones.
//  3. Ingest: Pebble links the tables into its directory, syncs that, and adds
//     them to its MANIFEST in one record, which is synced.
func (s *Store) Apply(
	pos []byte, deleteRanges []KeyRange, next func() (key, value []byte, err error),
) error {
	done, err := s.use()
	if err != nil {
		return err
	}
	defer done()
	if s.opts.ReadOnly {
		return ErrReadOnly
	}
	s.apply.Lock()
	defer s.apply.Unlock()
	if s.failed.Load() {
		return ErrFailed
	}
	s.awaitCompaction()

	w := tableWriter{s: s, ranges: flatten(deleteRanges)}
	if err := w.writeAll(pos, next); err != nil {
		w.abandon()
		return fmt.Errorf("store: apply: %w", err)
	}
	if err := s.db.Ingest(context.Background(), w.paths); err != nil {
		w.abandon()
		return fmt.Errorf("store: apply: ingest: %w", err)
	}
	if s.failed.Load() { // Fatal returned, and Pebble went on
		return ErrFailed
	}
	s.applied.merges.Add(1)
	s.applied.entries.Add(w.entries)
	s.applied.bytes.Add(w.bytes)
	return nil
}

// maxApplyWait bounds how long one Apply waits for compaction.
const maxApplyWait = 30 * time.Second

// awaitCompaction is step 1 of Apply.
func (s *Store) awaitCompaction() {
	if !s.behind() {
		return
	}
	s.pace.urgent.Add(1)
	defer s.pace.urgent.Add(-1)
	start := time.Now()
	for s.behind() {
		if time.Since(start) > maxApplyWait {
			s.opts.Logger.Warn("store: compaction falls behind", "sublevels", s.Metrics().Sublevels)
			return
		}
		select {
		case <-s.pace.stopped:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// behind says that level 0 is high and that compaction is about to change that. High
// alone is no reason to wait: Pebble counts the tables that hold any one key, and
// leaves merges alone that overlap like stairs, each only the one before it. Below
// maxTables nothing would end the wait.
func (s *Store) behind() bool {
	m := s.db.Metrics()
	if m.Levels[0].Sublevels < maxSublevels {
		return false
	}
	wanted := func(l pebble.LevelMetrics) bool { return l.Score > 0 }
	return m.Compact.NumInProgress > 0 || slices.ContainsFunc(m.Levels[:], wanted)
}

// flatten returns the ranges as database bounds: sorted, disjoint, none empty.
func flatten(ranges []KeyRange) []KeyRange {
	flat := make([]KeyRange, 0, len(ranges))
	for _, r := range ranges {
		lo, hi := bounds(r.Lo, r.Hi)
		if bytes.Compare(lo, hi) < 0 {
			flat = append(flat, KeyRange{lo, hi})
		}
	}
	slices.SortFunc(flat, func(a, b KeyRange) int { return bytes.Compare(a.Lo, b.Lo) })
	n := 0
	for _, r := range flat {
		if n > 0 && bytes.Compare(r.Lo, flat[n-1].Hi) <= 0 {
			if bytes.Compare(r.Hi, flat[n-1].Hi) > 0 {
				flat[n-1].Hi = r.Hi
			}
			continue
		}
		flat[n] = r
		n++
	}
	return flat[:n]
}
