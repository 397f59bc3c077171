package engine

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"countd/shards"
	"countd/store"
)

// imageSet collects images and yields the last of each key, in the store's order.
type imageSet struct {
	seed   shards.Seed
	pos    position         // as of what was taken last
	dead   []store.KeyRange // spaces that ended meanwhile
	images int              // how many were taken
	spaces map[uint64]*spaceImages
	blocks [][]byte // copies of the images

	keys   int            // how many were yielded
	order  []*spaceImages // those that are still to be yielded
	bucket int            // of order[0], the next
	refs   []imageRef     // of the bucket before, sorted
	at     int
	space  uint64 // of refs
	key    []byte // the last that was yielded
	other  []byte // scratch
}

// spaceImages are the images of a space by the top bits of their hash: many short slices, which grow and
// are sorted for less than a long one.
type spaceImages struct {
	space   uint64
	buckets [1 << bucketBits][]imageRef
}

const bucketBits = 8

// imageRef is where an image lies; refs are what is sorted.
type imageRef struct {
	hash  shards.Hash
	block uint32
	off   uint32
}

// mergeBlockBytes is the size of the blocks that images are copied to, but for larger images.
const mergeBlockBytes = 1 << 20

// take takes the next image, in the order of the log.
func (s *imageSet) take(im *image, _ []byte) error {
	s.images++
	if !s.change(im) {
		s.add(im)
	}
	return nil
}

// change takes an image that is not of an entry, and reports whether it was one.
func (s *imageSet) change(im *image) bool {
	if im.op == imageSpace {
		old := s.pos.spaces[im.db] // before the change
		s.dead = append(s.dead, store.KeyRange{Lo: spaceBound(old), Hi: spaceBound(old + 1)})
		delete(s.spaces, old)
	}
	return s.pos.change(im)
}

func (s *imageSet) add(im *image) { s.addHashed(im, s.seed.Hash(im.key)) }

// addHashed takes the next image, in the order of the log.
func (s *imageSet) addHashed(im *image, h shards.Hash) {
	need := len(im.key) + len(im.bytes) + 64 // op, varints
	if n := len(s.blocks); n == 0 || cap(s.blocks[n-1])-len(s.blocks[n-1]) < need {
		s.blocks = append(s.blocks, make([]byte, 0, max(need, mergeBlockBytes)))
	}
	b := &s.blocks[len(s.blocks)-1]
	of := s.spaces[im.space]
	if of == nil {
		if s.spaces == nil {
			s.spaces = map[uint64]*spaceImages{}
		}
		of = &spaceImages{space: im.space}
		s.spaces[im.space] = of
	}
	bucket := &of.buckets[h>>(64-bucketBits)]
	if need > mergeBlockBytes {
		*bucket = s.dropLarge(*bucket, im.key, h)
	}
	*bucket = append(*bucket, imageRef{h, uint32(len(s.blocks) - 1), uint32(len(*b))})
	*b = binary.AppendUvarint(*b, uint64(len(im.key)))
	*b = append(*b, im.key...)
	*b = append(*b, im.opByte())
	*b = im.appendState(*b)
}

// dropLarge drops an earlier image of the key that has a block of its own, so that a large value that
// changes often is in memory once.
func (s *imageSet) dropLarge(refs []imageRef, key []byte, h shards.Hash) []imageRef {
	for i, r := range refs {
		if r.hash != h || cap(s.blocks[r.block]) <= mergeBlockBytes {
			continue
		}
		if k, _ := s.keyOf(r); bytes.Equal(k, key) {
			s.blocks[r.block] = nil
			return slices.Delete(refs, i, i+1)
		}
	}
	return refs
}

// rewind makes next begin with the first key of what was added.
func (s *imageSet) rewind() {
	s.keys = 0
	s.begin()
}

func (s *imageSet) begin() {
	s.order, s.bucket, s.refs, s.at = s.order[:0], 0, nil, 0
	for _, of := range s.spaces {
		if s.pos.dbOf(of.space) >= 0 {
			s.order = append(s.order, of)
		}
	}
	slices.SortFunc(s.order, func(a, b *spaceImages) int { return cmp.Compare(a.space, b.space) })
}

// nextBucket sorts the next bucket of the range; false says that there is none.
func (s *imageSet) nextBucket() bool {
	for ; len(s.order) > 0; s.order, s.bucket = s.order[1:], 0 {
		of := s.order[0]
		for s.bucket < len(of.buckets) {
			s.refs, s.at, s.space = of.buckets[s.bucket], 0, of.space
			s.bucket++
			if len(s.refs) > 0 {
				s.sort()
				return true
			}
		}
	}
	return false
}

// keyOf returns the key of an image, and what follows it: its op and state, and other images.
func (s *imageSet) keyOf(r imageRef) (key, rest []byte) {
	b := s.blocks[r.block][r.off:]
	n, w := binary.Uvarint(b)
	return b[w : w+int(n)], b[w+int(n):]
}

// sort orders the refs as the store does; of one key the latest image comes first.
func (s *imageSet) sort() {
	slices.SortFunc(s.refs, func(a, b imageRef) int {
		if a.hash != b.hash {
			return cmp.Compare(a.hash, b.hash)
		}
		ka, _ := s.keyOf(a)
		kb, _ := s.keyOf(b)
		return cmp.Or(bytes.Compare(ka, kb), cmp.Compare(b.block, a.block), cmp.Compare(b.off, a.off))
	})
}

// next yields the next key and value of the store, valid until the next call; a nil value deletes.
func (s *imageSet) next() (key, value []byte, ok bool) {
	for s.at < len(s.refs) || s.nextBucket() {
		r := s.refs[s.at]
		s.at++
		userKey, rest := s.keyOf(r)
		s.other = appendStoredKey(s.other[:0], s.space, r.hash, userKey)
		if s.keys > 0 && bytes.Equal(s.other, s.key) {
			continue // an earlier image of the same key
		}
		s.key, s.other = s.other, s.key
		s.keys++
		return s.key, stateOf(rest), true
	}
	return nil, nil, false
}

// stateOf cuts op and state off what follows; nil where the image is that of an absence.
func stateOf(b []byte) []byte {
	if b[0] == imageDelete {
		return nil
	}
	var im image
	d := decoder{b: b}
	im.decodeState(&d, d.byte())
	return b[: len(b)-len(d.b) : len(b)-len(d.b)]
}
