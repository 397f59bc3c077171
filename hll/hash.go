package hll

import (
	"math/bits"

	"github.com/dgryski/go-metro"
)

// hashSeed is the seed of axiomhq/hyperloglog. Its version 2 format pins it, and
// so does ours: sketches of different processes must be mergeable.
const hashSeed = 1337

// Hash returns the 64-bit hash that elem is counted by: MetroHash64, the function
// (and code) of axiomhq/hyperloglog. It allocates nothing and does not keep elem.
func Hash(elem []byte) uint64 { return metro.Hash64(elem, hashSeed) }

// split says which register a hash belongs to and the rank it offers it: the top
// p bits, and the position (from 1) of the first one bit among the others. The
// set bit below them bounds the rank by MaxRank. It is getPosVal of
// axiomhq/hyperloglog.
func split(h uint64) (index uint32, rank byte) {
	w := h<<Precision | 1<<(Precision-1)
	return uint32(h >> (64 - Precision)), byte(bits.LeadingZeros64(w)) + 1
}

// Sparse keys: a hash cut down to 32 bits from which both its register at p = 14
// and its rank there can be had back (Heule, Nunkesser, Hall: HyperLogLog in
// Practice, EDBT 2013, figure 6). The first 25 bits of the hash are the index at
// the sparse precision. If the 11 of them that follow the register's 14 are not
// all 0 the rank is among them:
//
//	000000 iiiiiiiiiiiiii rrrrrrrrrrr 0      i: register, r: 11 bits, not all 0
//
// otherwise the rank among the last 39 bits, 1 to 40, is put beside the index:
//
//	iiiiiiiiiiiiii 00000000000 zzzzzz 1      rank = z + 11
const (
	sparsePrecision = 25
	extraBits       = sparsePrecision - Precision
	maxSparseRank   = 64 - sparsePrecision + 1
)

// encodeKey is encodeHash of axiomhq/hyperloglog.
func encodeKey(h uint64) uint32 {
	index := uint32(h >> (64 - sparsePrecision))
	if index&(1<<extraBits-1) != 0 {
		return index << 1
	}
	rank := bits.LeadingZeros64(h<<sparsePrecision|1<<(sparsePrecision-1)) + 1
	return index<<7 | uint32(rank)<<1 | 1
}

// decodeKey returns the register and rank of a key. REQUIRES: validKey(k).
func decodeKey(k uint32) (index uint32, rank byte) {
	if k&1 == 1 {
		return k >> (32 - Precision), byte(k>>1&0x3f) + extraBits
	}
	return k >> (extraBits + 1), byte(bits.LeadingZeros32(k<<(31-extraBits))) + 1
}

// validKey reports whether encodeKey returns k for some hash.
func validKey(k uint32) bool {
	if k&1 == 1 {
		z := k >> 1 & 0x3f
		return z >= 1 && z <= maxSparseRank && k>>7&(1<<extraBits-1) == 0
	}
	return k>>(sparsePrecision+1) == 0 && k>>1&(1<<extraBits-1) != 0
}
