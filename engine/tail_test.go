package engine

import (
	"math"
	"strconv"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestAMergedTailIsDone: after a start the log keeps its last segment until it has a newer one, also where the
// store has it. It is merged once, slows nobody, and goes with the first segment that is sealed.
func TestAMergedTailIsDone(t *testing.T) {
	fs := vfs.NewMem()
	o := faultOptions(fs, nil)
	o.SegmentBytes, o.MergeBytes = math.MaxInt64, math.MaxInt64
	fill := func(e *Engine, from, to int) {
		t.Helper()
		op := Op{NowMs: e.NowMs()}
		for i := from; i < to; i++ {
			if _, err := e.IncrBy(&op, []byte("key:"+strconv.Itoa(i)), int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Commit(op.Seen); err != nil {
			t.Fatal(err)
		}
	}
	e, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	fill(e, 0, 1000)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}

	o = faultOptions(fs, nil)
	o.TailBytes = 8 << 10
	for life := range 2 { // the second finds it merged
		if e, _, err = Open(o); err != nil {
			t.Fatal(err)
		}
		if n := e.files.wal.Size(); n <= o.TailBytes {
			t.Fatal("the segment is too short for this test:", n)
		}
		want := int64(1 - life)
		waitUntil(t, func() bool { return e.merge.merges.Load() >= want && e.merge.job.Load() == nil })
		e.rotateBehind()
		if e.merge.job.Load() != nil {
			t.Fatal("life", life, "merges a merged segment again")
		}
		if life == 0 {
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if n := e.merge.merges.Load(); n != want {
			t.Fatal("life", life, "has merged", n, "times")
		}
		e.setSlowness()
		if n := e.Slowness(); n != 0 {
			t.Fatal("life", life, "slows writers by", n)
		}
	}
	first := e.files.wal.Sealed()[0].ID
	fill(e, 1000, 2000) // a segment and more
	waitUntil(t, func() bool {
		sealed := e.files.wal.Sealed()
		return e.merge.merges.Load() > 0 && (len(sealed) == 0 || sealed[0].ID > first)
	})
	op := Op{NowMs: e.NowMs()}
	for i := range 2000 {
		if v, err := e.Get(&op, []byte("key:"+strconv.Itoa(i))); err != nil || v.Int != int64(i) {
			t.Fatal(i, v.Int, err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
