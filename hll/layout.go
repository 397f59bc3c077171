package hll

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The sizes of a sketch. FORMAT.md draws them.
const (
	// Precision is p: the number of hash bits that pick a register.
	Precision = 14
	// Registers is m = 2^p.
	Registers = 1 << Precision
	// MaxRank is the largest value of a register: the position of the first one
	// bit among the 64-p bits that are left of the hash, or one more if all are 0.
	MaxRank = 64 - Precision + 1
	// HeaderSize is the number of bytes before the payload.
	HeaderSize = 16
	// SparseMax is the largest number of keys of a sparse sketch. The next new
	// element turns it dense. doc.go says why 2048.
	SparseMax = 2048
	// DenseSize is the length in bytes of a dense sketch, and the longest a
	// sketch can be.
	DenseSize = HeaderSize + Registers

	keySize = 4
)

// StandardError is the relative standard error of a dense sketch's estimate:
// 1.04 / sqrt(m) (Flajolet et al., HyperLogLog, AofA 2007).
const StandardError = 1.04 / 128

// magic begins every sketch. It differs from Redis's "HYLL" on purpose: the hash
// functions differ, so that neither can continue counting in the other's sketch.
const magic = "CHLL"

const version = 1

// Header offsets. Byte 4 is the encoding and byte 15 carries the stale bit, as in
// Redis, so that tools and tests that look there find what they look for.
const (
	offEncoding = 4
	offVersion  = 5
	offCount    = 6 // uint16, little endian: the number of sparse keys; 0 if dense
	offCache    = 8 // uint64, little endian: the cached estimate; top bit: stale
)

const staleBit = 1 << 63

// Encoding says how a sketch keeps what it has seen.
type Encoding byte

// The encodings, numbered as in Redis.
const (
	Dense  Encoding = 0
	Sparse Encoding = 1
)

// String returns Redis's word for e.
func (e Encoding) String() string {
	switch e {
	case Dense:
		return "dense"
	case Sparse:
		return "sparse"
	}
	return fmt.Sprintf("encoding(%d)", byte(e))
}

// ErrNotSketch is returned for bytes that do not begin as a sketch does, or that
// call themselves dense and have not a dense sketch's length.
var ErrNotSketch = errors.New("hll: not a sketch")

// ErrCorrupt is returned for bytes that begin as a sketch and go on as none.
var ErrCorrupt = errors.New("hll: corrupt sketch")

// New returns an empty sketch: sparse, no keys, the estimate 0 cached. The caller
// owns it.
func New() []byte { return AppendNew(nil) }

// AppendNew appends an empty sketch to b.
func AppendNew(b []byte) []byte {
	b = append(b, magic...)
	return append(b, byte(Sparse), version, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
}

// IsSketch reports in O(1) whether b begins as a sketch: its magic, version and
// encoding are known, and if it is dense it has the right length. Bytes for which
// it is false are some other string.
func IsSketch(b []byte) bool {
	if len(b) < HeaderSize || string(b[:len(magic)]) != magic || b[offVersion] != version {
		return false
	}
	switch Encoding(b[offEncoding]) {
	case Dense:
		return len(b) == DenseSize
	case Sparse:
		return true
	}
	return false
}

// check reports in O(1) whether b can be read without leaving it: it is what
// every function here asks first. It returns ErrNotSketch or ErrCorrupt, bare.
func check(b []byte) error {
	if !IsSketch(b) {
		return ErrNotSketch
	}
	n := int(binary.LittleEndian.Uint16(b[offCount:]))
	if Encoding(b[offEncoding]) == Dense {
		if n != 0 {
			return ErrCorrupt
		}
		return nil
	}
	if n > SparseMax || len(b) != HeaderSize+n*keySize {
		return ErrCorrupt
	}
	return nil
}

// Valid checks all of b in O(len(b)): sparse keys are well formed and ascend
// strictly, registers are in range. The cached estimate is not recomputed. It
// returns nil, or an error that wraps ErrNotSketch or ErrCorrupt.
func Valid(b []byte) error {
	if err := check(b); err != nil {
		if err == ErrCorrupt {
			return fmt.Errorf("%w: %s of %d bytes says it has %d keys", err,
				Encoding(b[offEncoding]), len(b), binary.LittleEndian.Uint16(b[offCount:]))
		}
		return err
	}
	if isDense(b) {
		if !validRegisters(registers(b)) {
			return fmt.Errorf("%w: a register exceeds %d", ErrCorrupt, MaxRank)
		}
		return nil
	}
	if i := firstBadKey(b); i >= 0 {
		return fmt.Errorf("%w: sparse key %d is malformed or out of order", ErrCorrupt, i)
	}
	return nil
}

// isDense and everything below REQUIRES check(b) == nil.
func isDense(b []byte) bool { return Encoding(b[offEncoding]) == Dense }

// cached returns the cached estimate, if it is not stale.
func cached(b []byte) (n uint64, ok bool) {
	n = binary.LittleEndian.Uint64(b[offCache:])
	return n &^ staleBit, n&staleBit == 0
}

func setCached(b []byte, n uint64) { binary.LittleEndian.PutUint64(b[offCache:], n&^staleBit) }

// markStale keeps the old estimate's low bytes, as Redis does.
func markStale(b []byte) { b[offCache+7] |= staleBit >> 56 }
