package shards

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// hotTest is a table with one counter.
type hotTest struct {
	*testing.T
	t   *Table
	p   *Partition
	h   Hash
	key []byte
}

func newHotTest(t *testing.T, logged bool, v int64) *hotTest {
	x := &hotTest{T: t, t: NewTable(Seed{rand.Uint64(), rand.Uint64()}, logged), key: []byte("likes")}
	x.h = x.t.Hash(x.key)
	x.p = x.t.Part(PartOf(x.h))
	x.locked(func() { x.p.PutInt(x.h, x.key, 0, v) })
	return x
}

func (x *hotTest) locked(fn func()) {
	x.p.Lock()
	defer x.p.Unlock()
	fn()
}

func (x *hotTest) promote(o HotOptions) *Hot {
	x.Helper()
	ok := false
	x.locked(func() { ok = x.p.Promote(x.t, x.h, x.key, o) })
	if !ok {
		x.Fatal("not promoted")
	}
	return x.t.Hot(x.h, x.key)
}

// value is the counter's value as the record has it.
func (x *hotTest) value() (v int64) {
	x.locked(func() { v = x.p.Int(x.p.Find(x.h, x.key)) })
	return v
}

func (x *hotTest) add(hot *Hot, writer int, d, now, wantSum int64, want Added) {
	x.Helper()
	if sum, added := hot.Add(writer, d, now); added != want || sum != wantSum {
		x.Fatalf("Add %d: %d %v, want %d %v", d, sum, added, wantSum, want)
	}
}

// TestAWordCountsOrIsClosed: what writers were told they added is what the closer took out.
func TestAWordCountsOrIsClosed(t *testing.T) {
	var w word
	var counted, taken atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			d := int64(i*i*i) - 5
			for n := 0; !stop.Load(); n++ {
				if _, ok := w.add(d); ok {
					counted.Add(d)
				}
				if n%64 == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	for i := 0; i < 3000; i++ {
		runtime.Gosched()
		taken.Add(w.close())
		if _, ok := w.load(); ok {
			t.Error("a closed word can be read")
		}
		runtime.Gosched()
		w.open(0)
	}
	stop.Store(true)
	wg.Wait()
	if taken.Add(w.close()) != counted.Load() {
		t.Errorf("%d taken, %d counted", taken.Load(), counted.Load())
	}
}

// TestHotForms walks a counter through promotion, writes by cell and under the lock, and retirement.
func TestHotForms(t *testing.T) {
	for _, relaxed := range []bool{false, true} {
		t.Run(fmt.Sprintf("relaxed=%v", relaxed), func(t *testing.T) {
			x := newHotTest(t, false, 100)
			hot := x.promote(HotOptions{Cells: 2, Writers: 2, Relaxed: relaxed})
			x.add(hot, 0, 5, 1, 105, AddedYes)
			x.add(hot, 1, -2, 1, 103, AddedYes)
			x.add(hot, 0, 1, 2, 104, AddedYes)
			if v := x.value(); v != 104 {
				t.Fatalf("value %d, want 104", v)
			}
			x.locked(func() {
				r := x.p.Find(x.h, x.key)
				x.p.SetInt(r, x.p.Int(r)+10)
				x.p.Credit(r, 1, 10)
				if base, cells, drift := x.p.HotOf(r).Cells(); base != 100 || drift != 0 || !slices.Equal(cells, []int64{6, 8}) {
					t.Errorf("base %d, cells %v, drift %d; want 100, [6 8], 0", base, cells, drift)
				}
			})
			x.locked(func() { x.p.SetInt(x.p.Find(x.h, x.key), 50) }) // as SET does
			x.add(hot, 1, 1, 3, 51, AddedYes)
			x.locked(func() {
				r := x.p.Find(x.h, x.key)
				if base, cells, drift := x.p.HotOf(r).Cells(); base != 36 || drift != 0 || !slices.Equal(cells, []int64{6, 9}) {
					t.Errorf("after a SET: base %d, cells %v, drift %d; want 36, [6 9], 0", base, cells, drift)
				}
				x.p.Delete(x.h, r)
				x.p.PutInt(x.h, x.key, 0, 7)
			})
			if x.t.Hot(x.h, x.key) != nil || len(x.t.Hots()) != 0 {
				t.Error("the Hot of a deleted record is still found")
			}
			x.add(hot, 0, 1, 4, 0, AddedNot)
			if _, ok := hot.Get(0, true, nil); ok {
				t.Error("a retired Hot can be read")
			}
			if v := x.value(); v != 7 {
				t.Errorf("value %d, want 7", v)
			}
		})
	}
}

// TestHotIsFrozenWhereItIsClean: in a logged table the first write after a capture must go through the
// lock, since it must put the record on the dirty list.
func TestHotIsFrozenWhereItIsClean(t *testing.T) {
	x := newHotTest(t, true, 1)
	hot := x.promote(HotOptions{Cells: 1, Writers: 1})
	x.add(hot, 0, 1, 0, 2, AddedYes) // dirty since it was made
	var captured int64
	x.locked(func() { x.p.Capture(1, func(r Ref) { captured = x.p.Int(r) }) })
	if captured != 2 {
		t.Errorf("captured %d, want 2", captured)
	}
	x.add(hot, 0, 1, 0, 0, AddedNot)
	if v, ok := hot.Get(0, false, nil); !ok || v != 2 || !hot.Frozen() {
		t.Errorf("a frozen Hot: %d %v", v, ok)
	}
	x.locked(func() { x.p.SetInt(x.p.Find(x.h, x.key), 3) })
	x.add(hot, 0, 1, 0, 4, AddedYes)
	if n := x.p.DirtyLen(); n != 1 {
		t.Errorf("%d dirty records, want 1", n)
	}
}

// TestHotNearTheLimits: a counter near the ends of int64 is no Hot, one that comes near is retired, and
// a cell that grows large begins anew.
func TestHotNearTheLimits(t *testing.T) {
	for _, v := range []int64{math.MaxInt64, math.MinInt64, openLimit, -openLimit} {
		x := newHotTest(t, false, v)
		x.locked(func() {
			if x.p.Promote(x.t, x.h, x.key, HotOptions{}) {
				t.Errorf("a counter at %d was promoted", v)
			}
		})
	}
	for _, sign := range []int64{1, -1} {
		x := newHotTest(t, false, sign*(openLimit-1))
		hot := x.promote(HotOptions{Cells: 1})
		x.add(hot, 0, sign, 0, sign*openLimit, AddedFull)
		if v := x.value(); v != sign*openLimit || x.t.Hot(x.h, x.key) != nil {
			t.Errorf("value %d; still hot: %v", v, x.t.Hot(x.h, x.key) != nil)
		}
		for _, relaxed := range []bool{false, true} {
			x := newHotTest(t, false, 9)
			hot := x.promote(HotOptions{Cells: 1, Writers: 1, Relaxed: relaxed})
			n := int64(0)
			for ; n < cellLimit/MaxAdd-1; n++ {
				x.add(hot, 0, sign*MaxAdd, 0, 9+sign*(n+1)*MaxAdd, AddedYes)
			}
			for added := AddedYes; added == AddedYes; n++ {
				_, added = hot.Add(0, sign*MaxAdd, 0)
			}
			want := 9 + sign*n*MaxAdd
			if v := x.value(); v != want {
				t.Errorf("value %d, want %d", v, want)
			}
			x.locked(func() {
				if base, cells, drift := x.p.HotOf(x.p.Find(x.h, x.key)).Cells(); base != want || cells[0] != 0 || drift != 0 {
					t.Errorf("base %d, cells %v, drift %d; want %d, [0], 0", base, cells, drift, want)
				}
			})
		}
	}
}

// TestARolledUpReadIsYoungEnough: with roll-ups that come at any time, also far too late, a read is at
// most Stale old, never falls, and has all of its writer's own increments.
func TestARolledUpReadIsYoungEnough(t *testing.T) {
	const stale = 3 * time.Millisecond
	x := newHotTest(t, false, 0)
	const writers = 3
	hot := x.promote(HotOptions{Cells: writers, Writers: writers, Relaxed: true, Stale: stale})
	start := time.Now()
	clock := func() time.Duration { return time.Since(start) }
	type point struct {
		at  time.Duration
		sum int64
	}
	var acked [writers]atomic.Int64
	var history atomic.Pointer[[]point] // of all acknowledged increments, appended by one goroutine
	history.Store(&[]point{})
	var stop atomic.Bool
	var rolled, summed atomic.Int64
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			own, last := int64(0), int64(0)
			for i := int64(0); !stop.Load(); i++ {
				if _, added := hot.Add(w, 1, i/1000); added == AddedNot {
					t.Error("closed")
				}
				own++
				acked[w].Store(own)
				if i%4 > 0 {
					continue
				}
				before, low := clock(), int64(0)
				for _, p := range *history.Load() {
					if p.at < before-stale {
						low = p.sum
					}
				}
				r := hot.roll.Load()
				v, ok := hot.Get(w, true, clock)
				switch {
				case !ok:
					t.Error("a relaxed Hot that is open cannot be read")
				case v < low:
					t.Errorf("read %d, %v after %d were acknowledged", v, stale, low)
				case v < own || v < last:
					t.Errorf("read %d, after %d of its own and %d before", v, own, last)
				}
				if r != nil && clock()-r.at < stale {
					rolled.Add(1)
				} else {
					summed.Add(1)
				}
				last = v
				runtime.Gosched()
			}
		})
	}
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	var points []point
	next := clock()
	both := func() bool { return rolled.Load() > 0 && summed.Load() > 0 }
	for (clock() < 400*time.Millisecond || !both() && clock() < 2*time.Minute) && !t.Failed() {
		sum := int64(0)
		for w := range acked {
			sum += acked[w].Load()
		}
		points = append(points, point{clock(), sum}) // the sum was acknowledged before
		if len(points) > 200 {
			points = slices.Clone(points[100:])
		}
		kept := slices.Clone(points)
		history.Store(&kept)
		if clock() > next {
			hot.RollUp(clock())
			next = clock() + time.Duration(rng.Int64N(int64(3*stale)))
		}
		time.Sleep(100 * time.Microsecond)
	}
	stop.Store(true)
	wg.Wait()
	if rolled.Load() == 0 || summed.Load() == 0 {
		t.Errorf("%d reads of a roll-up, %d sums: want both", rolled.Load(), summed.Load())
	}
	want := int64(0)
	for w := range acked {
		want += acked[w].Load()
	}
	if v := x.value(); v != want {
		t.Errorf("value %d, want %d", v, want)
	}
}
