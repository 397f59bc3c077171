package store

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// Position returns the position of the last Apply, or nil if there was none. The
// caller owns it.
func (s *Store) Position() ([]byte, error) {
	done, err := s.use()
	if err != nil {
		return nil, err
	}
	defer done()
	pos, ok, err := s.get(positionKey(), []byte{})
	if err != nil || !ok {
		return nil, err
	}
	return pos, nil
}

// Get appends the value of key to dst. ok is false, and value is dst, if there is
// no such entry.
func (s *Store) Get(key, dst []byte) (value []byte, ok bool, err error) {
	done, err := s.use()
	if err != nil {
		return dst, false, err
	}
	defer done()
	var buf [64]byte
	return s.get(appendEntryKey(buf[:0], key), dst)
}

// get is Get of a database key.
func (s *Store) get(key, dst []byte) (value []byte, ok bool, err error) {
	value = dst
	err = s.seek(func(seek seekFunc) error {
		v, found, err := seek(key)
		value, ok = append(dst, v...), found
		return err
	})
	if err != nil {
		return dst, false, err
	}
	return value, ok, nil
}

// GetEach calls fn once for each of keys, in their order, with its value, or with ok false where there is no
// such entry, as they were when GetEach was called; the tables of that time are kept until it returns. fn must
// not keep value, but may call the store; an error of it ends GetEach, which returns it as it is. It is faster
// than as many Gets, most where the keys ascend.
func (s *Store) GetEach(keys [][]byte, fn func(i int, value []byte, ok bool) error) error {
	done, err := s.use()
	if err != nil {
		return err
	}
	defer done()
	var buf [64]byte
	asked, absent := 0, 0
	err = s.seek(func(seek seekFunc) error {
		for i, key := range keys {
			v, ok, err := seek(appendEntryKey(buf[:0], key))
			if err != nil {
				return err
			}
			if asked++; !ok {
				absent++
			}
			if err := fn(i, v, ok); err != nil {
				return err
			}
		}
		return nil
	})
	s.sought.note(asked, absent)
	return err
}

// seekFunc looks a database key up. The value is valid until the next call.
type seekFunc func(key []byte) (value []byte, ok bool, err error)

// sought remembers whether the latest lookups of GetEach found anything.
type sought struct {
	// present is the moving average of the share that did, 0 to soughtAll. A lost update is of no account.
	present atomic.Int64
}

const (
	soughtAll = 1 << 24
	// soughtMemory is about how many lookups are remembered.
	soughtMemory = 1 << 12
)

// note counts n lookups.
func (s *sought) note(n, absent int) {
	p, k := s.present.Load(), int64(min(n, soughtMemory))
	found := int64(n-absent) * soughtAll / int64(max(n, 1))
	s.present.Store(p + (found-p)*k/soughtMemory)
}

// absent reports whether half of them or more found nothing.
func (s *sought) absent() bool { return s.present.Load() <= soughtAll/2 }

// seek calls fn with what looks keys up in the store as it is now. It asks an iterator, not pebble.DB.Get:
// that one does not look at the filters of the last level, where most entries are, and takes twice as long for
// an absent key. A key that is there is in the last level most of the time, whatever its filter says; where the
// filters do not fit the cache, to read one costs more than to look. So they are used while half or more of the
// lookups find nothing.
func (s *Store) seek(fn func(seek seekFunc) error) error {
	it, err := s.db.NewIter(&pebble.IterOptions{UseL6Filters: s.sought.absent()})
	if err != nil {
		return fmt.Errorf("store: get: %w", err)
	}
	err = fn(func(key []byte) (value []byte, ok bool, err error) {
		if ok = it.SeekPrefixGE(key); ok { // the default comparer: the prefix is the key
			value, err = it.ValueAndErr()
		} else {
			err = it.Error()
		}
		if err != nil {
			return nil, false, fmt.Errorf("store: get: %w", explain(err))
		}
		return value, ok, nil
	})
	if cerr := it.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("store: get: %w", explain(cerr))
	}
	return err
}

// explain makes of Pebble's error about damage one that names the file and the block, and fits a line.
func explain(err error) error {
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		return damaged(info)
	}
	if pebble.IsCorruptionError(err) {
		return fmt.Errorf("%s: %w", firstLine(err), ErrCorrupt)
	}
	return err
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func damaged(info *pebble.DataCorruptionInfo) error {
	return fmt.Errorf("%s: %s: %w", info.Path, firstLine(info.Details), ErrCorrupt)
}

// Load calls fn for all entries in key order, as they were when Load was called.
// fn must not keep key or value, but may call the store. An error of fn ends Load, which returns it as it is.
func (s *Store) Load(fn func(key, value []byte) error) error { return s.LoadRange(nil, nil, fn) }

// LoadRange is Load for the entries with lo <= key < hi. A nil hi is above all keys.
func (s *Store) LoadRange(lo, hi []byte, fn func(key, value []byte) error) (err error) {
	done, err := s.use()
	if err != nil {
		return err
	}
	defer done()
	lower, upper := bounds(lo, hi)
	if bytes.Compare(lower, upper) >= 0 {
		return nil
	}
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return fmt.Errorf("store: load: %w", err)
	}
	defer func() {
		if cerr := it.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("store: load: %w", explain(cerr))
		}
	}()
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return fmt.Errorf("store: load: %w", explain(err))
		}
		if err := fn(it.Key()[1:], value); err != nil {
			return err
		}
	}
	if err := it.Error(); err != nil {
		return fmt.Errorf("store: load: %w", explain(err))
	}
	return nil
}
