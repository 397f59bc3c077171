package shards

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"testing"
	"time"
)

// realTable is Partition.Evict of a Table as the engine drives it: when the table is full, partitions in
// turn are told to evict until a simSlack-th is free.
type realTable struct {
	t           *Table
	capacity, n int
	hand        int
	evicted     int
}

// simSlack is the engine's evictSlack.
const simSlack = 64

func newRealTable(capacity int) *realTable {
	return &realTable{t: NewTable(Seed{1, 2}, true), capacity: capacity}
}

func (c *realTable) get(k uint32) bool {
	var key [16]byte
	binary.LittleEndian.PutUint32(key[:], k)
	h := c.t.Hash(key[:])
	p := c.t.Part(PartOf(h))
	if p.Find(h, key[:]) != 0 {
		return true
	}
	p.Await(c.load(p, h, key[:]))
	p.Find(h, key[:]) // the command's
	return false
}

func (c *realTable) put(k uint32) {
	var key [16]byte
	binary.LittleEndian.PutUint32(key[:], k)
	h := c.t.Hash(key[:])
	c.load(c.t.Part(PartOf(h)), h, key[:])
}

func (c *realTable) load(p *Partition, h Hash, key []byte) Ref {
	if c.n >= c.capacity {
		for c.n > c.capacity-c.capacity/simSlack {
			_, entries := c.t.Part(c.hand).Evict()
			c.n -= entries
			c.evicted += entries
			c.hand = (c.hand + 1) % Partitions
		}
	}
	p.BeginLoad()
	defer p.EndLoad()
	c.n++
	return p.PutInt(h, key, 0, 1)
}

// zipf draws from keys with a probability in proportion to 1/rank^s: by a binary search in the sums, exact
// for all s.
type zipf struct {
	sums []float64
	rng  *rand.Rand
}

func newZipf(keys int, s float64) *zipf {
	z := &zipf{sums: make([]float64, keys), rng: rand.New(rand.NewPCG(1, 2))}
	sum := 0.0
	for i := range z.sums {
		sum += math.Pow(float64(i+1), -s)
		z.sums[i] = sum
	}
	return z
}

func (z *zipf) draw() int {
	return min(sort.SearchFloat64s(z.sums, z.rng.Float64()*z.sums[len(z.sums)-1]), len(z.sums)-1)
}

// A load is requests over simFactor times as many keys as fit.
type load struct {
	name string
	s    float64
	// What comes beside: shift moves the ranks by a tenth of what fits whenever as many lookups were made as
	// entries fit; scan is a pass over all keys, one for each lookup; unique is a new key for each lookup.
	shift, scan, unique bool
}

var loads = []load{
	{"zipf-0.8", 0.8, false, false, false},
	{"zipf-0.99", 0.99, false, false, false},
	{"zipf-1.1", 1.1, false, false, false},
	{"shift", 0.99, true, false, false},
	{"scan", 0.99, false, true, false},
	{"unique", 0.99, false, false, true},
}

const (
	simFactor  = 10 // keys for each entry that fits
	simLookups = 50 // lookups for each entry that fits; the first fifth is not counted
)

// run makes the lookups of a load and returns the share of hits among those that are of the Zipfian part.
func (l load) run(c cachePolicy, capacity int) float64 {
	keys := simFactor * capacity
	z := newZipf(keys, l.s)
	hits, lookups, shift := 0, 0, 0
	for i := range simLookups * capacity {
		if l.shift && i%capacity == 0 {
			shift += capacity / 10
		}
		hit := c.get(uint32((z.draw() + shift) % keys))
		if i >= simLookups*capacity/5 {
			lookups++
			if hit {
				hits++
			}
		}
		switch {
		case l.scan && i%(2*keys) >= keys: // half of the time there is a scan
			c.get(uint32(i % keys))
		case l.unique:
			c.put(uint32(keys + i))
		}
	}
	return float64(hits) / float64(lookups)
}

func (l load) keys(capacity int) int {
	if l.unique {
		return (simFactor + simLookups) * capacity
	}
	return simFactor * capacity
}

// policies are what is compared; see policy_test.go.
var policies = []struct {
	name string
	make func(keys, capacity int) cachePolicy
}{
	{"Evict", func(_, capacity int) cachePolicy { return newRealTable(capacity) }},
	{"LRU", newExactLRU},
	{"redis-LRU", func(k, c int) cachePolicy { return newSampled(k, c, false) }},
	{"redis-LFU", func(k, c int) cachePolicy { return newSampled(k, c, true) }},
	{"SIEVE", newSieve},
	{"S3-FIFO", newS3FIFO},
	{"CLOCK", func(k, c int) cachePolicy { return newGclock(k, c, 1, 1) }},
	{"CLOCK-unused", func(k, c int) cachePolicy { return newGclock(k, c, 1, 0) }}, // what is read comes in unused
	{"CLOCK-3", func(k, c int) cachePolicy { return newGclock(k, c, 3, 0) }},      // up to three lookups count
	{"static", func(k, c int) cachePolicy {
		best := make([]bool, k)
		for i := range c {
			best[i] = true
		}
		return &static{best}
	}},
}

// BenchmarkEvictionPolicies prints the hit ratio of each policy under each load.
func BenchmarkEvictionPolicies(b *testing.B) {
	const capacity = 100_000
	for _, l := range loads {
		for _, p := range policies {
			if p.name == "static" && l.shift {
				continue
			}
			b.Run(fmt.Sprintf("%s/%s", l.name, p.name), func(b *testing.B) {
				for range b.N {
					hits := l.run(p.make(l.keys(capacity), capacity), capacity)
					b.ReportMetric(100*hits, "%hits")
				}
			})
		}
	}
}

// TestEvictKeepsWhatIsLookedUpAgain holds Evict against exact LRU and CLOCK: more hits under Zipf's law, many
// more with a scan or keys that are never read beside, and not many less where what is hot moves fast.
func TestEvictKeepsWhatIsLookedUpAgain(t *testing.T) {
	const capacity = 40_000
	want := map[string]float64{ // points of hits above exact LRU
		"zipf-0.99": 2.5, "scan": 5, "unique": 8, "shift": -5,
	}
	for _, l := range loads {
		least, tested := want[l.name]
		if !tested {
			continue
		}
		ours := 100 * l.run(newRealTable(capacity), capacity)
		lru := 100 * l.run(newExactLRU(l.keys(capacity), capacity), capacity)
		t.Logf("%s: %.2f%% hits, LRU %.2f%%", l.name, ours, lru)
		if ours < lru+least {
			t.Errorf("%s: %.2f%% hits, LRU %.2f%%, want at least %+.1f", l.name, ours, lru, least)
		}
	}
}

// BenchmarkEvict is the steady state of a full table of 16-byte keys under Zipf's law, s = 0.99: it prints
// what a pass costs for each entry that it drops, and how many bytes compaction copies for each byte that is
// dropped.
func BenchmarkEvict(b *testing.B) {
	const capacity, perEntry = 1_000_000, headerBytes + 16
	c := newRealTable(capacity)
	z := newZipf(simFactor*capacity, 0.99)
	for range 5 * capacity { // until it is full and has been evicted from
		c.get(uint32(z.draw()))
	}
	var spent time.Duration
	dropped, copied, passes, vain := 0, 0, 0, 0
	for b.Loop() {
		for c.n < c.capacity {
			c.get(uint32(z.draw()))
		}
		for start := c.n; start-c.n < capacity/simSlack; c.hand = (c.hand + 1) % Partitions {
			p := c.t.Part(c.hand)
			arena := &p.arena[0]
			began := time.Now()
			_, entries := p.Evict()
			spent += time.Since(began)
			c.n -= entries
			if passes++; entries == 0 {
				vain++
			}
			if dropped += entries; arena != &p.arena[0] {
				copied += 8 * p.inUse
			}
		}
	}
	b.ReportMetric(float64(spent.Nanoseconds())/float64(dropped), "ns/entry")
	b.ReportMetric(float64(copied)/float64(dropped*perEntry), "copied/dropped")
	b.ReportMetric(100*float64(vain)/float64(passes), "%vain")
}

// TestEvictPassesDropAll: whatever the ages are in the beginning, EvictPasses leave nothing that is stored.
func TestEvictPassesDropAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		p := NewTable(Seed{1, 2}, true).Part(0)
		ages := [...]byte{ageNew, ageUsed, ageOld, ageAwaited}
		p.BeginLoad()
		for i := range 1 + rng.IntN(20) {
			r := p.PutInt(Hash(i)<<tagShift, []byte{byte(i)}, 0, 1)
			p.arena.setFlag(r, ages[min(rng.IntN(1+rng.IntN(4)), 3)])
		}
		p.EndLoad()
		for range EvictPasses {
			p.Evict()
		}
		if n := p.Residents(); n > 0 {
			t.Fatalf("%d are left", n)
		}
	}
}

// TestAnAwaitedLookupIsNoOther: a record that was read for a command becomes used by the lookup behind that
// command's.
func TestAnAwaitedLookupIsNoOther(t *testing.T) {
	p := NewTable(Seed{1, 2}, true).Part(0)
	p.BeginLoad()
	r := p.PutInt(1, []byte("a"), 0, 1)
	p.EndLoad()
	p.Await(r)
	for i, want := range []byte{ageNew, ageUsed, ageUsed} {
		p.Find(1, []byte("a"))
		if got := p.arena.flags(r) & ageFlags; got != want {
			t.Errorf("lookup %d: age %#x, want %#x", i, got, want)
		}
	}
}
