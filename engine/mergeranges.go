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
// does not grow with them: for 100 bytes of log about 100 bytes of images and 16 for each of them.
type merge struct {
	imageSet // of the present range

	sealed   []wal.SegmentInfo // behind what the store has, ascending
	readSeg  func(id wal.SegmentID, fn func(epoch uint64, chunk []byte) error) (lastMeta []byte, err error)
	rangeMax int64        // how many bytes of log a range may have, but for a key whose images are more
	ranges   []mergeRange // that are still to be read
}

// mergeRange is the images with first <= space <= last whose hash is from lo to hi.
type mergeRange struct {
	first, last uint64
	lo, hi      shards.Hash
}

// survey reads the segments a first time: it brings pos up to their end. Where one range holds them all it
// keeps the images, else it makes the ranges.
func (m *merge) survey() error {
	total := sealedBytes(m.sealed)
	sizes := map[uint64]int64{}
	err := m.read(func(im *image, raw []byte) error {
		if total <= m.rangeMax {
			return m.take(im, raw)
		}
		m.images++
		if !m.change(im) {
			sizes[im.space] += int64(len(raw))
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

// plan makes ranges of the spaces that live, given how many bytes of log each has. Hashes are spread
// evenly, so a large space is cut into ranges of equal width.
func (m *merge) plan(sizes map[uint64]int64) {
	room := int64(0) // of the last range
	for _, space := range slices.Sorted(slices.Values(m.pos.spaces[:])) {
		size := sizes[space]
		if size == 0 {
			continue
		}
		if size <= room {
			m.ranges[len(m.ranges)-1].last = space
			room -= size
			continue
		}
		n := (size + m.rangeMax - 1) / m.rangeMax
		width := shards.Hash(math.MaxUint64/uint64(n) + 1) // 0: all there are
		for i := range shards.Hash(n) {
			r := mergeRange{space, space, i * width, (i+1)*width - 1}
			if i == shards.Hash(n)-1 {
				r.hi = math.MaxUint64
			}
			m.ranges = append(m.ranges, r)
		}
		if room = m.rangeMax - size; n > 1 {
			room = 0
		}
	}
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
