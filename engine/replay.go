package engine

import (
	"runtime"
	"sync"

	"countd/shards"
)

// A start reads the log but puts off most of the work: the images are only sorted by partition, and each
// partition's are applied when somebody first takes its lock (shards.Partition.Defer), or by warmLoop.
// That is a third of the time that a start takes which applies them all before it serves.

// unapplied is the images of the log, in batches in the log's order.
type unapplied struct {
	batches []*imageBatch
}

// An imageBatch is images of entries, first in the log's order, then sorted by partition; those of a
// partition stay in their order.
type imageBatch struct {
	images []byte
	ends   []uint32            // where each partition's images end
	spaces map[uint64]struct{} // that occur
	err    error
}

const (
	// imageBatchBytes is about the size of a batch: each has 16 KiB of ends, and is sorted within the
	// processor's cache.
	imageBatchBytes = 2 << 20
	// maxSorters bounds the goroutines that sort: reading the log is one goroutine's work.
	maxSorters = 4
	// prefaultBytes is a size from which a slice takes whole pages of the system's.
	prefaultBytes = 128 << 10
)

// An imageSorter takes the chunks of flushes, collects the images of entries, and has them sorted by goroutines
// beside.
type imageSorter struct {
	seed  shards.Seed
	queue chan *imageBatch
	spare chan []byte    // buffers of imageBatchBytes that were sorted
	wg    sync.WaitGroup // batches that were handed out
	next  []byte
	tail  unapplied
	ended bool

	flush carrier
	count int64 // images that were taken
}

func newImageSorter(seed shards.Seed) *imageSorter {
	s := &imageSorter{seed: seed, queue: make(chan *imageBatch, maxSorters), spare: make(chan []byte, 2*maxSorters)}
	for range min(runtime.GOMAXPROCS(0), maxSorters) {
		go func() {
			var scratch sortScratch
			for b := range s.queue {
				read := b.images
				b.err = b.sort(s.seed, &scratch)
				if cap(read) == imageBatchBytes {
					select {
					case s.spare <- read[:0]:
					default:
					}
				}
				s.wg.Done()
			}
		}()
	}
	return s
}

// chunk takes the next chunk of the log, which is copied. It calls change for images that are not of entries,
// which are valid during the call. It finds out where images end, and copies as many as it can together.
func (s *imageSorter) chunk(epoch uint64, chunk []byte, change func(im *image)) error {
	return s.flush.chunk(epoch, chunk, func(b []byte) (int, error) { return s.scan(b, change) })
}

// scan takes the whole images that b begins with, and returns how many bytes they are.
func (s *imageSorter) scan(b []byte, change func(im *image)) (at int, err error) {
	from := 0 // what is to be copied
	for at < len(b) {
		op, _, _, rest, err := scanImage(b[at:])
		if err == errImageShort {
			break
		}
		if err != nil {
			return at, err
		}
		s.count++
		end := len(b) - len(rest)
		switch {
		case !isEntry(op):
			im, _, err := decodeImage(b[at:])
			if err != nil {
				return at, err
			}
			s.take(b[from:at])
			change(&im)
			from = end
		case len(s.next)+end-from > imageBatchBytes:
			if s.take(b[from:at]); len(s.next) > 0 {
				s.handOut()
			}
			from = at
		}
		at = end
	}
	s.take(b[from:at])
	return at, nil
}

// take copies images of entries.
func (s *imageSorter) take(images []byte) {
	if len(images) == 0 {
		return
	}
	if s.next == nil {
		select {
		case s.next = <-s.spare:
		default:
			s.next = make([]byte, 0, max(imageBatchBytes, len(images)))
		}
	}
	s.next = append(s.next, images...)
}

func (s *imageSorter) handOut() {
	b := &imageBatch{images: s.next}
	s.next = nil
	s.tail.batches = append(s.tail.batches, b)
	s.wg.Add(1)
	s.queue <- b
}

// end waits for what was taken, ends the goroutines, and returns the batches, with the first error. It may
// be called again.
func (s *imageSorter) end() (*unapplied, error) {
	if !s.ended {
		if s.ended = true; len(s.next) > 0 {
			s.handOut()
		}
		close(s.queue)
		s.wg.Wait()
	}
	if err := s.flush.end(); err != nil {
		return nil, err
	}
	for _, b := range s.tail.batches {
		if b.err != nil {
			return nil, b.err
		}
	}
	return &s.tail, nil
}

// sortScratch is a goroutine's, from batch to batch.
type sortScratch struct {
	parts []uint16 // of each image
	sizes []uint32
}

// sort sorts the images by partition: it counts their bytes, then moves each to its place.
func (b *imageBatch) sort(seed shards.Seed, scratch *sortScratch) error {
	parts, sizes := scratch.parts[:0], scratch.sizes[:0]
	ends := make([]uint32, shards.Partitions)
	b.spaces = make(map[uint64]struct{})
	last := uint64(0) // no space
	for rest := b.images; len(rest) > 0; {
		_, space, key, next, err := scanImage(rest)
		if err != nil {
			return err
		}
		if space != last {
			b.spaces[space], last = struct{}{}, space
		}
		part := shards.PartOf(seed.Hash(key))
		size := uint32(len(rest) - len(next))
		parts, sizes = append(parts, uint16(part)), append(sizes, size)
		ends[part] += size
		rest = next
	}
	sum := uint32(0) // where each partition begins; each image moves it on
	for part, size := range ends {
		ends[part] = sum
		sum += size
	}
	sorted := make([]byte, len(b.images))
	if len(sorted) >= prefaultBytes {
		prefault(sorted)
	}
	at := uint32(0)
	for i, size := range sizes {
		to := &ends[parts[i]]
		copy(sorted[*to:*to+size], b.images[at:])
		*to += size
		at += size
	}
	b.images, b.ends = sorted, ends
	scratch.parts, scratch.sizes = parts, sizes
	return nil
}

// of returns the images of a partition.
func (b *imageBatch) of(part int) []byte {
	from := uint32(0)
	if part > 0 {
		from = b.ends[part-1]
	}
	return b.images[from:b.ends[part]]
}

// has reports whether there are images of a space.
func (u *unapplied) has(space uint64) bool {
	for _, b := range u.batches {
		if _, ok := b.spaces[space]; ok {
			return true
		}
	}
	return false
}

// putOff puts the images of table t off, each partition's until its lock is taken.
func (u *unapplied) putOff(t *shards.Table) {
	for part := 0; part < shards.Partitions; part++ {
		p := t.Part(part)
		p.Counted = false
		p.Defer(func() { u.apply(t, part) })
	}
}

// apply brings the images of a partition of t into it. The images were all decoded once. REQUIRES the lock.
func (u *unapplied) apply(t *shards.Table, part int) {
	p := t.Part(part)
	p.BeginLoad()
	defer p.EndLoad()
	for _, b := range u.batches {
		for rest := b.of(part); len(rest) > 0; {
			im, next, err := decodeImage(rest)
			if err != nil {
				panic(err) // sort has seen it
			}
			rest = next
			if im.space != t.Space {
				continue
			}
			h := t.Hash(im.key)
			r, err := putImage(p, h, im.key, p.Find(h, im.key), &im)
			if err != nil {
				panic(err) // no such image is put off
			}
			p.SetGeneration(r, firstGeneration)
		}
	}
}
