package rdb

import (
	"encoding/binary"
	"errors"
	"strconv"
)

// Errors of Read.
var (
	// ErrChecksum: the payload is too short, of a later version, or damaged.
	ErrChecksum = errors.New("rdb: the version or the checksum is wrong")
	// ErrFormat: the payload is whole, but no string, or one longer than the limit.
	ErrFormat = errors.New("rdb: bad data format")
)

// Read returns the string in a payload, of at most limit bytes; an integer comes as its decimal text.
// own tells whether the slice is the caller's; else it lies in the payload. As in Redis, bytes between
// the value and the footer are ignored, and a value may reach into the footer.
func Read(payload []byte, limit int) (val []byte, own bool, err error) {
	body := len(payload) - 8
	if body < 2 {
		return nil, false, ErrChecksum
	}
	if binary.LittleEndian.Uint16(payload[body-2:]) > Version ||
		binary.LittleEndian.Uint64(payload[body:]) != checksum(payload[:body]) {
		return nil, false, ErrChecksum
	}
	r := reader{b: payload}
	if r.byte() != typeString {
		return nil, false, ErrFormat
	}
	val, own = r.string(limit)
	if r.bad {
		return nil, false, ErrFormat
	}
	return val, own, nil
}

// reader reads the parts of a payload. Once something was wrong it returns zeros.
type reader struct {
	b   []byte
	bad bool
}

// take returns the next n bytes.
func (r *reader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// string reads a string in any of its forms.
func (r *reader) string(limit int) (val []byte, own bool) {
	n, isForm := r.length()
	if !isForm {
		if n > uint64(limit) {
			r.bad = true
		}
		return r.take(n), false
	}
	switch n {
	case formInt8:
		return r.int(int64(int8(r.byte())))
	case formInt16:
		if b := r.take(2); b != nil {
			return r.int(int64(int16(binary.LittleEndian.Uint16(b))))
		}
	case formInt32:
		if b := r.take(4); b != nil {
			return r.int(int64(int32(binary.LittleEndian.Uint32(b))))
		}
	case formLZF:
		return r.lzf(limit), true
	}
	r.bad = true
	return nil, false
}

func (r *reader) int(n int64) (val []byte, own bool) { return strconv.AppendInt(nil, n, 10), true }

// length reads a length or, where isForm is set, the number of a special form.
func (r *reader) length() (n uint64, isForm bool) {
	first := r.byte()
	switch low := uint64(first & 0x3F); {
	case first < len14Bit:
		return low, false
	case first < len32Bit:
		return low<<8 | uint64(r.byte()), false
	case first >= special:
		return low, true
	case first == len32Bit:
		if b := r.take(4); b != nil {
			return uint64(binary.BigEndian.Uint32(b)), false
		}
	case first == len64Bit:
		if b := r.take(8); b != nil {
			return binary.BigEndian.Uint64(b), false
		}
	}
	r.bad = true
	return 0, false
}

// lzf reads a compressed string. Where a length is due Redis takes the number of a special form for one.
func (r *reader) lzf(limit int) []byte {
	packed, _ := r.length()
	n, _ := r.length()
	src := r.take(packed)
	switch {
	case r.bad || n > uint64(limit) || n > maxExpansion*uint64(len(src)):
		r.bad = true
		return nil
	case n == 0: // whatever it is compressed to: Redis takes the error for the length
		return []byte{}
	}
	val := unpack(src, int(n))
	r.bad = val == nil
	return val
}
