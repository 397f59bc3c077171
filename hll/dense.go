package hll

import (
	"encoding/binary"
	"slices"
)

// The dense payload: one byte a register. Six bits would do (Redis packs them);
// a byte costs 4 KiB more, and saves the shifting on every add and the unpacking
// on every count, and is the form axiomhq/hyperloglog reads.
type registerArray = [Registers]byte

// registers returns b's registers, in place. REQUIRES: check(b) == nil, dense.
func registers(b []byte) *registerArray {
	return (*registerArray)(b[HeaderSize:DenseSize])
}

// raise offers a sparse key to its register. REQUIRES: validKey(k).
func raise(regs *registerArray, k uint32) {
	index, rank := decodeKey(k)
	regs[index] = max(regs[index], rank)
}

// Eight registers are handled as one word: lanes are bytes below 128, so that a
// lane's top bit is free to catch a borrow or a carry.
const (
	lanes   = 8
	laneTop = 0x8080808080808080
	// laneOver added to a word sets the top bit of every lane above MaxRank.
	laneOver = (127 - MaxRank) * 0x0101010101010101
)

// over has the top bit set in some lane if any lane of w exceeds MaxRank. A carry
// out of a lane can only come from one whose own top bit is set.
func over(w uint64) uint64 { return (w | (w + laneOver)) & laneTop }

// laneMax returns the larger of each pair of lanes. REQUIRES: lanes below 128.
func laneMax(a, b uint64) uint64 {
	ge := ((a | laneTop) - b) & laneTop // top bit where a >= b: no borrow
	mask := ge | (ge - ge>>7)           // 0xff where a >= b
	return a&mask | b&^mask
}

func validRegisters(regs *registerArray) bool {
	bad := uint64(0)
	for i := 0; i < Registers; i += lanes {
		bad |= over(binary.LittleEndian.Uint64(regs[i:]))
	}
	return bad == 0
}

// maxRegisters raises dst to src, lane by lane, and reports whether any rose.
// REQUIRES: both valid.
func maxRegisters(dst, src *registerArray) (changed bool) {
	diff := uint64(0)
	for i := 0; i < Registers; i += lanes {
		d := binary.LittleEndian.Uint64(dst[i:])
		m := laneMax(d, binary.LittleEndian.Uint64(src[i:]))
		diff |= d ^ m
		binary.LittleEndian.PutUint64(dst[i:], m)
	}
	return diff != 0
}

// toDense turns a sparse sketch dense. The estimate may change with the encoding,
// so it becomes stale. ErrCorrupt, and b as it was, if a key is malformed.
func toDense(b []byte) ([]byte, error) {
	if firstBadKey(b) >= 0 {
		return b, ErrCorrupt
	}
	// The registers grow over the keys, which are read from a copy.
	var keys [HeaderSize + SparseMax*keySize]byte
	src := keys[:copy(keys[:], b)]
	if cap(b) < DenseSize {
		b = slices.Grow(b[:HeaderSize:HeaderSize], Registers)
	}
	b = b[:DenseSize]
	b[offEncoding] = byte(Dense)
	setKeyCount(b, 0)
	markStale(b)
	regs := registers(b)
	clear(regs[:])
	for i := range keyCount(src) {
		raise(regs, keyAt(src, i))
	}
	return b, nil
}
