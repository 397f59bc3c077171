package engine

import (
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"countd/shards"
)

// TestAMergedTailIsDone: after a start the log keeps its last segment until it has a newer one, also where the
// store has it. It is merged once, slows nobody, and goes with the first segment that is sealed.
func TestAMergedTailIsDone(t *testing.T) {
	fs := vfs.NewMem()
	o := faultOptions(fs, nil)
	o.SegmentBytes, o.MergeBytes = math.MaxInt64, math.MaxInt64
	e, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	countUp(t, e, 0, 1000)
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
	countUp(t, e, 1000, 2000) // a segment and more
	waitUntil(t, func() bool {
		sealed := e.files.wal.Sealed()
		return e.merge.merges.Load() > 0 && (len(sealed) == 0 || sealed[0].ID > first)
	})
	wantCounted(t, e, 2000)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// countUp sets counters key:from up to key:to-1 to their numbers.
func countUp(t *testing.T, e *Engine, from, to int) {
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

// wantCounted checks what countUp made.
func wantCounted(t *testing.T, e *Engine, to int) {
	t.Helper()
	op := Op{NowMs: e.NowMs()}
	for i := range to {
		if v, err := e.Get(&op, []byte("key:"+strconv.Itoa(i))); err != nil || v.Int != int64(i) {
			t.Fatal(i, v.Int, err)
		}
	}
}

// TestMergedSegmentsGoWithTheNextStart: where a merge could not remove its segments, the next start does,
// without a write.
func TestMergedSegmentsGoWithTheNextStart(t *testing.T) {
	fs := vfs.NewMem()
	var tried atomic.Bool
	o := faultOptions(errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpRemove && strings.HasSuffix(op.Path, ".log") {
			tried.Store(true)
			return errorfs.ErrInjected
		}
		return nil
	})), nil)
	e, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		countUp(t, e, 100*i, 100*(i+1))
	}
	waitUntil(t, tried.Load)
	left := len(e.files.wal.Sealed())
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if left < 2 {
		t.Fatal("not enough segments for this test:", left)
	}
	o = faultOptions(fs, nil)
	o.MergeBytes = math.MaxInt64
	if e, _, err = Open(o); err != nil {
		t.Fatal(err)
	}
	merged := e.merge.merged.Load()
	waitUntil(t, func() bool {
		sealed := e.files.wal.Sealed()
		return len(sealed) == 1 || uint64(sealed[0].ID) > merged
	})
	wantCounted(t, e, 2000)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestKeysAreLoadedInPieces: a merge that ends while many keys are read makes few of them vain, and keys behind
// one that cannot be read are read.
func TestKeysAreLoadedInPieces(t *testing.T) {
	fs := vfs.NewMem()
	var reads atomic.Int32
	var fail atomic.Bool // ten reads fail, of which the store's own may take some
	var atRead func(n int32)
	o := faultOptions(errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsRead && strings.HasSuffix(op.Path, ".sst") {
			n := reads.Add(1)
			if atRead != nil {
				atRead(n)
			}
			if fail.Load() && n >= 20 && n < 30 {
				return errorfs.ErrInjected
			}
		}
		return nil
	})), nil)
	const n = 20_000
	o.SegmentBytes, o.MergeBytes = 1<<20, 1
	fill, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	countUp(t, fill, 0, n)
	if err := fill.Close(); err != nil {
		t.Fatal(err)
	}
	if fill, _, err = Open(o); err != nil { // merges what was sealed
		t.Fatal(err)
	}
	waitUntil(t, func() bool { return fill.merge.merges.Load() > 0 })
	if err := fill.Close(); err != nil {
		t.Fatal(err)
	}
	for _, failing := range []bool{false, true} {
		o.noWarming, o.noCompaction = true, true // nothing else reads
		e, _, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		keys := make([][]byte, n/10)
		for i := range keys {
			keys[i] = []byte("key:" + strconv.Itoa(10*i))
		}
		reads.Store(0)
		if failing {
			fail.Store(true)
		} else {
			atRead = func(n int32) {
				if n == 20 { // a merge ends
					e.eachTable(func(_ int, t *shards.Table) {
						for part := range shards.Partitions {
							p := t.Part(part)
							p.Lock()
							p.Stored(0)
							p.Unlock()
						}
					})
				}
			}
		}
		e.Load(0, keys)
		fail.Store(false)
		atRead = nil
		if reads.Load() < 40 {
			t.Fatal("too few reads for this test:", reads.Load())
		}
		op := Op{NowMs: e.NowMs()}
		absent := len(e.Absent(&op, keys, nil))
		if failing && (absent == 0 || absent > 10) || !failing && (absent == 0 || absent > 64) {
			t.Errorf("failing %v: %d of %d keys are absent", failing, absent, len(keys))
		}
		for _, key := range keys {
			if v, err := e.Get(&op, key); err != nil || "key:"+strconv.FormatInt(v.Int, 10) != string(key) {
				t.Fatal(string(key), v.Int, err)
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
