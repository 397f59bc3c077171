package shards

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sort"
	"testing"
	"time"
)

type modelEntry struct {
	val    string
	isInt  bool
	n      int64
	expiry int64

	ups, downs int64
}

// TestTableAgreesWithAMap drives a table and a plain map with the same random operations, logged and
// not, and compares every entry, the counts, the order, the scan and what a capture reports.
func TestTableAgreesWithAMap(t *testing.T) {
	for _, logged := range []bool{false, true} {
		for _, keys := range []int{1, 40, 3000, 60000} {
			seed := uint64(time.Now().UnixNano())
			t.Run(fmt.Sprintf("logged=%v,keys=%d,seed=%d", logged, keys, seed), func(t *testing.T) {
				runTableModel(t, logged, keys, rand.New(rand.NewPCG(seed, 1)))
			})
		}
	}
}

func modelKey(rng *rand.Rand, keys int) []byte {
	i := rng.IntN(keys)
	switch i % 5 {
	case 0:
		return []byte(fmt.Sprintf("key:%012d", i))
	case 1:
		return bytes.Repeat([]byte{byte(i)}, i%300)
	case 2:
		return []byte(fmt.Sprintf("%d", i))
	case 3:
		return append([]byte(fmt.Sprintf("user:%d:likes:", i)), make([]byte, i%70)...)
	default:
		return []byte{byte(i), byte(i >> 8), 0, '\n'}
	}
}

func runTableModel(t *testing.T, logged bool, keys int, rng *rand.Rand) {
	tab := NewTable(Seed{rng.Uint64(), rng.Uint64()}, logged)
	model := map[string]modelEntry{}
	changed := map[string]bool{} // since the last capture
	for step := 0; step < 40000; step++ {
		key := modelKey(rng, keys)
		h := tab.Hash(key)
		p := tab.Part(PartOf(h))
		p.Lock()
		r := p.Find(h, key)
		m, ok := model[string(key)]
		if (r != 0) != ok {
			t.Fatalf("step %d: key %q found %v, want %v", step, key, r != 0, ok)
		}
		if ok {
			checkEntry(t, p, r, m)
		} else {
			m.expiry = NoExpiry
		}
		switch op := rng.IntN(10); {
		case op < 4:
			was := m
			m = modelEntry{isInt: true, n: rng.Int64() - rng.Int64(), expiry: m.expiry}
			if ok && p.Kind(r) == Int && rng.IntN(2) == 0 {
				p.SetInt(r, m.n)
				m.ups, m.downs = was.ups, was.downs
			} else {
				r = p.PutInt(h, key, r, m.n)
			}
			switch rng.IntN(4) {
			case 0:
				m.ups, m.downs = rng.Int64(), rng.Int64()
				p.SetTally(h, r, m.ups, m.downs)
			case 1:
				m.ups, m.downs = 0, 0
				p.DropTally(h, r)
			}
		case op < 7:
			val := bytes.Repeat([]byte{byte(step)}, rng.IntN(3*EmbedMax/2)*rng.IntN(2)*rng.IntN(3))
			m = modelEntry{val: string(val), expiry: m.expiry}
			p.PutBytes(h, key, r, val)
		case op < 8 && ok:
			before := m.expiry
			m.expiry = NoExpiry
			if rng.IntN(3) > 0 {
				m.expiry = rng.Int64N(1 << 50)
			}
			p.SetExpireAt(h, r, m.expiry)
			if m.expiry == before {
				p.Unlock()
				continue
			}
		case op >= 8 && ok:
			p.Delete(h, r)
			delete(model, string(key))
			changed[string(key)] = true
			p.Unlock()
			continue
		default:
			p.Unlock()
			continue
		}
		model[string(key)] = m
		changed[string(key)] = true
		if r := p.Find(h, key); r == 0 {
			t.Fatalf("step %d: key %q is gone", step, key)
		} else {
			checkEntry(t, p, r, m)
		}
		p.Unlock()
		if step%9000 == 8999 {
			checkTable(t, tab, model)
			checkCapture(t, tab, model, changed)
		}
	}
	checkTable(t, tab, model)
	checkCapture(t, tab, model, changed)
	for k := range model { // delete all: the memory comes back
		h := tab.Hash([]byte(k))
		p := tab.Part(PartOf(h))
		p.Delete(h, p.Find(h, []byte(k)))
		changed[k] = true
	}
	clear(model)
	checkTable(t, tab, model)
	checkCapture(t, tab, model, changed)
	for i := range tab.parts {
		if p := &tab.parts[i]; p.index.used != 0 || p.inUse != 0 || p.blobBytes != 0 || p.expires != 0 || p.expirySum != 0 {
			t.Fatalf("partition %d is not empty: %d slots, %d units, %d blob bytes, %d expires",
				i, p.index.used, p.inUse, p.blobBytes, p.expires)
		}
	}
}

func checkEntry(t *testing.T, p *Partition, r Ref, m modelEntry) {
	t.Helper()
	if p.ExpireAt(r) != m.expiry {
		t.Fatalf("key %q: expiry %d, want %d", p.Key(r), p.ExpireAt(r), m.expiry)
	}
	if ups, downs := p.Tally(r); ups != m.ups || downs != m.downs {
		t.Fatalf("key %q: tally %d, %d, want %d, %d", p.Key(r), ups, downs, m.ups, m.downs)
	}
	if m.isInt {
		if p.Kind(r) != Int || p.Int(r) != m.n {
			t.Fatalf("key %q: kind %d value %d, want %d", p.Key(r), p.Kind(r), p.Int(r), m.n)
		}
	} else if p.Kind(r) == Int || string(p.Bytes(r)) != m.val {
		t.Fatalf("key %q: kind %d, want %q", p.Key(r), p.Kind(r), m.val)
	}
}

func checkTable(t *testing.T, tab *Table, model map[string]modelEntry) {
	t.Helper()
	live, expires := 0, 0
	for i := range tab.parts {
		p := &tab.parts[i]
		live += p.Live()
		expires += p.expires
		checkIndex(t, &p.index)
		p.Walk(func(r Ref) bool {
			m, ok := model[string(p.Key(r))]
			if !ok {
				t.Fatalf("key %q should not be there", p.Key(r))
			}
			checkEntry(t, p, r, m)
			if m.expiry < p.NextExpiry() {
				t.Fatalf("NextExpiry %d is after %d", p.NextExpiry(), m.expiry)
			}
			return true
		})
	}
	wantExpires := 0
	for _, m := range model {
		if m.expiry != NoExpiry {
			wantExpires++
		}
	}
	if live != len(model) || expires != wantExpires {
		t.Fatalf("%d live, %d expires; want %d, %d", live, expires, len(model), wantExpires)
	}
	seen := map[string]int{}
	var order []Hash
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		cursor = tab.Scan(cursor, 10, func(p *Partition, r Ref) {
			seen[string(p.Key(r))]++
			order = append(order, tab.Hash(p.Key(r))>>tagShift)
		}, nil)
		if cursor >= 1<<cursorBits {
			t.Fatalf("cursor %x is too large", cursor)
		}
	}
	for k := range model {
		if seen[k] != 1 {
			t.Fatalf("scan passed %q %d times", k, seen[k])
		}
	}
	if len(seen) != len(model) {
		t.Fatalf("scan passed %d keys, want %d", len(seen), len(model))
	}
	if !sort.SliceIsSorted(order, func(i, j int) bool { return order[i] < order[j] }) {
		t.Fatal("scan is not in hash order")
	}
}

func checkIndex(t *testing.T, x *index) {
	t.Helper()
	used, last := 0, -1
	var prev uint32
	for i, s := range x.slots {
		if s == 0 {
			continue
		}
		used++
		tag := slotTag(s)
		if tag < prev {
			t.Fatal("index out of order")
		}
		prev = tag
		home := x.home(tag)
		if home > i || (home < i && last < i-1 && home <= last) {
			t.Fatalf("slot %d has home %d", i, home)
		}
		for j := home; j < i; j++ {
			if x.slots[j] == 0 {
				t.Fatalf("gap at %d between home %d and slot %d", j, home, i)
			}
		}
		last = i
	}
	if used != x.used {
		t.Fatalf("%d slots used, counted %d", used, x.used)
	}
}

func checkCapture(t *testing.T, tab *Table, model map[string]modelEntry, changed map[string]bool) {
	t.Helper()
	got := map[string]bool{}
	gen := byte(1 + rand.IntN(Generations))
	for i := range tab.parts {
		p := &tab.parts[i]
		p.Capture(gen, func(r Ref) {
			k := string(p.Key(r))
			if got[k] {
				t.Fatalf("key %q captured twice", k)
			}
			got[k] = true
			m, ok := model[k]
			if ok != (p.Kind(r) != Tombstone) {
				t.Fatalf("key %q captured as kind %d", k, p.Kind(r))
			}
			if ok {
				checkEntry(t, p, r, m)
			}
		})
		if p.DirtyLen() != 0 {
			t.Fatal("dirty list is not empty")
		}
		p.Stored(gen) // tombstones go
	}
	if !tab.Part(0).logged {
		if len(got) != 0 {
			t.Fatal("an unlogged table has a dirty list")
		}
		clear(changed)
		return
	}
	for k := range changed {
		if !got[k] {
			// a key created and deleted again in a partition whose tombstone was never needed
			t.Fatalf("key %q changed and was not captured", k)
		}
	}
	for k := range got {
		if !changed[k] {
			t.Fatalf("key %q captured and had not changed", k)
		}
	}
	clear(changed)
}

// BenchmarkIncr1M increments counters at random among a million, BenchmarkIncr1MPrefetched in
// batches of 16 whose memory is fetched first.
func BenchmarkIncr1M(b *testing.B)           { benchmarkIncr1M(b, false) }
func BenchmarkIncr1MPrefetched(b *testing.B) { benchmarkIncr1M(b, true) }

func benchmarkIncr1M(b *testing.B, prefetched bool) {
	const keys, batch, keyLen = 1 << 20, 16, 16
	tab := NewTable(Seed{1, 2}, false)
	for i := 0; i < keys; i++ {
		key := fmt.Appendf(nil, "key:%012d", i)
		h := tab.Hash(key)
		tab.Part(PartOf(h)).PutInt(h, key, 0, 0)
	}
	stream := make([]byte, 0, keys*keyLen) // read in order, as from a socket
	rng := rand.New(rand.NewPCG(1, 2))
	for range keys {
		stream = fmt.Appendf(stream, "key:%012d", rng.IntN(keys))
	}
	hashes := make([]Hash, batch)
	i := 0
	for b.Loop() {
		at := i % keys * keyLen
		if i%batch == 0 {
			for j := range hashes {
				hashes[j] = tab.Hash(stream[at+j*keyLen : at+(j+1)*keyLen])
			}
			if prefetched {
				tab.Prefetch(hashes)
			}
		}
		key, h := stream[at:at+keyLen], hashes[i%batch]
		i++
		p := tab.Part(PartOf(h))
		p.Lock()
		r := p.Find(h, key)
		p.SetInt(r, p.Int(r)+1)
		p.Unlock()
	}
	b.ReportMetric(float64(tab.Size())/keys, "B/key")
}
