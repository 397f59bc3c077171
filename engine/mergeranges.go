package engine

import (
	"fmt"
	"io"
	"math"
	"slices"

	"countd/shards"
	"countd/wal"
)

// merge yields the last image of each key of some segments, in the store's order. It has the images of one
// range of the store's keys in memory at a time and reads the segments once for each, so that its memory
// does not grow with them: for 100 bytes of log about 100 bytes of images and 16 for each of them. Ranges
// are cut where the images are: a few large values are read as often as there are keys of them, however
// often the log has them.
type merge struct {
	imageSet // of the present range

	sealed   []wal.SegmentInfo // behind what the store has, ascending
	readSeg  func(id wal.SegmentID, fn func(epoch uint64, chunk []byte) error) (lastMeta []byte, err error)
	rangeMax int64        // how many bytes of log a range may have, but for a slice that has more
	ranges   []mergeRange // that are still to be read
}

// mergeRange is the images with first <= space <= last whose hash is from lo to hi.
type mergeRange struct {
	first, last uint64
	lo, hi      shards.Hash
}

// sliceBits is how finely survey sees where the images of a space are, and so ranges are cut: by the top
// bits of their hash. Evenly spread, a slice has more than the 48 MB of a range in a log of 200 GB.
const sliceBits = 12

// spaceSizes is how many bytes of log each slice of a space has.
type spaceSizes [1 << sliceBits]int64

func (s *spaceSizes) sum() (n int64) {
	for _, size := range s {
		n += size
	}
	return n
}

// survey reads the segments a first time: it brings pos up to their end. Where one range holds them all it
// keeps the images, else it makes the ranges.
func (m *merge) survey() error {
	total := sealedBytes(m.sealed)
	sizes := map[uint64]*spaceSizes{}
	err := m.read(func(im *image, raw []byte) error {
		if total <= m.rangeMax {
			return m.take(im, raw)
		}
		m.images++
		if !m.change(im) {
			of := sizes[im.space]
			if of == nil {
				of = new(spaceSizes)
				sizes[im.space] = of
			}
			of[m.seed.Hash(im.key)>>(64-sliceBits)] += int64(len(raw))
		}
		return nil
	})
	if err != nil {
		return err
	}
	m.plan(sizes)
	m.begin()
	return nil
}

// read passes the images of the segments, and brings what pos says of flushes up to their end.
func (m *merge) read(fn func(im *image, raw []byte) error) error {
	for _, s := range m.sealed {
		var a assembler
		meta, err := m.readSeg(s.ID, func(epoch uint64, chunk []byte) error {
			m.pos.epoch = epoch
			return a.chunk(epoch, chunk, fn)
		})
		if err != nil {
			return err
		}
		m.pos.segment = s.ID
		if meta != nil {
			var fm flushMeta
			if err := fm.decode(meta); err != nil {
				return fmt.Errorf("segment %d: meta of its last flush: %w", s.ID, err)
			}
			m.pos.keys, m.pos.counted = fm.keys, true
		}
	}
	return nil
}

// plan makes ranges of the spaces that live. Small spaces share one, a large one has as many as it needs.
func (m *merge) plan(sizes map[uint64]*spaceSizes) {
	room := int64(0) // of the last range
	for _, space := range slices.Sorted(slices.Values(m.pos.spaces[:])) {
		of := sizes[space]
		if of == nil {
			continue
		}
		size := of.sum()
		if size <= room {
			m.ranges[len(m.ranges)-1].last = space
			room -= size
			continue
		}
		m.cut(space, of)
		room = max(0, m.rangeMax-size)
	}
}

// cut makes ranges of one space: of as many slices as fit, at least one.
func (m *merge) cut(space uint64, of *spaceSizes) {
	r := mergeRange{space, space, 0, math.MaxUint64}
	sum := int64(0) // of the slices from r.lo
	for i, size := range of {
		if sum > 0 && size > 0 && sum+size > m.rangeMax {
			lo := shards.Hash(i) << (64 - sliceBits)
			r.hi = lo - 1
			m.ranges = append(m.ranges, r)
			r.lo, r.hi, sum = lo, math.MaxUint64, 0
		}
		sum += size
	}
	m.ranges = append(m.ranges, r)
}

// nextRange reads the images of the next range; false says that there is none.
func (m *merge) nextRange() (bool, error) {
	if len(m.ranges) == 0 {
		return false, nil
	}
	r := m.ranges[0]
	m.ranges, m.blocks, m.spaces, m.refs = m.ranges[1:], nil, nil, nil
	err := m.read(func(im *image, _ []byte) error {
		if im.op < imageSpace && im.space >= r.first && im.space <= r.last && m.pos.dbOf(im.space) >= 0 {
			if h := m.seed.Hash(im.key); h >= r.lo && h <= r.hi {
				m.addHashed(im, h)
			}
		}
		return nil
	})
	m.begin()
	return true, err
}

// next yields the next key and value of the store, valid until the next call; a nil value deletes. The
// error is io.EOF at the end, or of the log.
func (m *merge) next() (key, value []byte, err error) {
	for {
		if key, value, ok := m.imageSet.next(); ok {
			return key, value, nil
		}
		if more, err := m.nextRange(); err != nil {
			return nil, nil, err
		} else if !more {
			return nil, nil, io.EOF
		}
	}
}
