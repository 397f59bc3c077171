package shards

import "math/rand/v2"

// The policies that Partition.Evict is compared with (evict_test.go). Keys are small numbers, so that
// arrays stand for hash tables. capacity is how many entries fit.

// A cachePolicy decides which entries stay. get reports whether the key is there and brings it in, as a
// read of the store does; put brings in a key that is new and was not looked up.
type cachePolicy interface {
	get(key uint32) bool
	put(key uint32)
}

const none = ^uint32(0)

// list is a doubly linked list through arrays; head is the newest.
type list struct {
	prev, next []uint32
	head, tail uint32
	len        int
}

func newList(keys int) *list {
	return &list{make([]uint32, keys), make([]uint32, keys), none, none, 0}
}

func (l *list) pushHead(k uint32) {
	l.prev[k], l.next[k] = none, l.head
	if l.head == none {
		l.tail = k
	} else {
		l.prev[l.head] = k
	}
	l.head = k
	l.len++
}

func (l *list) remove(k uint32) {
	p, n := l.prev[k], l.next[k]
	if p == none {
		l.head = n
	} else {
		l.next[p] = n
	}
	if n == none {
		l.tail = p
	} else {
		l.prev[n] = p
	}
	l.len--
}

// exactLRU evicts what was looked up longest ago.
type exactLRU struct {
	capacity int
	in       []bool
	*list
}

func newExactLRU(keys, capacity int) cachePolicy {
	return &exactLRU{capacity, make([]bool, keys), newList(keys)}
}

func (c *exactLRU) get(k uint32) bool {
	hit := c.in[k]
	if hit {
		c.remove(k)
		c.pushHead(k)
	} else {
		c.put(k)
	}
	return hit
}

func (c *exactLRU) put(k uint32) {
	if c.len == c.capacity {
		t := c.tail
		c.remove(t)
		c.in[t] = false
	}
	c.in[k] = true
	c.pushHead(k)
}

// sampled is how Redis 7.0 evicts (evict.c): of each 5 random keys those most worth evicting go into a
// pool of 16, whose first is evicted. Worth is the time since the last lookup (LRU; Redis keeps it in
// seconds, here it is exact) or the smallness of a logarithmic counter (LFU).
type sampled struct {
	capacity int
	lfu      bool
	rng      *rand.Rand
	now      uint32
	in       []uint32 // position in all, or none
	all      []uint32
	last     []uint32 // of each key, its last lookup; LFU: the last decay
	count    []uint8  // LFU
	pool     []poolEntry
	decay    uint32
}

type poolEntry struct{ key, worth uint32 }

const (
	poolSize    = 16
	poolSamples = 5
	lfuInit     = 5
	lfuFactor   = 10
)

// lfuDecay is in how many lookups for each entry a counter loses one: Redis's minute at 300,000 lookups
// a second of four million entries.
const lfuDecay = 4.5

func newSampled(keys, capacity int, lfu bool) cachePolicy {
	c := &sampled{capacity: capacity, lfu: lfu, rng: rand.New(rand.NewPCG(1, 3)), in: make([]uint32, keys),
		last: make([]uint32, keys), count: make([]uint8, keys), decay: uint32(lfuDecay * float64(capacity))}
	for i := range c.in {
		c.in[i] = none
	}
	return c
}

func (c *sampled) get(k uint32) bool {
	c.now++
	hit := c.in[k] != none
	if !hit {
		c.put(k)
		return false
	}
	if c.lfu {
		c.count[k] = c.decayed(k)
		base := max(int(c.count[k])-lfuInit, 0)
		if c.count[k] < 255 && c.rng.Float64() < 1/float64(base*lfuFactor+1) {
			c.count[k]++
		}
	}
	c.last[k] = c.now
	return true
}

func (c *sampled) decayed(k uint32) uint8 {
	return uint8(max(0, int(c.count[k])-int((c.now-c.last[k])/c.decay)))
}

func (c *sampled) put(k uint32) {
	for len(c.all) >= c.capacity {
		c.evict()
	}
	c.in[k], c.last[k], c.count[k] = uint32(len(c.all)), c.now, lfuInit
	c.all = append(c.all, k)
}

func (c *sampled) evict() {
	for range poolSamples {
		k := c.all[c.rng.IntN(len(c.all))]
		worth := c.now - c.last[k]
		if c.lfu {
			worth = 255 - uint32(c.decayed(k))
		}
		c.offer(k, worth)
	}
	for n := len(c.pool); n > 0; n = len(c.pool) {
		k := c.pool[n-1].key
		c.pool = c.pool[:n-1]
		if i := c.in[k]; i != none {
			last := c.all[len(c.all)-1]
			c.all[i], c.in[last] = last, i
			c.all = c.all[:len(c.all)-1]
			c.in[k] = none
			return
		}
	}
}

// offer keeps the pool sorted by worth, each key once.
func (c *sampled) offer(k, worth uint32) {
	for _, e := range c.pool {
		if e.key == k {
			return
		}
	}
	if len(c.pool) == poolSize {
		if c.pool[0].worth >= worth {
			return
		}
		c.pool = append(c.pool[:0], c.pool[1:]...)
	}
	i := len(c.pool)
	c.pool = append(c.pool, poolEntry{})
	for ; i > 0 && c.pool[i-1].worth > worth; i-- {
		c.pool[i] = c.pool[i-1]
	}
	c.pool[i] = poolEntry{k, worth}
}

// sieve is SIEVE (Zhang et al., NSDI 2024): a queue that entries do not move in. The hand goes from the
// oldest to the newest, takes the mark of what was looked up, and evicts the first without one.
type sieve struct {
	capacity int
	in, mark []bool
	hand     uint32
	*list
}

func newSieve(keys, capacity int) cachePolicy {
	return &sieve{capacity, make([]bool, keys), make([]bool, keys), none, newList(keys)}
}

func (c *sieve) get(k uint32) bool {
	hit := c.in[k]
	if hit {
		c.mark[k] = true
	} else {
		c.put(k)
	}
	return hit
}

func (c *sieve) put(k uint32) {
	if c.len == c.capacity {
		h := c.hand
		if h == none {
			h = c.tail
		}
		for c.mark[h] {
			c.mark[h] = false
			if h = c.prev[h]; h == none {
				h = c.tail
			}
		}
		c.hand = c.prev[h]
		c.remove(h)
		c.in[h] = false
	}
	c.in[k], c.mark[k] = true, false
	c.pushHead(k)
}

// s3fifo is S3-FIFO (Yang et al., SOSP 2023): a small queue for what is new, a main queue for what was
// looked up again there, and the names of what the small queue dropped, which go to the main queue when
// they come back.
type s3fifo struct {
	capacity, smallMax      int
	small, main, ghost      *list
	inSmall, inMain, inGone []bool
	freq                    []uint8
}

func newS3FIFO(keys, capacity int) cachePolicy {
	return &s3fifo{capacity, capacity / 10, newList(keys), newList(keys), newList(keys),
		make([]bool, keys), make([]bool, keys), make([]bool, keys), make([]uint8, keys)}
}

func (c *s3fifo) get(k uint32) bool {
	if c.inSmall[k] || c.inMain[k] {
		c.freq[k] = min(c.freq[k]+1, 3)
		return true
	}
	c.put(k)
	return false
}

func (c *s3fifo) put(k uint32) {
	for c.small.len+c.main.len >= c.capacity {
		c.evict()
	}
	c.freq[k] = 0
	if c.inGone[k] {
		c.inGone[k] = false
		c.ghost.remove(k)
		c.inMain[k] = true
		c.main.pushHead(k)
		return
	}
	c.inSmall[k] = true
	c.small.pushHead(k)
}

func (c *s3fifo) evict() {
	if c.small.len >= c.smallMax {
		for c.small.len > 0 {
			t := c.small.tail
			c.small.remove(t)
			c.inSmall[t] = false
			if c.freq[t] > 1 {
				c.freq[t] = 0
				c.inMain[t] = true
				c.main.pushHead(t)
				continue
			}
			if c.ghost.len >= c.capacity-c.smallMax {
				g := c.ghost.tail
				c.ghost.remove(g)
				c.inGone[g] = false
			}
			c.inGone[t] = true
			c.ghost.pushHead(t)
			return
		}
	}
	for {
		t := c.main.tail
		c.main.remove(t)
		if c.freq[t] == 0 {
			c.inMain[t] = false
			return
		}
		c.freq[t]--
		c.main.pushHead(t)
	}
}

// static keeps the capacity keys that are drawn most often: without knowing what comes next no policy does
// better on draws that are independent.
type static struct{ best []bool }

func (c *static) get(k uint32) bool { return c.best[k] }
func (c *static) put(uint32)        {}

// gclock is CLOCK with up to most lookups remembered: a hand that passes a whole partition at a time, takes
// one from each entry, and drops those that had none.
type gclock struct {
	capacity, n int
	most, first uint8 // first: what an entry that was read from the store begins with
	in          []bool
	freq        []uint8
	parts       [][]uint32
	hand        int
}

func newGclock(keys, capacity int, most, first uint8) cachePolicy {
	return &gclock{capacity: capacity, most: most, first: first, in: make([]bool, keys), freq: make([]uint8, keys),
		parts: make([][]uint32, Partitions)}
}

func (c *gclock) get(k uint32) bool {
	hit := c.in[k]
	if hit {
		c.freq[k] = min(c.freq[k]+1, c.most)
	} else {
		c.put(k)
		c.freq[k] = c.first
	}
	return hit
}

func (c *gclock) put(k uint32) {
	if c.n >= c.capacity {
		for want := c.capacity - c.capacity/simSlack; c.n > want; c.hand = (c.hand + 1) % Partitions {
			part := c.parts[c.hand]
			kept := part[:0]
			for _, e := range part {
				if c.freq[e] > 0 {
					c.freq[e]--
					kept = append(kept, e)
				} else {
					c.in[e] = false
					c.n--
				}
			}
			c.parts[c.hand] = kept
		}
	}
	part := k * 2654435761 >> (32 - partitionBits)
	c.parts[part] = append(c.parts[part], k)
	c.in[k], c.freq[k] = true, 0
	c.n++
}
