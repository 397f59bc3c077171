package engine

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"countd/hll"
	"countd/shards"
)

// model is the database as a plain map: the specification that the engine is compared with.
type model struct {
	keys      [Databases]map[string]modelValue
	contracts contractList
}

type modelValue struct {
	val    string
	tally  tally           // since val was set, or since there was no tally at a write
	sketch map[string]bool // nil: a string
	expiry int64
}

func (v modelValue) clone() modelValue {
	v.sketch = maps.Clone(v.sketch)
	return v
}

func newModel() *model {
	m := &model{}
	for db := range m.keys {
		m.keys[db] = map[string]modelValue{}
	}
	return m
}

func (m *model) clone() *model {
	c := newModel()
	c.contracts = slices.Clone(m.contracts)
	for db := range m.keys {
		for k, v := range m.keys[db] {
			c.keys[db][k] = v.clone()
		}
	}
	return c
}

// live returns key's value at instant now.
func (m *model) live(db int, key string, now int64) (modelValue, bool) {
	v, ok := m.keys[db][key]
	if ok && v.expiry < now {
		delete(m.keys[db], key)
		return modelValue{}, false
	}
	return v, ok
}

// incr is the specification of IncrBy: it changes v, the value of key where ok, by delta.
func (m *model) incr(key []byte, v *modelValue, ok bool, delta int64) (sum int64, err error) {
	n, isInt := ParseInt([]byte(v.val))
	if !ok {
		n, isInt = 0, true
	}
	c := plainContractOf(m.contracts, key)
	tallied := c != nil && c.Tally
	t := v.tally
	if !ok || !tallied {
		t = tally{}
	}
	room := int64(math.MaxInt64) - t.ups
	if delta < 0 {
		room = t.downs - math.MaxInt64
	}
	sum = n + delta
	switch {
	case !isInt || v.sketch != nil:
		return 0, ErrNotInteger
	case (delta > 0 && n > math.MaxInt64-delta) || (delta < 0 && n < math.MinInt64-delta):
		return 0, ErrOverflow
	case c != nil && (c.HasMax && sum > c.Max && sum > n || c.HasMin && sum < c.Min && sum < n):
		return 0, ErrLeavesRange
	case tallied && (delta > 0 && delta > room || delta < 0 && delta < room):
		return 0, ErrOverflow
	case tallied && delta > 0:
		t.ups += delta
	case tallied:
		t.downs -= delta
	}
	v.val, v.tally = strconv.FormatInt(sum, 10), t
	return sum, nil
}

// under returns v as it is taken to key, whose contract says whether it has a tally there.
func (m *model) under(key string, v modelValue) modelValue {
	if c := plainContractOf(m.contracts, []byte(key)); c == nil || !c.Tally {
		v.tally = tally{}
	}
	return v
}

// admits reports whether val may be set as the value of key.
func (m *model) admits(key []byte, val string) bool {
	c := plainContractOf(m.contracts, key)
	n, isInt := ParseInt([]byte(val))
	return c == nil || !c.HasMin && !c.HasMax ||
		isInt && (!c.HasMin || n >= c.Min) && (!c.HasMax || n <= c.Max)
}

// fakeClock is a wall clock that tests set.
type fakeClock struct{ ms atomic.Int64 }

func (c *fakeClock) now() int64 { return c.ms.Load() }

// walker drives an engine and the model with the same random operations.
type walker struct {
	t     *testing.T
	rng   *rand.Rand
	e     *Engine
	m     *model
	op    Op
	clock *fakeClock
	keys  int
	crowd bool // all keys are of one partition
	names []string

	writers    []*Writer         // op uses one of them or none
	wrote      map[string]uint64 // the epoch of the last increment, by database and key; see sawWrite
	promotions int
	evictions  int
	ticks      int // of the detector
}

func (w *walker) key() []byte { return []byte(w.names[w.rng.IntN(len(w.names))]) }

// nameKeys makes w.keys names, of which every twelfth shares its partition with the one before; all do in
// a crowd.
func (w *walker) nameKeys() {
	t := w.e.table(0)
	name := func(i int) string {
		return fmt.Sprintf("%.*s%d", i%40, "a rather long prefix of some key, in fact it is", i)
	}
	for i := 0; len(w.names) < w.keys; i++ {
		if n := len(w.names); n%12 == 1 || w.crowd && n > 0 {
			part := shards.PartOf(t.Hash([]byte(w.names[n-1])))
			for shards.PartOf(t.Hash([]byte(name(i)))) != part {
				i++
			}
		}
		w.names = append(w.names, name(i))
	}
}

func (w *walker) step() {
	w.forceHot()
	w.op.NowMs, w.op.Seen = w.e.NowMs(), 0
	w.op.DB = 0
	if w.rng.IntN(5) == 0 {
		w.op.DB = w.rng.IntN(3)
	}
	key := w.key()
	k, db, now := string(key), w.op.DB, w.op.NowMs
	v, ok := w.m.live(db, k, now)
	if !ok {
		v.expiry = NoExpiry
	}
	switch w.rng.IntN(24) {
	case 0, 1, 2, 3, 4:
		delta := w.rng.Int64N(1000) - 300
		if w.rng.IntN(20) == 0 {
			delta = math.MaxInt64 - w.rng.Int64N(3)
		}
		relaxed, epoch := w.relaxed(key), w.e.epoch.Load()
		got, err := w.e.IncrBy(&w.op, key, delta)
		sum, wantErr := w.m.incr(key, &v, ok, delta)
		w.want(err, wantErr)
		if err == nil {
			if got != sum && !relaxed {
				w.t.Fatalf("IncrBy %q: %d, want %d", key, got, sum)
			}
			w.sawWrite(key, epoch)
			w.m.keys[db][k] = v
		}
	case 5, 6:
		val := strconv.Itoa(w.rng.IntN(1000))
		if w.rng.IntN(2) == 0 {
			val = fmt.Sprintf("%*d", w.rng.IntN(200), 7)
		}
		o := SetOptions{Cond: SetCond(w.rng.IntN(3)), KeepTTL: w.rng.IntN(2) == 0, WantOld: true}
		if !o.KeepTTL && w.rng.IntN(3) == 0 {
			o.ExpireAtMs = now + w.rng.Int64N(3000) - 500
		}
		old, done, err := w.e.Set(&w.op, key, []byte(val), o)
		wantDone := o.Cond == SetAlways || (o.Cond == SetNX) != ok
		if wantDone && !w.m.admits(key, val) {
			w.want(err, ErrOutOfRange)
			return
		}
		w.want(err, nil)
		w.same(key, old, v, ok)
		if done != wantDone {
			w.t.Fatalf("Set %q: done %v, want %v", key, done, wantDone)
		}
		if done {
			nv := modelValue{val: val, expiry: NoExpiry}
			if o.KeepTTL {
				nv.expiry = v.expiry
			} else if o.ExpireAtMs != 0 {
				nv.expiry = o.ExpireAtMs
			}
			w.m.keys[db][k] = nv
			if nv.expiry < now {
				delete(w.m.keys[db], k)
			}
		}
	case 7, 8:
		keys := [][]byte{key, w.key(), w.key()}
		n, err := w.e.Del(&w.op, keys)
		w.want(err, nil)
		want := int64(0)
		for _, key := range keys {
			if _, ok := w.m.live(db, string(key), now); ok {
				delete(w.m.keys[db], string(key))
				want++
			}
		}
		if n != want {
			w.t.Fatalf("Del: %d, want %d", n, want)
		}
	case 9:
		at := now + w.rng.Int64N(4000) - 200
		if w.rng.IntN(2) == 0 {
			at = now + w.rng.Int64N(30) - 2
		}
		set, err := w.e.Expire(&w.op, key, at, 0)
		w.want(err, nil)
		if set != ok {
			w.t.Fatalf("Expire %q: %v, want %v", key, set, ok)
		}
		if ok && at <= now {
			delete(w.m.keys[db], k)
		} else if ok {
			v.expiry = at
			w.m.keys[db][k] = v
		}
	case 10:
		had, err := w.e.Persist(&w.op, key)
		w.want(err, nil)
		if had != (ok && v.expiry != NoExpiry) {
			w.t.Fatalf("Persist %q: %v", key, had)
		}
		if had {
			v.expiry = NoExpiry
			w.m.keys[db][k] = v
		}
	case 11:
		kv := [][]byte{key, []byte("1"), w.key(), []byte("two"), w.key(), []byte("3")}
		nx, exist, admitted := w.rng.IntN(4) == 0, false, true
		for i := 0; i < len(kv); i += 2 {
			_, ok := w.m.live(db, string(kv[i]), now)
			exist = exist || ok
			admitted = admitted && w.m.admits(kv[i], string(kv[i+1]))
		}
		done, err := w.e.MSet(&w.op, kv, nx)
		if !(nx && exist) && !admitted {
			w.want(err, ErrOutOfRange)
			return
		}
		w.want(err, nil)
		if done != !(nx && exist) {
			w.t.Fatalf("MSet %q: %v", kv, done)
		}
		if done {
			for i := 0; i < len(kv); i += 2 {
				w.m.keys[db][string(kv[i])] = modelValue{val: string(kv[i+1]), expiry: NoExpiry}
			}
		}
	case 12, 13:
		elem := strconv.Itoa(w.rng.IntN(50))
		_, err := w.e.PFAdd(&w.op, key, [][]byte{[]byte(elem)})
		if ok && v.sketch == nil {
			w.want(err, ErrNotHLL)
			return
		}
		if !w.m.admits(key, "") {
			w.want(err, ErrOutOfRange)
			return
		}
		w.want(err, nil)
		if v.sketch == nil {
			v.sketch = map[string]bool{}
		}
		v.sketch[elem] = true
		w.m.keys[db][k] = v
	case 14:
		got, err := w.get(key)
		w.want(err, nil)
		w.sawRead(key)
		w.same(key, got, v, ok)
		if ok {
			w.sameInfo(key, v)
		}
	case 15:
		w.run(key, v, ok)
	case 16:
		w.times(key, v, ok)
	case 17:
		switch w.rng.IntN(60) {
		case 0:
			w.want(w.e.FlushDB(&w.op), nil)
			clear(w.m.keys[db])
		case 1:
			w.want(w.e.FlushAll(&w.op), nil)
			for db := range w.m.keys {
				clear(w.m.keys[db])
			}
		default:
			w.clock.ms.Add(w.rng.Int64N(50))
		}
	case 18:
		if w.rng.IntN(10) == 0 {
			w.changeContracts()
		}
	case 19, 20:
		w.rename(k, w.rng.IntN(3) == 0)
	case 21:
		w.copy(k, w.rng.IntN(2) == 0)
	case 22:
		w.move(k)
	case 23:
		w.appendTo(k)
	}
}

// changeContracts sets or removes a contract.
func (w *walker) changeContracts() {
	key := w.key()
	glob := string(key[:w.rng.IntN(len(key)+1)]) + "*"
	if w.rng.IntN(3) == 0 {
		glob = string(key)
	}
	if w.rng.IntN(3) == 0 || len(w.m.contracts) > 8 {
		if n := len(w.m.contracts); n > 0 && w.rng.IntN(3) > 0 {
			glob = w.m.contracts[w.rng.IntN(n)].Glob
		}
		hots := w.e.hots()
		found, err := w.e.DelContract(&w.op, glob)
		w.want(err, nil)
		defer w.checkForms(hots)
		if found != w.m.contracts.remove(glob) {
			w.t.Fatalf("DelContract %q: %v", glob, found)
		}
		return
	}
	c := Contract{Glob: glob}
	switch w.rng.IntN(4) {
	case 0:
		c.Replies, c.Shards = Replies(w.rng.IntN(2)), w.rng.IntN(MaxShards+1)
		c.StalenessMs = w.rng.Int64N(2) * w.rng.Int64N(MaxStalenessMs+1)
	case 1, 2:
		if c.HasMin = w.rng.IntN(3) > 0; c.HasMin {
			c.Min = w.rng.Int64N(800) - 400
		}
		if c.HasMax = w.rng.IntN(3) > 0; c.HasMax {
			c.Max = 400 + w.rng.Int64N(800)
		}
		c.Tally = w.rng.IntN(2) == 0
	case 3:
		c.Tally = w.rng.IntN(2) == 0
	}
	if w.e.logged && w.rng.IntN(3) == 0 {
		c.Durability = FsyncPolicy(w.rng.IntN(4))
	}
	hots := w.e.hots()
	w.want(w.e.SetContract(&w.op, c), nil)
	w.m.contracts.set(c)
	w.checkForms(hots)
}

// compareContracts checks the list of all contracts, and which applies to some keys.
func (w *walker) compareContracts(m *model) {
	w.t.Helper()
	list, err := w.e.Contracts(&w.op)
	w.want(err, nil)
	var got contractList
	for _, c := range list {
		got = append(got, *c)
	}
	if !slices.Equal(got, m.contracts) {
		w.t.Fatalf("contracts\n%v\nwant\n%v", got, m.contracts)
	}
	for range 20 {
		key := w.key()
		want := plainContractOf(m.contracts, key)
		c, _, err := w.e.ContractOf(&w.op, key)
		w.want(err, nil)
		if (c != nil) != (want != nil) || c != nil && *c != *want {
			w.t.Fatalf("contract of %q is %v, want %v", key, c, want)
		}
	}
}

func (w *walker) want(err, want error) {
	w.t.Helper()
	if err != want {
		w.t.Fatalf("error %v, want %v", err, want)
	}
}

func (w *walker) same(key []byte, got Value, v modelValue, ok bool) {
	w.t.Helper()
	if got.Exists != ok {
		w.t.Fatalf("%q: exists %v, want %v", key, got.Exists, ok)
	}
	if !ok {
		return
	}
	if v.sketch != nil {
		if n, err := hll.Estimate(got.Bytes); err != nil || int(n) != len(v.sketch) {
			w.t.Fatalf("%q: sketch counts %d (%v), want %d", key, n, err, len(v.sketch))
		}
		return
	}
	text := string(got.Bytes)
	if got.IsInt {
		text = strconv.FormatInt(got.Int, 10)
	}
	if text != v.val {
		w.t.Fatalf("%q: %q, want %q", key, text, v.val)
	}
}

// sameInfo checks what there is to tell of a key that is there.
func (w *walker) sameInfo(key []byte, v modelValue) {
	w.t.Helper()
	info, err := w.e.Info(&w.op, key)
	w.want(err, nil)
	c := plainContractOf(w.m.contracts, key)
	n, isInt := ParseInt([]byte(v.val))
	want := tally{}
	if !isInt {
		n = 0
	} else if c != nil && c.Tally {
		want = v.tally
	}
	if info.Type != TypeString || info.IsInt != isInt || info.Int != n || (tally{info.Ups, info.Downs}) != want ||
		(info.Contract != nil) != (c != nil) || c != nil && *info.Contract != *c {
		w.t.Fatalf("%q: %+v, want %+v under %v", key, info, v, c)
	}
}

// compare checks every key of every database, both ways.
func (w *walker) compare(m *model) {
	w.t.Helper()
	w.compareContracts(m)
	w.op.NowMs = w.e.NowMs()
	for db := range m.keys {
		w.op.DB = db
		var want, got []string
		for k := range m.keys[db] {
			if _, ok := m.live(db, k, w.op.NowMs); ok {
				want = append(want, k)
			}
		}
		w.want(w.e.Keys(&w.op, func(key []byte) { got = append(got, string(key)) }), nil)
		slices.Sort(want)
		slices.Sort(got)
		if extra, missing := difference(got, want), difference(want, got); len(extra)+len(missing) > 0 {
			w.t.Fatalf("database %d: %d keys should not be there %.5q, %d of %d are missing %.5q",
				db, len(extra), extra, len(missing), len(want), missing)
		}
		for _, k := range want {
			v := m.keys[db][k]
			val, err := w.get([]byte(k))
			w.want(err, nil)
			w.same([]byte(k), val, v, true)
			w.sameInfo([]byte(k), v)
			at, _, err := w.e.ExpireAt(&w.op, []byte(k))
			w.want(err, nil)
			if at != v.expiry {
				w.t.Fatalf("%q expires at %d, want %d", k, at, v.expiry)
			}
		}
		if n, err := w.e.DBSize(&w.op); err != nil || n < int64(len(want)) {
			w.t.Fatalf("DBSize %d (%v), want at least %d", n, err, len(want))
		}
	}
}

// difference returns what is in a and not in b.
func difference(a, b []string) (d []string) {
	for _, k := range a {
		if _, ok := slices.BinarySearch(b, k); !ok {
			d = append(d, k)
		}
	}
	return d
}

var seedFlag = flag.Uint64("engine.seed", 0, "seed of the random choices; 0 takes the time")

// newSeed is the seed of a test, which prints it.
func newSeed() uint64 {
	if *seedFlag != 0 {
		return *seedFlag
	}
	return uint64(time.Now().UnixNano())
}

func newWalker(t *testing.T, seed uint64, keys int) *walker {
	w := &walker{t: t, rng: rand.New(rand.NewPCG(seed, 7)), m: newModel(), keys: keys, clock: &fakeClock{}}
	w.clock.ms.Store(time.Now().UnixMilli())
	return w
}

func (w *walker) open(fs vfs.FS, p FsyncPolicy) {
	w.t.Helper()
	if w.names == nil && p != FsyncOff {
		w.want(w.giveIdentity(fs), nil)
	}
	e, _, err := Open(Options{
		Dir: "data", FS: fs, Policy: p, WallClockMs: w.clock.now, Hot: quietDetector(),
		SegmentBytes: 4 << 10, MergeBytes: 8 << 10, mergeRangeBytes: 3 << 10, FlushInterval: time.Hour,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.e, w.wrote = e, nil
	if w.names == nil {
		w.nameKeys()
	}
	w.writers = []*Writer{nil, e.NewWriter(), e.NewWriter()}
}

// giveIdentity makes a data directory whose hash seed follows from the test's.
func (w *walker) giveIdentity(fs vfs.FS) error {
	if err := makeDir(fs, "data"); err != nil {
		return err
	}
	seed := shards.Seed{K0: w.rng.Uint64(), K1: w.rng.Uint64()}
	return writeFileAtomically(fs, "data", fs.PathJoin("data", identityName), appendIdentity(nil, seed))
}

// awaitMerge waits until the merge that is due, if one is, has been done.
func (w *walker) awaitMerge() {
	w.t.Helper()
	waitUntil(w.t, func() bool { return w.e.merge.job.Load() == nil })
}

// TestEngineAgreesWithAMap runs random operations against the engine and a map, through commits,
// merges and clean restarts.
func TestEngineAgreesWithAMap(t *testing.T) {
	for _, p := range []FsyncPolicy{FsyncOff, FsyncNo, FsyncAlways} {
		for _, keys := range []int{3, 200} {
			seed := newSeed()
			t.Run(fmt.Sprintf("policy=%d,keys=%d,seed=%d", p, keys, seed), func(t *testing.T) {
				w := newWalker(t, seed, keys)
				fs := vfs.NewMem()
				w.open(fs, p)
				merges := int64(0)
				for i := 0; i < 15000; i++ {
					w.step()
					if p == FsyncOff {
						continue
					}
					if w.rng.IntN(50) == 0 && !w.e.TryCommit() && w.e.Err() != nil {
						t.Fatal(w.e.Err())
					}
					if w.rng.IntN(1000) == 0 {
						w.awaitMerge() // so that there is something to evict, however slow the merger
					}
					if w.rng.IntN(5000) == 0 {
						w.awaitMerge()
						merges += w.e.Stats().Merges
						w.want(w.e.Close(), nil)
						w.open(fs, p)
						w.compare(w.m)
					}
				}
				w.compare(w.m)
				w.awaitMerge()
				if merges += w.e.Stats().Merges; p != FsyncOff && (merges == 0 || keys > 3 && w.evictions == 0) {
					t.Errorf("%d merges, %d evictions", merges, w.evictions)
				}
				t.Logf("%d merges, %d evictions, %d promotions", merges, w.evictions, w.promotions)
				w.want(w.e.Close(), nil)
			})
		}
	}
}

// TestACrashGoesBackToTheLastCommit crashes the file system at random moments: what was not synced
// is lost, wholly or in part. The engine must come back as it was at a commit, and not at one that
// is older than the last that was acknowledged.
func TestACrashGoesBackToTheLastCommit(t *testing.T) {
	rounds, lives := 6, 6
	if raceDetector {
		rounds, lives = 2, 4
	}
	for round := 0; round < rounds; round++ {
		seed := newSeed()
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			w := newWalker(t, seed, 150)
			fs := newCrashFS()
			w.open(fs, FsyncAlways)
			for life := 0; life < lives; life++ {
				acked := w.m.clone()
				for i, n := 0, 200+w.rng.IntN(3000); i < n; i++ {
					w.step()
					if w.rng.IntN(30) == 0 {
						w.want(w.e.Commit(math.MaxUint64), nil)
						acked = w.m.clone()
					}
				}
				crashed := fs.clone(vfs.CrashCloneCfg{
					UnsyncedDataPercent: w.rng.IntN(101),
					RNG:                 rand.New(rand.NewPCG(seed, uint64(life))),
				})
				old := w.e
				w.open(crashed, FsyncAlways)
				_ = old.Close() // goes on with the file system that no longer counts
				fs, w.m = crashed, acked
				w.compare(acked)
			}
		})
	}
}
