package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"countd/shards"
)

// What is not in the table may be in the store (package shards, resident.go): after a start until all was
// read back, and of what was evicted. Of an entry the table knows nothing of, the store has the truth.

// fault looks for en in the store, since its partition is Partial and the table does not know of it.
// Where the store cannot be read the partition's Fault says why, and see and beginWrite return that.
// REQUIRES the lock.
func (e *Engine) fault(en *entry, key []byte) {
	if en.p.Has(en.h, key) { // as a tombstone
		return
	}
	e.stats.faults.Add(1)
	var buf [128]byte
	value, ok, err := e.files.store.Get(appendStoredKey(buf[:0], en.t.Space, en.h, key), nil)
	if err == nil {
		en.r, err = loadStored(en.p, en.h, key, value, ok)
	}
	if err != nil {
		e.faultFailed(err)
		en.p.Fail(fmt.Errorf("%w: %w", ErrStoreRead, err))
	}
}

func (e *Engine) faultFailed(err error) {
	e.log.Error("an entry could not be read from the store", "err", err)
}

// loadStored puts a stored entry, or that there is none, into the table, which does not know of it. It
// returns 0 where there is none. REQUIRES the lock.
func loadStored(p *shards.Partition, h shards.Hash, key, value []byte, ok bool) (shards.Ref, error) {
	im := image{op: imageDelete}
	if ok {
		var err error
		if im, err = decodeStoredState(value); err != nil {
			return 0, err
		}
	}
	p.BeginLoad()
	defer p.EndLoad()
	r, err := putImage(p, h, key, 0, &im)
	if !ok {
		return 0, err
	}
	return r, err
}

// putImage makes key's entry, r or 0, what the image says. REQUIRES the lock and BeginLoad.
func putImage(p *shards.Partition, h shards.Hash, key []byte, r shards.Ref, im *image) (shards.Ref, error) {
	switch im.op {
	case imageDelete:
		return p.PutTombstone(h, key, r), nil
	case imageInt:
		r = p.PutInt(h, key, r, im.n)
		if im.tally != (tally{}) {
			r = p.SetTally(h, r, im.tally.ups, im.tally.downs)
		}
	case imageBytes:
		r = p.PutBytes(h, key, r, im.bytes)
	case imageSketch:
		r = p.PutBlob(h, key, r, append([]byte(nil), im.bytes...), shards.Sketch)
	default:
		return 0, errImageBad
	}
	return p.SetExpireAt(h, r, im.expireAt), nil
}

// storedEntry is an entry as the store has it.
type storedEntry struct {
	h          shards.Hash
	key, value []byte
}

// expireAt is when it expires; what is damaged has expired long ago.
func (s *storedEntry) expireAt() int64 {
	im, err := decodeStoredState(s.value)
	if err != nil {
		return 0
	}
	return im.expireAt
}

// readStored returns at most limit stored entries of a partition of a space, from tag on, in hash order,
// and all of the last one's tag; more says that there are others behind them.
func (e *Engine) readStored(
	space uint64, part int, tag uint32, limit int,
) (all []storedEntry, more bool, err error) {
	lo := appendStoredKey(nil, space, shards.FirstHash(part, tag), nil)
	hi := spaceBound(space + 1)
	if part+1 < shards.Partitions {
		hi = appendStoredKey(nil, space, shards.FirstHash(part+1, 0), nil)
	}
	err = e.eachStored(lo, hi, func(s storedEntry) error {
		if len(all) >= limit && shards.TagOf(s.h) != shards.TagOf(all[len(all)-1].h) {
			more = true
			return errEnough
		}
		b := append(append(make([]byte, 0, len(s.key)+len(s.value)), s.key...), s.value...)
		n := len(s.key)
		all = append(all, storedEntry{h: s.h, key: b[:n:n], value: b[n:]})
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return all, more, err
}

// eachStored calls fn for the stored entries from one stored key up to another, in order, until it
// returns an error. What fn is given is valid until it returns.
func (e *Engine) eachStored(lo, hi []byte, fn func(s storedEntry) error) error {
	return e.files.store.LoadRange(lo, hi, func(key, value []byte) error {
		if len(key) < storedPrefixBytes {
			return errImageBad
		}
		h := shards.Hash(binary.BigEndian.Uint64(key[8:]))
		return fn(storedEntry{h: h, key: key[storedPrefixBytes:], value: value})
	})
}

var errEnough = errors.New("engine: enough")

// Load brings those of keys that are in the store alone into the table, as far as it can: what it cannot read
// the command that needs it reads again, and says so. No lock is held while the store is read.
func (e *Engine) Load(db int, keys [][]byte) {
	for piece := range slices.Chunk(keys, loadPiece) {
		e.loadTogether(db, piece)
	}
}

// loadPiece is how many keys are read together: few, for a merge that ends meanwhile makes the rest of them
// vain, tables that compaction has replaced stay on disk until they are read, and each takes memory beside the
// budget.
const loadPiece = 64

func (e *Engine) loadTogether(db int, keys [][]byte) {
	op := Op{DB: db}
	wanted := make([]loading, 0, len(keys))
	for _, key := range keys {
		en := e.place(&op, key)
		en.p.Lock()
		if en.p.Partial && !en.p.Has(en.h, key) {
			l := loading{en: en, key: key, sweeps: en.p.Sweeps, space: en.t.Space}
			l.stored = appendStoredKey(nil, l.space, en.h, key)
			wanted = append(wanted, l)
		}
		en.p.Unlock()
	}
	slices.SortFunc(wanted, func(a, b loading) int { return bytes.Compare(a.stored, b.stored) })
	wanted = slices.CompactFunc(wanted, func(a, b loading) bool { return bytes.Equal(a.stored, b.stored) })
	stored := make([][]byte, len(wanted))
	for i := range wanted {
		stored[i] = wanted[i].stored
	}
	for from := 0; from < len(stored); from++ { // on behind one that cannot be read
		if err := e.files.store.GetEach(stored[from:], func(_ int, value []byte, ok bool) error {
			e.loaded(&wanted[from], value, ok)
			from++
			return nil
		}); err == nil {
			return
		}
	}
}

// loading is a key that Load reads.
type loading struct {
	en     entry
	key    []byte
	stored []byte // its key in the store
	// What the partition was when the key was absent.
	sweeps uint32
	space  uint64
}

// loaded puts into the table what the store has of l.
func (e *Engine) loaded(l *loading, value []byte, ok bool) {
	p := l.en.p
	p.Lock()
	defer p.Unlock()
	// Sweeps has not moved, so the entry cannot have been written, merged and evicted since.
	if p.Sweeps != l.sweeps || l.en.t.Space != l.space || p.Has(l.en.h, l.key) {
		return
	}
	r, err := loadStored(p, l.en.h, l.key, value, ok)
	if err != nil {
		e.faultFailed(err)
	} else if r != 0 {
		p.Await(r)
	}
	e.stats.loads.Add(1)
}

// Absent appends to dst those of keys that may be in the store and are not in the table: Load is to bring
// them back before a command needs them.
func (e *Engine) Absent(op *Op, keys [][]byte, dst [][]byte) [][]byte {
	for _, key := range keys {
		en := e.place(op, key)
		en.p.Lock()
		if en.p.Partial && !en.p.Has(en.h, key) {
			dst = append(dst, key)
		}
		en.p.Unlock()
	}
	return dst
}

// Partial reports whether any entries may be in the store alone.
func (e *Engine) Partial() bool { return e.warm.left.Load() || e.evict.began.Load() }

// loadPartition reads all of a partition back. REQUIRES that nobody evicts meanwhile.
func (e *Engine) loadPartition(t *shards.Table, part int) error {
	p := t.Part(part)
	for {
		p.Lock()
		partial, sweeps, space := p.Partial, p.Sweeps, t.Space
		p.Unlock()
		if !partial {
			return nil
		}
		all, _, err := e.readStored(space, part, 0, int(^uint(0)>>1))
		if err != nil {
			return err
		}
		first := t.Part(0)
		if part > 0 {
			first.Lock()
		}
		p.Lock()
		same := p.Sweeps == sweeps && t.Space == space
		for i := 0; same && i < len(all) && err == nil; i++ {
			if en := &all[i]; !p.Has(en.h, en.key) {
				_, err = loadStored(p, en.h, en.key, en.value, true)
			}
		}
		if same && err == nil {
			p.Partial = false
			p.DropTombstones()
			if !p.Counted {
				first.AddGhosts(-p.Count())
			}
		}
		p.Unlock()
		if part > 0 {
			first.Unlock()
		}
		if same || err != nil {
			return err
		}
	}
}
