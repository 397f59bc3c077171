package shards

import (
	"encoding/binary"
	"math/bits"
)

// Hash is the keyed 64-bit hash of a key. Its top bits pick the partition, its order is the order
// of the index, of SCAN and of the store.
type Hash uint64

// Seed keys the hash. It is chosen at random once per data directory, so that nobody outside can
// construct keys that collide.
type Seed struct{ K0, K1 uint64 }

// Hash returns SipHash-1-3 of key (Aumasson & Bernstein, "SipHash: a fast short-input PRF", 2012;
// one round per word and three at the end, the parameters Rust and Ruby use for hash tables).
func (s Seed) Hash(key []byte) Hash {
	v0, v1, v2, v3 := sipInit(s.K0, s.K1)
	last := uint64(len(key)) << 56
	for ; len(key) >= 8; key = key[8:] {
		m := binary.LittleEndian.Uint64(key)
		v3 ^= m
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
		v0 ^= m
	}
	last |= tailWord(key)
	v3 ^= last
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	v0 ^= last
	v2 ^= 0xff
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	return Hash(v0 ^ v1 ^ v2 ^ v3)
}

func sipInit(k0, k1 uint64) (v0, v1, v2, v3 uint64) {
	return k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d,
		k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573
}

// tailWord is the last 0 to 7 bytes as a little-endian number.
func tailWord(b []byte) (w uint64) {
	for i, c := range b {
		w |= uint64(c) << (8 * i)
	}
	return w
}

func sipRound(v0, v1, v2, v3 uint64) (uint64, uint64, uint64, uint64) {
	v0 += v1
	v1 = bits.RotateLeft64(v1, 13) ^ v0
	v0 = bits.RotateLeft64(v0, 32)
	v2 += v3
	v3 = bits.RotateLeft64(v3, 16) ^ v2
	v0 += v3
	v3 = bits.RotateLeft64(v3, 21) ^ v0
	v2 += v1
	v1 = bits.RotateLeft64(v1, 17) ^ v2
	v2 = bits.RotateLeft64(v2, 32)
	return v0, v1, v2, v3
}
