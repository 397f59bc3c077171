package store

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

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

// get asks an iterator, not pebble.DB.Get: that one does not look at the filters of
// the last level, where most entries are, and takes twice as long for an absent key.
func (s *Store) get(key, dst []byte) (value []byte, ok bool, err error) {
	it, err := s.db.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		return dst, false, fmt.Errorf("store: get: %w", err)
	}
	value = dst
	if ok = it.SeekPrefixGE(key); ok { // the default comparer: the prefix is the key
		var v []byte
		v, err = it.ValueAndErr()
		value = append(dst, v...)
	}
	if err = errors.Join(err, it.Close()); err != nil { // Close repeats errors of the seek
		return dst, false, fmt.Errorf("store: get: %w", explain(err))
	}
	return value, ok, nil
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
