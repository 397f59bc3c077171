package engine

import (
	"fmt"
	"iter"
	"log/slog"

	"countd/shards"
)

// lostKeys collects which keys flushes name that are lost.
type lostKeys struct {
	seed *shards.Seed
	keys map[lostKey]struct{}
	dark int // flushes of which not all keys can be read

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

// begin is at a record of a flush.
func (l *lostKeys) begin(epoch uint64) {
	if epoch != l.epoch {
		l.a, l.epoch, l.next, l.skip = assembler{}, epoch, 0, false
	}
}

// chunk takes a chunk of a flush. Behind one that is missing no image can be told from another.
func (l *lostKeys) chunk(epoch uint64, index uint32, chunk []byte) {
	l.begin(epoch)
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

// commit ends a flush that had so many chunks.
func (l *lostKeys) commit(epoch uint64, chunks uint32) {
	l.begin(epoch)
	if l.skip || l.next != chunks {
		l.dark++
	}
}

// text says what is lost with so many flushes; whole: all that was there could be read.
func (l *lostKeys) text(flushes int, whole bool) string {
	keys, verb, them := len(l.keys), "are", "them"
	if flushes == 1 {
		verb, them = "is", "it"
	}
	what := "at least " + count(flushes, "flush", "flushes")
	switch {
	case flushes == 0 && keys == 0 && whole:
		return "no flush was in it"
	case flushes == 0 && keys == 0:
		return "how many flushes and keys are lost cannot be told: such keys " + lostValues
	case flushes == 0: // their ends are gone
		return "parts of flushes, with " + count(keys, "key", "keys") + ", are lost: those keys " + lostValues
	case l.dark == 0 && keys == 0:
		return fmt.Sprintf("%s %s lost, with no keys", what, verb)
	case l.dark == 0:
		return fmt.Sprintf("%s with %s %s lost: those keys %s", what, count(keys, "key", "keys"), verb, lostValues)
	case keys == 0:
		return fmt.Sprintf("%s %s lost, and how many keys were in %s is not known: those keys %s", what, verb, them, lostValues)
	case flushes == 1:
		return fmt.Sprintf("%s with at least %s is lost; not all of its keys are known: those keys %s", what,
			count(keys, "key", "keys"), lostValues)
	default:
		return fmt.Sprintf("%s with at least %s %s lost; not all keys of %d of them are known: those keys %s", what,
			count(keys, "key", "keys"), verb, l.dark, lostValues)
	}
}

// lostValues is what becomes of the keys of lost flushes.
const lostValues = "have the values that they had before, and are gone if they were new"

// count is a number with its noun.
func count[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
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
