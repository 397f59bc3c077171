package soak

import (
	"math/rand/v2"
	"testing"
	"time"
)

// play executes commands on a few keys, some of which expire meanwhile, and returns the states behind
// each of them.
func play(table []state, ops []op, at millis) [][]state {
	places := [][]state{append([]state(nil), table...)}
	for _, o := range ops {
		if o.kind != opHot {
			table[o.key], _ = o.apply(table[o.key], table[o.key].at(at, at) != gone, at, at)
		}
		places = append(places, append([]state(nil), table...))
	}
	return places
}

func drawOps(r *rand.Rand, n int) []op {
	ops := make([]op, n)
	for i := range ops {
		ops[i] = op{key: r.Uint32N(5), arg: 1 + r.Int64N(100)}
		switch r.IntN(5) {
		case 0:
			ops[i].kind, ops[i].ttl = opSet, 1000+millis(r.IntN(10))
		case 1:
			ops[i].kind = opDel
		case 2:
			ops[i] = op{kind: opHot, key: hotKey}
		case 3:
			ops[i].kind = opGet
		}
	}
	return ops
}

// At whatever place the writes of a connection are cut off, that place is found, and a value that is
// from another place is noticed.
func TestACutIsFound(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	torn := 0
	for range 2000 {
		before := make([]state, 5)
		for i := range before {
			before[i].value = r.Int64N(3)
		}
		ops := drawOps(r, 1+r.IntN(30))
		nAcked := r.IntN(len(ops) + 1)
		table := append([]state(nil), before...)
		j := journal{keep: 1000}
		for _, o := range ops[:nAcked] {
			e := entry{key: o.key, acked: 50}
			if o.kind != opHot {
				e.before = table[o.key]
			}
			j.add(e)
			play(table, []op{o}, 50)
		}
		places := play(append([]state(nil), before...), ops, 50)
		at := r.IntN(len(places))
		survived := places[at]

		counted := newDoubt(table, j.entries, ops[nAcked:], 50, 50).hot
		for place := range counted {
			if counted[place] != countHot(ops[:place]) {
				t.Fatalf("%d hot increments at place %d, want %d", counted[place], place, countHot(ops[:place]))
			}
		}
		see := func(values []int64) (first, last int, found bool, after []state) {
			d := newDoubt(table, j.entries, ops[nAcked:], 50, 50)
			all := true
			for key, p := range d.past {
				all = d.see(p, values[key], 60, 60) && all
			}
			first, last, found = d.cut()
			after = append([]state(nil), table...)
			if found {
				if !all {
					t.Fatal("a cut is found in which a key does not fit")
				}
				d.settle(after, last)
			}
			return first, last, found, after
		}
		values := make([]int64, len(survived))
		for i, s := range survived {
			values[i] = s.value
		}
		first, last, found, after := see(values)
		if !found || first > at || last < at {
			t.Fatalf("cut at %d of %d: found from %d to %d, %v", at, len(ops), first, last, found)
		}
		for i := range after {
			if after[i].value != values[i] {
				t.Fatalf("key %d is %v after the settlement, %d before", i, after[i], values[i])
			}
		}
		// One key of another place: right only where all the others were the same there.
		other := r.IntN(len(places))
		key := r.IntN(len(values))
		values[key] = places[other][key].value
		_, _, found, _ = see(values)
		if want := isPlace(places, values, newDoubt(table, j.entries, ops[nAcked:], 50, 50)); found != want {
			t.Fatalf("found %v, want %v", found, want)
		}
		if !found {
			torn++
		}
	}
	if torn < 100 {
		t.Errorf("only %d torn states were tried", torn)
	}
}

func countHot(ops []op) (n int) {
	for _, o := range ops {
		if o.kind == opHot {
			n++
		}
	}
	return n
}

// isPlace says whether all keys in doubt have their values at one and the same place.
func isPlace(places [][]state, values []int64, d *doubt) bool {
	for _, p := range places {
		same := true
		for key := range d.past {
			same = same && p[key].value == values[key]
		}
		if same {
			return true
		}
	}
	return false
}

func TestAStateFitsWhatItMayBe(t *testing.T) {
	expiring := state{value: 7, from: 1000, by: 1100}
	for _, c := range []struct {
		s        state
		value    int64
		from, by millis
		want     bool
	}{
		{state{}, 0, 10, 20, true}, {state{}, 1, 10, 20, false},
		{state{value: 7}, 7, 10, 20, true}, {state{value: 7}, 0, 10, 20, false},
		{state{value: 7}, 8, 10, 20, false},
		{expiring, 7, 10, 20, true}, {expiring, 0, 10, 899, false},
		{expiring, 0, 10, 950, true}, {expiring, 7, 1150, 1300, true}, {expiring, 8, 1150, 1300, false},
		{expiring, 7, 1201, 1300, false}, {expiring, 0, 1201, 1300, true},
	} {
		if got := c.s.fits(c.value, c.from, c.by); got != c.want {
			t.Errorf("%v read as %d from %d to %d: %v", c.s, c.value, c.from, c.by, got)
		}
	}
}

// A value of the hot key is given out once, and only if it was asked for.
func TestTheHotKeyGivesEachValueOnce(t *testing.T) {
	h := newHot()
	h.begin(1000)
	h.sent.Store(3)
	for i, want := range []bool{true, true, false, true, false, false} {
		value := []int64{1001, 1003, 1003, 1002, 1004, 1000}[i]
		if got := h.take(value); got != want {
			t.Errorf("%d: %v", value, got)
		}
	}
}

func TestTheJournalForgetsWhatIsOld(t *testing.T) {
	j := journal{keep: 1000}
	for i := range millis(10_000) {
		j.add(entry{key: hotKey, acked: i})
	}
	if n := len(j.take()); n != 1001 || j.hotSafe != 10_000-1001 {
		t.Errorf("%d entries, %d left", n, j.hotSafe)
	}
	always := journal{}
	always.add(entry{key: hotKey})
	if len(always.take()) != 0 || always.hotSafe != 1 {
		t.Error("a journal that keeps nothing kept something")
	}
}
