package engine

import (
	"iter"
	"log/slog"

	"countd/shards"
)

// lostKeys collects which keys flushes name that are lost.
type lostKeys struct {
	seed *shards.Seed
	keys map[lostKey]struct{}

	a     assembler
	epoch uint64
	next  uint32 // the place of the chunk that continues the flush; skip: none does
	skip  bool
}

// lostKey stands for a key of a space: two keys of one hash count as one.
type lostKey struct {
	space uint64
	hash  shards.Hash
}

func newLostKeys(seed *shards.Seed) *lostKeys {
	return &lostKeys{seed: seed, keys: map[lostKey]struct{}{}}
}

// chunk takes a chunk of a flush. Behind one that is missing no image can be told from another.
func (l *lostKeys) chunk(epoch uint64, index uint32, chunk []byte) {
	if epoch != l.epoch {
		l.a, l.epoch, l.next, l.skip = assembler{}, epoch, 0, false
	}
	if l.skip = l.skip || index != l.next; l.skip {
		return
	}
	l.next++
	err := l.a.chunk(epoch, chunk, func(im *image, _ []byte) error {
		if isEntry(im.op) {
			l.keys[lostKey{im.space, l.seed.Hash(im.key)}] = struct{}{}
		}
		return nil
	})
	l.skip = err != nil
}

// pull calls use with a function that yields what entries yields, one pair at a time; an error of
// entries comes before one of use.
func pull(
	entries func(yield func(key, value []byte) error) error,
	use func(next func() (key, value []byte, ok bool)) error,
) error {
	var err error
	next, stop := iter.Pull2(func(yield func(key, value []byte) bool) {
		err = entries(func(key, value []byte) error {
			if !yield(key, value) {
				return errEnough
			}
			return nil
		})
	})
	uerr := use(next)
	stop()
	if err != nil && err != errEnough {
		return err
	}
	return uerr
}

func discardLogger() *slog.Logger { return slog.New(slog.DiscardHandler) }
