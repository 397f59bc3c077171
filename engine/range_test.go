package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"countd/hll"
	"countd/shards"
)

// memoryEngine is an engine without a log, with contracts as CNT.CONTRACT SET takes them.
func memoryEngine(t *testing.T, contracts ...string) (*Engine, *Op) {
	t.Helper()
	e, _, err := Open(Options{Policy: FsyncOff, Hot: quietDetector()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	op := &Op{NowMs: e.NowMs()}
	for _, c := range contracts {
		mustSet(t, e, op, c)
	}
	return e, op
}

// textOf is the value of key as text, "" where there is none.
func textOf(t *testing.T, e *Engine, op *Op, key string) string {
	t.Helper()
	v, err := e.Get(op, []byte(key))
	switch {
	case err != nil:
		t.Fatal(err)
	case v.IsInt:
		return strconv.FormatInt(v.Int, 10)
	}
	return string(v.Bytes)
}

// TestNoWriteLeavesTheRange tries every command that writes on a counter of 5 that must stay from 0 to
// 10. What is refused changes nothing, no other key either.
func TestNoWriteLeavesTheRange(t *testing.T) {
	e, op := memoryEngine(t, "k MIN 0 MAX 10")
	k := []byte("k")
	incr := func(delta int64) func() error {
		return func() error { _, err := e.IncrBy(op, k, delta); return err }
	}
	float := func(incr string) func() error {
		return func() error { _, err := e.IncrByFloat(op, k, []byte(incr)); return err }
	}
	set := func(val string, o SetOptions) func() error {
		return func() error { _, _, err := e.Set(op, k, []byte(val), o); return err }
	}
	mset := func(nx bool, kv ...string) func() error {
		var b [][]byte
		for _, s := range kv {
			b = append(b, []byte(s))
		}
		return func() error { _, err := e.MSet(op, b, nx); return err }
	}
	setrange := func(offset int64, val string) func() error {
		return func() error { _, err := e.SetRange(op, k, offset, []byte(val)); return err }
	}
	add := func(val string) func() error {
		return func() error { _, err := e.Append(op, k, []byte(val)); return err }
	}
	from := func(val string, do func(src []byte) error) func() error {
		return func() error {
			src := []byte("from")
			if _, _, err := e.Set(op, src, []byte(val), SetOptions{}); err != nil {
				t.Fatal(err)
			}
			err := do(src)
			if n, _ := e.Exists(op, [][]byte{src}); err != nil && n != 1 {
				t.Errorf("the source with %.10q is gone", val)
			}
			return err
		}
	}
	rename := func(src []byte) error { _, err := e.Rename(op, src, k, false); return err }
	renamenx := func(src []byte) error { _, err := e.Rename(op, src, k, true); return err }
	copyTo := func(src []byte) error { _, err := e.Copy(op, src, op.DB, k, true); return err }
	for _, c := range []struct {
		what string
		do   func() error
		err  error
		want string
	}{
		{"incr 5", incr(5), nil, "10"},
		{"incr 6", incr(6), ErrLeavesRange, "5"},
		{"incr -5", incr(-5), nil, "0"},
		{"incr -6", incr(-6), ErrLeavesRange, "5"},
		{"incr max", incr(math.MaxInt64), ErrOverflow, "5"},
		{"incr min", incr(math.MinInt64), ErrLeavesRange, "5"},
		{"float 5", float("5"), nil, "10"},
		{"float 5.0e0", float("5.0e0"), nil, "10"},
		{"float 0.5", float("0.5"), ErrNotInteger, "5"},
		{"float 6", float("6"), ErrLeavesRange, "5"},
		{"float -6", float("-6"), ErrLeavesRange, "5"},
		{"float 1e30", float("1e30"), ErrNotInteger, "5"},
		{"set 0", set("0", SetOptions{}), nil, "0"},
		{"set 11", set("11", SetOptions{}), ErrOutOfRange, "5"},
		{"set -1", set("-1", SetOptions{}), ErrOutOfRange, "5"},
		{"set 07", set("07", SetOptions{}), ErrOutOfRange, "5"},
		{"set empty", set("", SetOptions{}), ErrOutOfRange, "5"},
		{"set xx get", set("x", SetOptions{Cond: SetXX, WantOld: true}), ErrOutOfRange, "5"},
		{"set nx on a key", set("x", SetOptions{Cond: SetNX}), nil, "5"},
		{"set in the past", set("11", SetOptions{ExpireAtMs: 1}), ErrOutOfRange, "5"},
		{"mset 10", mset(false, "other", "x", "k", "10"), nil, "10"},
		{"mset 11", mset(false, "more", "x", "k", "11"), ErrOutOfRange, "5"},
		{"mset 11 and 10", mset(false, "k", "11", "k", "10"), ErrOutOfRange, "5"},
		{"msetnx on a key", mset(true, "k", "11", "more", "1"), nil, "5"},
		{"setrange 0 9", setrange(0, "9"), nil, "9"},
		{"setrange 1 0", setrange(1, "0"), ErrOutOfRange, "5"},
		{"setrange 2 0", setrange(2, "0"), ErrOutOfRange, "5"},
		{"setrange nothing", setrange(7, ""), nil, "5"},
		{"append 0", add("0"), ErrOutOfRange, "5"},
		{"append x", add("x"), ErrOutOfRange, "5"},
		{"append nothing", add(""), nil, "5"},
		{"rename 7", from("7", rename), nil, "7"},
		{"rename 11", from("11", rename), ErrOutOfRange, "5"},
		{"rename x", from("x", rename), ErrOutOfRange, "5"},
		{"rename a long string", from(strings.Repeat("x", 1000), rename), ErrOutOfRange, "5"},
		{"renamenx on a key", from("11", renamenx), nil, "5"},
		{"copy 7", from("7", copyTo), nil, "7"},
		{"copy 11", from("11", copyTo), ErrOutOfRange, "5"},
		{"pfadd", func() error { _, err := e.PFAdd(op, k, nil); return err }, ErrNotHLL, "5"},
		{"pfmerge", func() error { return e.PFMerge(op, k, nil) }, ErrNotHLL, "5"},
	} {
		if _, _, err := e.Set(op, k, []byte("5"), SetOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := c.do(); err != c.err {
			t.Errorf("%s: error %v, want %v", c.what, err, c.err)
		}
		if got := textOf(t, e, op, "k"); got != c.want {
			t.Errorf("%s: now %q, want %q", c.what, got, c.want)
		}
		if got := textOf(t, e, op, "more"); got != "" {
			t.Errorf("%s: half of it was done", c.what)
		}
	}
	if _, err := e.Del(op, [][]byte{k}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.PFAdd(op, k, nil); err != ErrOutOfRange {
		t.Error("pfadd on an absent key:", err)
	}
	if err := e.PFMerge(op, k, nil); err != ErrOutOfRange {
		t.Error("pfmerge on an absent key:", err)
	}
	if _, err := e.Append(op, k, []byte("11")); err != ErrOutOfRange {
		t.Error("append to an absent key:", err)
	}
	if done, err := e.MSet(op, [][]byte{k, []byte("11"), []byte("more"), nil}, true); err != ErrOutOfRange || done {
		t.Error("msetnx on an absent key:", err)
	}
	if n, err := e.Exists(op, [][]byte{k, []byte("more")}); err != nil || n != 0 {
		t.Error("something was created", err)
	}
}

// TestAValueOutsideTheRangeComesNearer: what was there before the contract stays, and may move towards
// the range, not away from it nor past it. An absent counter is 0.
func TestAValueOutsideTheRangeComesNearer(t *testing.T) {
	e, op := memoryEngine(t)
	for _, c := range []struct {
		old, delta int64
		ok         bool
	}{
		{150, -10, true}, {150, 1, false}, {150, -50, true}, {150, -145, true}, {150, -146, false},
		{150, -190, false}, {150, 0, true}, {-7, 1, true}, {-7, -1, false}, {-7, 12, true},
		{-7, 107, true}, {-7, 108, false}, {0, 1, true}, {0, -1, false}, {0, 101, false},
	} {
		key := fmt.Appendf(nil, "k%d%+d", c.old, c.delta)
		if c.old != 0 {
			if _, _, err := e.Set(op, key, strconv.AppendInt(nil, c.old, 10), SetOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		mustSet(t, e, op, string(key)+" MIN 5 MAX 100")
		want, wantErr := c.old+c.delta, error(nil)
		if !c.ok {
			want, wantErr = c.old, ErrLeavesRange
		}
		if _, err := e.IncrBy(op, key, c.delta); err != wantErr {
			t.Errorf("%d%+d: %v", c.old, c.delta, err)
		}
		if v, err := e.Get(op, key); err != nil || v.Int != want {
			t.Errorf("%d%+d is %d, want %d", c.old, c.delta, v.Int, want)
		}
	}
	for text, want := range map[string]error{"0.25": ErrNotInteger, "95.5": nil, "96.5": ErrOutOfRange} {
		mustSet(t, e, op, "f")
		if _, _, err := e.Set(op, []byte("f"), []byte("4.5"), SetOptions{}); err != nil {
			t.Fatal(err)
		}
		mustSet(t, e, op, "f MIN 5 MAX 100")
		if _, err := e.IncrByFloat(op, []byte("f"), []byte(text)); err != want {
			t.Errorf("4.5 + %s: %v, want %v", text, err, want)
		}
	}
}

// TestARunStopsWhereItWouldLeaveTheRange: as far as it got it is done.
func TestARunStopsWhereItWouldLeaveTheRange(t *testing.T) {
	e, op := memoryEngine(t, "k MAX 10")
	sums := make([]int64, 4)
	n, err := e.IncrByRun(op, []byte("k"), []int64{4, 6, 1, -5}, sums)
	if n != 2 || err != ErrLeavesRange || sums[0] != 4 || sums[1] != 10 {
		t.Error(n, err, sums)
	}
	n, err = e.IncrByRun(op, []byte("k"), []int64{1, -5}, sums)
	if n != 0 || err != ErrLeavesRange {
		t.Error(n, err)
	}
	if got := textOf(t, e, op, "k"); got != "10" {
		t.Error(got)
	}
}

// TestASketchFromBeforeTheRangeIsRead: but not written, nor counted on.
func TestASketchFromBeforeTheRangeIsRead(t *testing.T) {
	e, op := memoryEngine(t)
	k := []byte("k")
	if _, err := e.PFAdd(op, k, [][]byte{{1}, {2}}); err != nil {
		t.Fatal(err)
	}
	mustSet(t, e, op, "k MAX 10")
	if n, err := e.PFCount(op, [][]byte{k}); err != nil || n != 2 {
		t.Error(n, err)
	}
	if _, err := e.PFAdd(op, k, [][]byte{{3}}); err != ErrOutOfRange {
		t.Error(err)
	}
	if err := e.PFMerge(op, []byte("other"), [][]byte{k}); err != nil {
		t.Error(err)
	}
	if v, err := e.Get(op, k); err != nil || !hll.IsSketch(v.Bytes) {
		t.Error("the sketch is gone", err)
	}
}

// TestManyOnABoundedCounter: goroutines take from a quota until it is used up. They get exactly what
// there is, each unit once; and while some give back, no reply is outside.
func TestManyOnABoundedCounter(t *testing.T) {
	const quota, goroutines = 20_000, 8
	e, _ := memoryEngine(t, "quota:* MIN -100 MAX 19900")
	mustIncrBy(t, e, "quota:a", -100)
	var taken atomic.Int64
	var wg sync.WaitGroup
	replies := make([][]int64, goroutines)
	for g := range goroutines {
		wg.Go(func() {
			op := &Op{NowMs: e.NowMs(), Writer: e.NewWriter()}
			sums := make([]int64, 3)
			for {
				n, err := e.IncrByRun(op, []byte("quota:a"), []int64{1, 1, 1}[:1+g%3], sums)
				replies[g] = append(replies[g], sums[:n]...)
				taken.Add(int64(n))
				if err == ErrLeavesRange {
					return
				} else if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	seen := make([]bool, quota+1)
	for _, r := range replies {
		for _, sum := range r {
			if sum <= -100 || sum > quota-100 || seen[sum+100] {
				t.Fatalf("reply %d is outside, or given twice", sum)
			}
			seen[sum+100] = true
		}
	}
	if taken.Load() != quota {
		t.Errorf("%d taken of %d", taken.Load(), quota)
	}

	var net atomic.Int64
	for g := range goroutines {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			op := &Op{NowMs: e.NowMs()}
			for range 5000 {
				d := rng.Int64N(401) - 200
				switch sum, err := e.IncrBy(op, []byte("quota:b"), d); {
				case err == ErrLeavesRange:
				case err != nil || sum < -100 || sum > 19900:
					t.Errorf("%d is outside (%v)", sum, err)
					return
				default:
					net.Add(d)
				}
			}
		})
	}
	wg.Wait()
	if v, err := e.Get(&Op{NowMs: e.NowMs()}, []byte("quota:b")); err != nil || v.Int != net.Load() {
		t.Errorf("%d, want %d (%v)", v.Int, net.Load(), err)
	}
}

func mustIncrBy(t *testing.T, e *Engine, key string, delta int64) {
	t.Helper()
	if _, err := e.IncrBy(&Op{NowMs: e.NowMs()}, []byte(key), delta); err != nil {
		t.Fatal(err)
	}
}

// TestAHotCounterGetsABound: when SetContract returns, nobody takes a counter past its maximum that many
// were adding to without a lock.
func TestAHotCounterGetsABound(t *testing.T) {
	e, op := memoryEngine(t)
	key := []byte("hot")
	mustIncrBy(t, e, "hot", 1)
	writers := []*Writer{e.NewWriter(), e.NewWriter(), e.NewWriter()}
	for round := range int64(100) {
		if !e.forceHot(0, key, shards.HotOptions{Cells: 3, Writers: 4, Owner: (*Contract)(nil)}) {
			t.Fatal("not promoted")
		}
		var wg sync.WaitGroup
		for _, writer := range writers {
			wg.Go(func() {
				op := &Op{NowMs: e.NowMs(), Writer: writer}
				for turn := 0; ; turn++ {
					if turn%yieldEvery == 0 {
						runtime.Gosched()
					}
					if _, err := e.IncrBy(op, key, 1); err == ErrLeavesRange {
						return
					} else if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		v, err := e.Get(op, key)
		for start := v.Int; err == nil && v.Int < start+round; runtime.Gosched() {
			v, err = e.Get(op, key)
		}
		if err != nil {
			t.Fatal(err)
		}
		limit := v.Int + 3*round
		mustSet(t, e, op, fmt.Sprintf("hot MAX %d", limit))
		if v, err = e.Get(op, key); err != nil {
			t.Fatal(err)
		}
		limit = max(limit, v.Int) // it may have been above
		wg.Wait()
		if v, err := e.Get(op, key); err != nil || v.Int != limit {
			t.Fatalf("round %d: %d with a limit of %d (%v)", round, v.Int, limit, err)
		}
		if _, err := e.DelContract(op, "hot"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestARefusalByAContractWaitsForIt: under always the reply tells that the contract is there.
func TestARefusalByAContractWaitsForIt(t *testing.T) {
	e, _, err := Open(faultOptions(vfs.NewMem(), nil))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	op, other := Op{}, Op{}
	mustSet(t, e, &op, "k MAX 0")
	kv := [][]byte{[]byte("k"), []byte("1")}
	for what, do := range map[string]func() error{
		"IncrBy": func() error { _, err := e.IncrBy(&other, kv[0], 1); return err },
		"Set":    func() error { _, _, err := e.Set(&other, kv[0], kv[1], SetOptions{}); return err },
		"MSet":   func() error { _, err := e.MSet(&other, kv, false); return err },
	} {
		other.Seen = 0
		if err := do(); err != ErrLeavesRange && err != ErrOutOfRange {
			t.Error(what, err)
		}
		if other.Seen < op.Seen {
			t.Errorf("%s need not wait", what)
		}
	}
	if err := e.Commit(op.Seen); err != nil {
		t.Fatal(err)
	}
}
