package hll

import (
	"encoding/binary"
	"slices"
)

// The sparse payload: keys, ascending, 4 bytes each, little endian, no two equal.
// Functions here REQUIRE check(b) == nil and a sparse b.

func keyCount(b []byte) int { return int(binary.LittleEndian.Uint16(b[offCount:])) }

func setKeyCount(b []byte, n int) { binary.LittleEndian.PutUint16(b[offCount:], uint16(n)) }

func keyAt(b []byte, i int) uint32 { return binary.LittleEndian.Uint32(b[HeaderSize+i*keySize:]) }

func setKeyAt(b []byte, i int, k uint32) {
	binary.LittleEndian.PutUint32(b[HeaderSize+i*keySize:], k)
}

// firstBadKey returns the place of the first key that is malformed or not above
// the one before it, or -1.
func firstBadKey(b []byte) int {
	last := uint32(0) // 0 is no valid key
	for i := range keyCount(b) {
		k := keyAt(b, i)
		if k <= last || !validKey(k) {
			return i
		}
		last = k
	}
	return -1
}

// findKey returns the place of the first key that is not below k. The loop has a
// fixed trip count and a conditional move in place of a branch: hashes cannot be
// predicted.
func findKey(b []byte, k uint32) int {
	p, base := b[HeaderSize:], 0
	for n := len(p) / keySize; n > 0; {
		half := (n + 1) / 2
		next := base + half
		if binary.LittleEndian.Uint32(p[(next-1)*keySize:]) < k {
			base = next
		}
		n -= half
	}
	return base
}

// addKey inserts k. It grows b by 4 bytes, or to DenseSize when b is full.
func addKey(b []byte, k uint32) (nb []byte, changed bool, err error) {
	n := keyCount(b)
	i := findKey(b, k)
	if i < n && keyAt(b, i) == k {
		return b, false, nil
	}
	if n == SparseMax {
		if b, err = toDense(b); err != nil {
			return b, false, err
		}
		raise(registers(b), k)
		markStale(b)
		return b, true, nil
	}
	b = append(b, 0, 0, 0, 0)
	at := HeaderSize + i*keySize
	copy(b[at+keySize:], b[at:])
	setKeyAt(b, i, k)
	setKeyCount(b, n+1)
	markStale(b)
	return b, true, nil
}

// missing returns how many keys of src dst lacks. Both are sparse and valid.
func missing(dst, src []byte) int {
	nd, ns, miss := keyCount(dst), keyCount(src), 0
	for i, j := 0, 0; j < ns; {
		if i == nd {
			return miss + ns - j
		}
		d, s := keyAt(dst, i), keyAt(src, j)
		if s < d {
			miss++
		}
		if s <= d {
			j++
		}
		if d <= s {
			i++
		}
	}
	return miss
}

// mergeKeys adds the keys of src to dst, which lacks add of them and has room for
// them by count. It writes from the end, so it needs no second buffer.
func mergeKeys(dst, src []byte, add int) []byte {
	i, j := keyCount(dst)-1, keyCount(src)-1
	n := keyCount(dst) + add
	dst = slices.Grow(dst, add*keySize)[:HeaderSize+n*keySize]
	setKeyCount(dst, n)
	for at := n - 1; j >= 0; at-- {
		s := keyAt(src, j)
		if i < 0 || keyAt(dst, i) < s {
			setKeyAt(dst, at, s)
			j--
			continue
		}
		d := keyAt(dst, i)
		setKeyAt(dst, at, d)
		i--
		if d == s {
			j--
		}
	}
	return dst
}
