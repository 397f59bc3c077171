package engine

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"countd/shards"
)

// TestWhatAStartPutsOff restarts again and again, each time with commands that touch a few partitions; the
// others' images are still to be applied when it stops. Whatever is asked is answered as by a map.
func TestWhatAStartPutsOff(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	const dbs, keys = 3, 20_000
	o := Options{Dir: "data", FS: vfs.NewMem(), Policy: FsyncNo, FlushInterval: time.Hour, noWarming: true}
	var model [dbs]map[string]int64
	for db := range model {
		model[db] = map[string]int64{}
	}
	waiting := 0 // partitions that were still to come when the engine stopped
	for round := range 12 {
		e, rec, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for db := range model {
			sum += len(model[db])
			op := Op{DB: db, NowMs: e.NowMs()}
			if n, err := e.DBSize(&op); err != nil || n != int64(len(model[db])) {
				t.Fatalf("round %d: DBSIZE of database %d is %d, %v, want %d", round, db, n, err, len(model[db]))
			}
			if n := e.Stats().Keys[db]; n != int64(len(model[db])) {
				t.Fatalf("round %d: Stats says %d keys in database %d, want %d", round, n, db, len(model[db]))
			}
		}
		if rec.Keys != int64(sum) {
			t.Fatalf("round %d: recovered %d keys, want %d", round, rec.Keys, sum)
		}
		if round > 0 { // none of that has applied anything
			if n := putOff(e); n != dbs*shards.Partitions {
				t.Fatalf("round %d: %d partitions are to come, want all", round, n)
			}
		}
		many := 2000
		if round == 0 {
			many = 3 * keys
		}
		for range many {
			db := rng.IntN(dbs)
			op := Op{DB: db, NowMs: e.NowMs()}
			key := fmt.Sprintf("key:%d", rng.IntN(keys))
			old, there := model[db][key]
			switch rng.IntN(8) {
			case 0:
				n, err := e.Del(&op, [][]byte{[]byte(key)})
				if err != nil || (n == 1) != there {
					t.Fatalf("round %d: DEL %s: %d, %v, there: %v", round, key, n, err, there)
				}
				delete(model[db], key)
			case 1, 2:
				v, err := e.Get(&op, []byte(key))
				if err != nil || v.Exists != there || v.Int != old {
					t.Fatalf("round %d: GET %s: %+v, %v, want %d, %v", round, key, v, err, old, there)
				}
			default:
				n, err := e.IncrBy(&op, []byte(key), int64(round+1))
				if err != nil || n != old+int64(round+1) {
					t.Fatalf("round %d: INCRBY %s: %d, %v, want %d", round, key, n, err, old+int64(round+1))
				}
				model[db][key] = n
			}
		}
		if round%5 == 4 { // what is to come of it never does
			db := rng.IntN(dbs)
			if err := e.FlushDB(&Op{DB: db, NowMs: e.NowMs()}); err != nil {
				t.Fatal(err)
			}
			clear(model[db])
			mustIncrIn(t, e, db, "one", 1)
			model[db]["one"] = 1
			for db := range model {
				if n, _ := e.DBSize(&Op{DB: db}); n != int64(len(model[db])) {
					t.Fatalf("round %d: DBSIZE of database %d after FLUSHDB is %d, want %d", round, db, n, len(model[db]))
				}
			}
		}
		waiting += putOff(e)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if waiting == 0 {
		t.Error("nothing was put off for long")
	}
	e, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for db := range model {
		op := Op{DB: db, NowMs: e.NowMs()}
		seen := map[string]int64{}
		if err := e.Keys(&op, func(key []byte) { seen[string(key)] = 0 }); err != nil {
			t.Fatal(err)
		}
		for key := range seen {
			v, err := e.Get(&op, []byte(key))
			if err != nil {
				t.Fatal(err)
			}
			seen[key] = v.Int
		}
		if !maps.Equal(seen, model[db]) {
			t.Errorf("database %d has %d keys, want %d, or other values", db, len(seen), len(model[db]))
		}
		for part := range shards.Partitions { // as warmLoop does
			countPartition(e.table(db), part)
		}
		if n := e.table(db).Part(0).Ghosts(); n != 0 {
			t.Errorf("database %d: %d keys of the last flush are missing", db, n)
		}
	}
}

// putOff counts the partitions that are still to come.
func putOff(e *Engine) (n int) {
	e.eachTable(func(_ int, t *shards.Table) {
		for part := range shards.Partitions {
			p := t.Part(part)
			p.LockAsIs()
			if p.Deferred() {
				n++
			}
			p.Unlock()
		}
	})
	return n
}

func mustIncrIn(t *testing.T, e *Engine, db int, key string, n int64) {
	t.Helper()
	if _, err := e.IncrBy(&Op{DB: db, NowMs: e.NowMs()}, []byte(key), n); err != nil {
		t.Fatal(err)
	}
}

// TestImagesAreSortedByPartition: each partition has its images, in their order.
func TestImagesAreSortedByPartition(t *testing.T) {
	seed := shards.Seed{K0: 1, K1: 2}
	table := shards.NewTable(seed, true)
	var images []byte
	p := table.Part(0)
	want := map[int][]byte{}
	for i := range 5000 {
		key := fmt.Appendf(nil, "key:%d", i%3000)
		h := table.Hash(key)
		p = table.Part(shards.PartOf(h))
		image := appendImage(nil, table, p, p.PutInt(h, key, p.Find(h, key), int64(i)))
		images = append(images, image...)
		want[shards.PartOf(h)] = append(want[shards.PartOf(h)], image...)
	}
	s := newImageSorter(seed)
	for at := 0; at < len(images); at += 1000 { // cut anywhere
		if err := s.chunk(1, images[at:min(at+1000, len(images))], nil); err != nil {
			t.Fatal(err)
		}
	}
	tail, err := s.end()
	if err != nil || len(tail.batches) != 1 || s.count != 5000 {
		t.Fatalf("%d batches of %d images, %v", len(tail.batches), s.count, err)
	}
	for part := range shards.Partitions {
		if got := tail.batches[0].of(part); string(got) != string(want[part]) {
			t.Fatalf("partition %d has %d bytes of images, want %d", part, len(got), len(want[part]))
		}
	}
	s = newImageSorter(seed)
	if err := s.chunk(1, images[:len(images)-1], nil); err != nil {
		t.Fatal(err)
	}
	// What the last image lacks is not taken from the next flush.
	if err := s.chunk(2, images, nil); !errors.Is(err, errImageShort) || !strings.Contains(err.Error(), "epoch 1") {
		t.Errorf("an image that is cut off before the next flush: %v", err)
	}
	if _, err := s.end(); !errors.Is(err, errImageShort) {
		t.Errorf("an image that is cut off at the end: %v", err)
	}
}

// TestFlushesOfAllSizesAreSorted: whatever the sizes of flushes and images, and whatever lies between entries, no
// image is lost, and those of a partition stay in their order.
func TestFlushesOfAllSizesAreSorted(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	table := shards.NewTable(shards.Seed{K0: 1, K1: 2}, true)
	s := newImageSorter(table.Seed)
	want, count := map[int][]byte{}, int64(0)
	var spaces, gotSpaces []uint64
	for epoch := uint64(1); epoch < 200; epoch++ {
		var flush []byte
		many := []int{0, 1, 3, 100, 100_000}[rng.IntN(5)]
		if epoch%40 > 0 {
			many = min(many, 100)
		}
		for range many {
			if count++; rng.IntN(50) == 0 {
				spaces = append(spaces, rng.Uint64N(100))
				flush = appendSpaceImage(flush, rng.IntN(Databases), spaces[len(spaces)-1])
				continue
			}
			key := fmt.Appendf(nil, "key:%d", rng.IntN(5000))
			h := table.Hash(key)
			part := shards.PartOf(h)
			p := table.Part(part)
			r := p.Find(h, key)
			switch rng.IntN(8) {
			case 0:
				r = p.PutBytes(h, key, r, []byte(strings.Repeat("x", rng.IntN(40))))
			case 1:
				r = p.PutBytes(h, key, r, make([]byte, rng.IntN(10_000)))
			default:
				r = p.PutInt(h, key, r, rng.Int64())
			}
			if rng.IntN(4) == 0 {
				r = p.SetExpireAt(h, r, rng.Int64())
			}
			image := appendImage(nil, table, p, r)
			flush, want[part] = append(flush, image...), append(want[part], image...)
		}
		for len(flush) > 0 {
			n := min(len(flush), 1+rng.IntN(300_000))
			if err := s.chunk(epoch, flush[:n], func(im *image) { gotSpaces = append(gotSpaces, im.space) }); err != nil {
				t.Fatal(err)
			}
			flush = flush[n:]
		}
	}
	tail, err := s.end()
	if err != nil || s.count != count || !slices.Equal(gotSpaces, spaces) {
		t.Fatalf("%d images, want %d; %d of spaces, want %d; %v", s.count, count, len(gotSpaces), len(spaces), err)
	}
	if len(tail.batches) < 2 {
		t.Errorf("%d batches", len(tail.batches))
	}
	for part := range shards.Partitions {
		var got []byte
		for _, b := range tail.batches {
			got = append(got, b.of(part)...)
		}
		if string(got) != string(want[part]) {
			t.Fatalf("partition %d has %d bytes of images, want %d", part, len(got), len(want[part]))
		}
	}
}
