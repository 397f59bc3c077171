package sketch

import (
	"math"
	"math/rand/v2"
)

// The rivals that ARCHITECTURE.md compares SpaceSaving with. They use its index and heap, so that only
// the algorithms differ, and take single samples.

// addPlain is Add of the original Space-Saving, in which every key without an entry replaces the least.
func (s *SpaceSaving) addPlain(hash uint64, key []byte) {
	if e, ok := s.find(hash, key); ok {
		s.raise(s.pos[e], 1)
	} else if n := len(s.heap); n < cap(s.heap) {
		s.set(uint16(n), hash, 0, key)
		s.push(node{1, uint16(n)})
	} else {
		least := s.heap[0]
		s.index.remove(s.entries, least.entry)
		s.set(least.entry, hash, least.count, key)
		s.raise(0, 1)
	}
}

// The others estimate a key's count in an array of counters and keep the keys with the largest
// estimates.

// offer gives key an entry with the count estimate, if that is more than the least.
func (s *SpaceSaving) offer(hash uint64, key []byte, estimate uint64) {
	if e, ok := s.find(hash, key); ok {
		if at := s.pos[e]; estimate > s.heap[at].count {
			s.raise(at, estimate-s.heap[at].count)
		}
		return
	}
	if n := len(s.heap); n < cap(s.heap) {
		s.set(uint16(n), hash, 0, key)
		s.push(node{estimate, uint16(n)})
	} else if least := s.heap[0]; estimate > least.count {
		s.index.remove(s.entries, least.entry)
		s.set(least.entry, hash, 0, key)
		s.raise(0, estimate-least.count)
	}
}

// countMin is a count-min sketch (G. Cormode and S. Muthukrishnan, "An improved data stream summary",
// J. Algorithms 55(1), 2005) with conservative update (C. Estan and G. Varghese, SIGCOMM 2002).
type countMin struct {
	rows [4][]uint32
	top  *SpaceSaving
}

func newCountMin(width, k int) *countMin {
	c := &countMin{top: New(k)}
	for i := range c.rows {
		c.rows[i] = make([]uint32, width)
	}
	return c
}

func (c *countMin) Add(hash uint64, key []byte) {
	mask := uint64(len(c.rows[0]) - 1)
	least := uint32(math.MaxUint32)
	for i := range c.rows {
		least = min(least, c.rows[i][hash>>(16*i)&mask])
	}
	for i := range c.rows {
		cell := &c.rows[i][hash>>(16*i)&mask]
		*cell = max(*cell, least+1)
	}
	c.top.offer(hash, key, uint64(least+1))
}

func (c *countMin) Reset() {
	for i := range c.rows {
		clear(c.rows[i])
	}
	c.top.Reset()
}

// heavyKeeper is HeavyKeeper (J. Gong et al., "HeavyKeeper: An Accurate Algorithm for Finding Top-k
// Elephant Flows", USENIX ATC 2018): a bucket belongs to one key, and others make its count decay with
// a probability that falls with the count.
type heavyKeeper struct {
	rows  [2][]keeperBucket
	decay [256]float64
	rng   *rand.Rand
	top   *SpaceSaving
}

type keeperBucket struct {
	tag   uint32
	count uint32
}

// keeperBase is the b of the paper.
const keeperBase = 1.08

func newHeavyKeeper(width, k int) *heavyKeeper {
	h := &heavyKeeper{rng: rand.New(rand.NewPCG(3, 4)), top: New(k)}
	for i := range h.rows {
		h.rows[i] = make([]keeperBucket, width)
	}
	for i := range h.decay {
		h.decay[i] = math.Pow(keeperBase, -float64(i))
	}
	return h
}

func (h *heavyKeeper) Add(hash uint64, key []byte) {
	tag, most := uint32(hash>>32), uint32(0)
	for i := range h.rows {
		b := &h.rows[i][hash>>(16*i)&uint64(len(h.rows[i])-1)]
		switch {
		case b.count == 0:
			b.tag, b.count = tag, 1
		case b.tag == tag:
			b.count++
		case b.count < uint32(len(h.decay)) && h.rng.Float64() < h.decay[b.count]:
			if b.count--; b.count == 0 {
				b.tag, b.count = tag, 1
			}
		}
		if b.tag == tag {
			most = max(most, b.count)
		}
	}
	if most > 0 {
		h.top.offer(hash, key, uint64(most))
	}
}

func (h *heavyKeeper) Reset() {
	for i := range h.rows {
		clear(h.rows[i])
	}
	h.top.Reset()
}
