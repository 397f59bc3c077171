package engine

import (
	"fmt"
	"math"
	"slices"
	"time"

	"countd/hotkeys"
	"countd/shards"
)

// quietDetector are the settings of a detector that looks once an hour: what is hot is the test's affair.
func quietDetector() *HotConfig {
	cfg := hotkeys.DefaultConfig()
	cfg.Tick, cfg.Window = time.Hour, time.Hour
	return &cfg
}

// forceHot promotes, demotes and evicts keys at random, has the detector look, and changes the writer.
func (w *walker) forceHot() {
	if w.rng.IntN(8) == 0 {
		w.op.Writer = w.writers[w.rng.IntN(len(w.writers))]
	}
	if w.e.logged && w.rng.IntN(4) == 0 {
		t := w.e.table(w.rng.IntN(3))
		p := t.Part(shards.PartOf(t.Hash(w.key())))
		w.e.evict.began.Store(true)
		p.Lock()
		for range shards.EvictPasses {
			_, n := p.Evict()
			w.evictions += n
		}
		p.Unlock()
	}
	switch w.rng.IntN(18) {
	case 0, 1:
		if w.e.forceHot(w.rng.IntN(3), w.key(), shards.HotOptions{
			Cells: 1 + w.rng.IntN(3), Writers: 2, Relaxed: w.rng.IntN(2) == 0,
			Stale: time.Duration(w.rng.IntN(2)),
		}) {
			w.promotions++
		}
	case 2, 3:
		if w.e.promote(w.rng.IntN(3), w.key()) {
			w.promotions++
		}
	case 4, 5:
		w.e.demote(w.rng.IntN(3), w.key())
	case 6:
		if w.rng.IntN(20) == 0 {
			w.ticks++
			w.e.detectNow(time.Duration(w.ticks) * time.Hour)
		}
	}
}

// forceHot gives key a Hot of the given form, unless its contract forbids, and reports whether it has
// one.
func (e *Engine) forceHot(db int, key []byte, o shards.HotOptions) bool {
	en := e.place(&Op{DB: db}, key)
	en.p.Lock()
	defer en.p.Unlock()
	e.look(&en, key)
	o.Owner = en.c
	return e.promoteAs(&en, key, o)
}

// hots returns all Hots, by database.
func (e *Engine) hots() (all [Databases][]*shards.Hot) {
	e.eachTable(func(db int, t *shards.Table) { all[db] = slices.Clone(t.Hots()) })
	return all
}

// checkForms checks the counters that had a Hot before the contracts were changed: each whose contract
// is another one now has a Hot of the form that this one says, or none where it forbids it; no other
// Hot was touched.
func (w *walker) checkForms(before [Databases][]*shards.Hot) {
	w.t.Helper()
	for db, hots := range before {
		for _, h := range hots {
			was, _ := h.Owner().(*Contract)
			c := plainContractOf(w.m.contracts, h.Key())
			now := w.e.table(db).Hot(h.Hash(), h.Key())
			if _, ok := w.m.live(db, string(h.Key()), w.e.NowMs()); !ok && now == nil {
				continue // has expired, and was deleted in the background
			}
			if was == nil && c == nil || was != nil && c != nil && *was == *c {
				if now != h {
					w.t.Fatalf("%q lost its Hot, and its contract is still %v", h.Key(), c)
				}
				continue
			}
			if c.alone() {
				if now != nil {
					w.t.Fatalf("%q is hot under %v", h.Key(), c)
				}
				continue
			}
			if now == nil || now == h {
				w.t.Fatalf("%q has no new Hot, and its contract is %v after %v", h.Key(), c, was)
			}
			got, want := now.Options(), w.e.hotOptions(c)
			is, _ := now.Owner().(*Contract)
			if got.Owner, want.Owner = nil, nil; got != want || (is == nil) != (c == nil) || is != nil && *is != *c {
				w.t.Fatalf("%q is hot as %+v under %v, want %+v under %v", h.Key(), got, is, want, c)
			}
		}
	}
}

// get is Get. It is read twice, the second time so that it is not stale.
func (w *walker) get(key []byte) (Value, error) {
	if _, err := w.e.Get(&w.op, key); err != nil {
		return Value{}, err
	}
	return w.e.Get(w.sure(key), key)
}

// sure returns op, but without a writer where a read of key with one may be stale.
func (w *walker) sure(key []byte) *Op {
	t := w.e.table(w.op.DB)
	if h := t.Hot(t.Hash(key), key); h == nil || h.Options().Stale < time.Millisecond {
		return &w.op
	}
	op := w.op
	op.Writer = nil
	return &op
}

// sawWrite checks what the reply to an increment of key waits for, which was done in epoch or a later
// one; sawRead what the reply to a read waits for.
func (w *walker) sawWrite(key []byte, epoch uint64) {
	w.t.Helper()
	if w.wrote == nil {
		w.wrote = map[string]uint64{}
	}
	w.wrote[fmt.Sprint(w.op.DB, string(key))] = epoch
	w.sawRead(key)
}

func (w *walker) sawRead(key []byte) {
	w.t.Helper()
	durability := w.e.Policy()
	if c := plainContractOf(w.m.contracts, key); c != nil && c.Durability != FsyncOff {
		durability = c.Durability
	}
	epoch := Epoch(w.wrote[fmt.Sprint(w.op.DB, string(key))])
	if waits := durability == FsyncAlways; waits && w.op.Seen < epoch || !waits && w.op.Seen != 0 {
		w.t.Fatalf("%q was written in epoch %d; with durability %d a reply waits for %d",
			key, epoch, durability, w.op.Seen)
	}
}

// relaxed reports whether replies to increments of key may be those of an instant ago.
func (w *walker) relaxed(key []byte) bool {
	t := w.e.table(w.op.DB)
	h := t.Hot(t.Hash(key), key)
	return h != nil && h.Options().Relaxed
}

// run is a step of the walker: a run of increments, some of which may not be possible.
func (w *walker) run(key []byte, v modelValue, ok bool) {
	w.t.Helper()
	deltas := make([]int64, 1+w.rng.IntN(16))
	for i := range deltas {
		deltas[i] = w.rng.Int64N(7) - 2
		if w.rng.IntN(100) == 0 {
			deltas[i] = math.MaxInt64 - w.rng.Int64N(3)
		} else if w.rng.IntN(100) == 0 {
			deltas[i] = math.MinInt64/2 + w.rng.Int64N(3)
		}
	}
	sums := make([]int64, len(deltas))
	relaxed, epoch := w.relaxed(key), w.e.epoch.Load()
	n, err := w.e.IncrByRun(&w.op, key, deltas, sums)
	want := 0
	var wantErr error
	for ; want < len(deltas); want++ {
		var sum int64
		if sum, wantErr = w.m.incr(key, &v, ok || want > 0, deltas[want]); wantErr != nil {
			break
		}
		if sums[want] != sum && !relaxed {
			w.t.Fatalf("IncrByRun %q %v: sum %d is %d, want %d", key, deltas, want, sums[want], sum)
		}
	}
	w.want(err, wantErr)
	if n != want {
		w.t.Fatalf("IncrByRun %q %v: %d, want %d", key, deltas, n, want)
	}
	if n > 0 {
		w.sawWrite(key, epoch)
		w.m.keys[w.op.DB][string(key)] = v
	}
}

// times is a step of the walker: an increment many times over, or a read.
func (w *walker) times(key []byte, v modelValue, ok bool) {
	w.t.Helper()
	times, delta := 1+w.rng.IntN(40), w.rng.Int64N(7)-2
	switch w.rng.IntN(10) {
	case 0, 1:
		got, err := w.e.GetTimes(w.sure(key), key, times)
		w.want(err, nil)
		w.same(key, got, v, ok)
		return
	case 2:
		delta = math.MaxInt64/16 - w.rng.Int64N(3)
	case 3:
		delta = shards.MaxAdd/int64(times) - w.rng.Int64N(2)
	}
	relaxed, epoch := w.relaxed(key), w.e.epoch.Load()
	first, n, err := w.e.IncrByTimes(&w.op, key, delta, times)
	want := 0
	var wantErr error
	for ; want < times; want++ {
		var sum int64
		if sum, wantErr = w.m.incr(key, &v, ok || want > 0, delta); wantErr != nil {
			break
		}
		if want == 0 && first != sum && !relaxed {
			w.t.Fatalf("IncrByTimes %q %d: the first sum is %d, want %d", key, delta, first, sum)
		}
	}
	w.want(err, wantErr)
	if n != want {
		w.t.Fatalf("IncrByTimes %q %d: %d times, want %d", key, delta, n, want)
	}
	if n > 0 {
		w.sawWrite(key, epoch)
		w.m.keys[w.op.DB][string(key)] = v
	}
}
