package engine

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

// wantTally checks the value of key and its ups and downs.
func wantTally(t *testing.T, e *Engine, op *Op, key string, value, ups, downs int64) {
	t.Helper()
	info, err := e.Info(op, []byte(key))
	if err != nil || info.Int != value || info.Ups != ups || info.Downs != downs {
		t.Errorf("%s: %d, %d up, %d down (%v); want %d, %d, %d",
			key, info.Int, info.Ups, info.Downs, err, value, ups, downs)
	}
}

// TestATallyBeginsWhereTheValueIsSet: also where the contract comes, and it ends with the first write
// after the contract went.
func TestATallyBeginsWhereTheValueIsSet(t *testing.T) {
	e, op := memoryEngine(t)
	k := []byte("k")
	incr := func(delta int64) {
		t.Helper()
		if _, err := e.IncrBy(op, k, delta); err != nil {
			t.Fatal(err)
		}
	}
	incr(5)
	mustSet(t, e, op, "k TALLY yes")
	wantTally(t, e, op, "k", 5, 0, 0)
	incr(3)
	incr(-10)
	incr(0)
	wantTally(t, e, op, "k", -2, 3, 10)
	if _, err := e.Expire(op, k, op.NowMs+1000, 0); err != nil {
		t.Fatal(err)
	}
	incr(1)
	wantTally(t, e, op, "k", -1, 4, 10)
	if _, _, err := e.Set(op, k, []byte("-1"), SetOptions{}); err != nil {
		t.Fatal(err)
	}
	wantTally(t, e, op, "k", -1, 0, 0)
	incr(1)
	wantTally(t, e, op, "k", 0, 1, 0)
	if _, err := e.IncrByFloat(op, k, []byte("1")); err != ErrTallied {
		t.Error(err)
	}
	mustSet(t, e, op, "k TALLY no")
	wantTally(t, e, op, "k", 0, 0, 0)
	mustSet(t, e, op, "k TALLY yes") // nothing was written meanwhile
	wantTally(t, e, op, "k", 0, 1, 0)
	mustSet(t, e, op, "k")
	incr(7)
	mustSet(t, e, op, "k TALLY yes")
	wantTally(t, e, op, "k", 7, 0, 0)
	incr(1)
	if _, err := e.Del(op, [][]byte{k}); err != nil {
		t.Fatal(err)
	}
	wantTally(t, e, op, "k", 0, 0, 0)
	incr(-1)
	wantTally(t, e, op, "k", -1, 0, 1)
}

// TestATallyOfAHotCounterEnds: a counter that loses its tally may be promoted once it was written, and
// must not come back to the old one.
func TestATallyOfAHotCounterEnds(t *testing.T) {
	e, op := memoryEngine(t, "k TALLY yes")
	op.Writer = e.NewWriter()
	k := []byte("k")
	mustIncrBy(t, e, "k", 5)
	if e.promote(0, k) {
		t.Error("promoted, with a tally")
	}
	mustSet(t, e, op, "k")
	if e.promote(0, k) {
		t.Error("promoted, with a tally that may be told again")
	}
	mustIncrBy(t, e, "k", 1)
	if !e.promote(0, k) {
		t.Fatal("not promoted")
	}
	if sum, err := e.IncrBy(op, k, 1); err != nil || sum != 7 {
		t.Fatal(sum, err)
	}
	mustSet(t, e, op, "k TALLY yes")
	wantTally(t, e, op, "k", 7, 0, 0)
	if h := e.table(0).Hot(e.table(0).Hash(k), k); h != nil {
		t.Error("hot, with a tally")
	}
}

// TestEachSideOfATallyOverflowsByItself: what would pass the largest int64 changes nothing.
func TestEachSideOfATallyOverflowsByItself(t *testing.T) {
	const top = math.MaxInt64
	e, op := memoryEngine(t, "* TALLY yes")
	for _, c := range []struct {
		name        string
		deltas      []int64
		ok          bool
		v, up, down int64
	}{
		{"ups", []int64{top, -top, 1}, false, 0, top, top},
		{"downs", []int64{-top, top, -1}, false, 0, top, top},
		{"the other side goes on", []int64{top, -top + 1, -1}, true, 0, top, top},
		{"the smallest", []int64{math.MinInt64}, false, 0, 0, 0},
		{"the value", []int64{top, 1}, false, top, top, 0},
		{"nothing", []int64{top, -top, 0}, true, 0, top, top},
	} {
		n, err := e.IncrByRun(op, []byte(c.name), c.deltas, make([]int64, 3))
		want, wantN := error(nil), len(c.deltas)
		if !c.ok {
			want, wantN = ErrOverflow, wantN-1
		}
		if err != want || n != wantN {
			t.Errorf("%s: %d added, %v", c.name, n, err)
		}
		wantTally(t, e, op, c.name, c.v, c.up, c.down)
	}
}

// TestATallyIsTakenAlong by RENAME and COPY to a key whose contract has one.
func TestATallyIsTakenAlong(t *testing.T) {
	e, op := memoryEngine(t, "a* TALLY yes")
	a, b, a2, a3 := []byte("a"), []byte("b"), []byte("a2"), []byte("a3")
	mustIncrBy(t, e, "a", 5)
	mustIncrBy(t, e, "a", -2)
	if _, err := e.Copy(op, a, 0, a2, false); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Rename(op, a, a3, false); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Copy(op, a3, 0, b, false); err != nil {
		t.Fatal(err)
	}
	wantTally(t, e, op, "a2", 3, 5, 2)
	wantTally(t, e, op, "a3", 3, 5, 2)
	wantTally(t, e, op, "b", 3, 0, 0)
	if _, err := e.Rename(op, b, a, false); err != nil {
		t.Fatal(err)
	}
	wantTally(t, e, op, "a", 3, 0, 0)
}

// TestManyOnATally: ups and downs of many goroutines are exact, and so is their difference.
func TestManyOnATally(t *testing.T) {
	e, op := memoryEngine(t, "k TALLY yes MIN -50 MAX 50")
	var ups, downs atomic.Int64
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			op := &Op{NowMs: e.NowMs(), Writer: e.NewWriter()}
			for range 3000 {
				d := rng.Int64N(41) - 20
				switch _, err := e.IncrBy(op, []byte("k"), d); {
				case err == ErrLeavesRange:
				case err != nil:
					t.Error(err)
				case d > 0:
					ups.Add(d)
				default:
					downs.Add(-d)
				}
			}
		})
	}
	wg.Wait()
	wantTally(t, e, op, "k", ups.Load()-downs.Load(), ups.Load(), downs.Load())
}
