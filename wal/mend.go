package wal

import (
	"encoding/binary"
	"fmt"
)

// Mend looks for one bit that, flipped, makes the fragment at a segment's damage valid. It returns
// the offset of its byte and the mask of the bit, mask 0 where there is none; it changes nothing.
// Other damage looks like one bit in about one of 16,000 cases at most: a fragment has up to 2^18
// bits, a checksum 32.
func (x *Examination) Mend(s *Examined) (offset int64, mask byte, err error) {
	if s.Damage == nil {
		return 0, 0, nil
	}
	file, err := x.log.fs.Open(x.log.path(s.ID))
	if err != nil {
		return 0, 0, fmt.Errorf("wal: open segment %s: %w", s.Name, err)
	}
	defer file.Close()
	err = blocks(file, s.At, func(off int64, block []byte) bool {
		if at := s.At - off; at >= 0 && at < int64(len(block)) {
			i, m := mendFragment(block[at:], s.ID)
			offset, mask = s.At+int64(i), m
		}
		return false
	})
	return offset, mask, err
}

// mendFragment is Mend for the fragment at the start of b, which ends with its block.
func mendFragment(b []byte, id SegmentID) (i int, mask byte) {
	if len(b) < fragmentHeaderSize {
		return 0, 0
	}
	end := fragmentHeaderSize + int(binary.LittleEndian.Uint16(b[4:]))
	if end > len(b) {
		end = fragmentHeaderSize // the length itself, if anything
	}
	for i := range end {
		for mask := byte(1); mask != 0; mask <<= 1 {
			b[i] ^= mask
			_, ok := decodeFragment(b, id)
			b[i] ^= mask
			if ok {
				return i, mask
			}
		}
	}
	return 0, 0
}
