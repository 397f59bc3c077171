package shards

import (
	"encoding/binary"
	"testing"
)

// sipHash is SipHash with any number of rounds, written as the paper has it.
func sipHash(k0, k1 uint64, b []byte, compressionRounds, finalRounds int) uint64 {
	v0, v1, v2, v3 := sipInit(k0, k1)
	last := uint64(len(b)) << 56
	word := func(m uint64) {
		v3 ^= m
		for i := 0; i < compressionRounds; i++ {
			v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
		}
		v0 ^= m
	}
	for ; len(b) >= 8; b = b[8:] {
		word(binary.LittleEndian.Uint64(b))
	}
	word(last | tailWord(b))
	v2 ^= 0xff
	for i := 0; i < finalRounds; i++ {
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	}
	return v0 ^ v1 ^ v2 ^ v3
}

// The vectors of the reference implementation of SipHash-2-4 (Aumasson & Bernstein, appendix A and
// vectors.h): key 00 01 … 0f, input 00 01 … of length i. Seed.Hash is compared with the same code at
// one round and three.
func TestSipHashGivesTheReferenceVectors(t *testing.T) {
	want := map[int]uint64{
		0: 0x726fdb47dd0e0e31, 1: 0x74f839c593dc67fd, 7: 0xab0200f58b01d137,
		8: 0x93f5f5799a932462, 15: 0xa129ca6149be45e5,
	}
	in := make([]byte, 16)
	for i := range in {
		in[i] = byte(i)
	}
	for n, w := range want {
		if got := sipHash(0x0706050403020100, 0x0f0e0d0c0b0a0908, in[:n], 2, 4); got != w {
			t.Errorf("length %d: got %016x, want %016x", n, got, w)
		}
	}
}

func TestHashIsSipHash13(t *testing.T) {
	s := Seed{0x0123456789abcdef, 0xfedcba9876543210}
	in := make([]byte, 70)
	for n := range in {
		in[n] = byte(n * 7)
		if got, want := uint64(s.Hash(in[:n])), sipHash(s.K0, s.K1, in[:n], 1, 3); got != want {
			t.Errorf("length %d: got %016x, want %016x", n, got, want)
		}
	}
}

func BenchmarkHash16(b *testing.B) {
	s, key := Seed{1, 2}, []byte("key:000000123456")
	var sum Hash
	for b.Loop() {
		sum += s.Hash(key)
	}
	_ = sum
}
