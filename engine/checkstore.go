package engine

import (
	"bytes"
	"errors"
	"fmt"

	"countd/store"
)

// checkEntries reads all entries of the store, lays the log's images over them, and counts the
// keys.
func (c *checker) checkEntries() error {
	if c.pos == nil || c.seed == nil {
		return nil
	}
	c.report.Contracts = len(c.images.pos.contracts)
	stored := [Databases]int64{}
	err := c.overlay(func(db int, fromStore bool) {
		if fromStore {
			stored[db]++
		}
	}, func(db int, _, _ []byte) error {
		c.report.Keys[db]++
		return nil
	})
	if err != nil {
		return err
	}
	if c.bad > maxBadEntries {
		c.note("%d entries of the store are no good, of which the first %d are listed", c.bad, maxBadEntries)
	}
	for db, n := range stored {
		c.report.StoredKeys += n
		if c.pos.counted && len(c.report.Problems) == 0 && n != c.pos.keys[db] {
			c.problem(storeDir, -1, "%s of database %d, but the last merge says %d", count(n, "key", "keys"), db,
				c.pos.keys[db])
		}
	}
	for db, n := range c.report.Keys {
		if !c.counted || n == c.expected[db] {
			continue
		}
		c.report.LostKeys += c.expected[db] - n
		c.problem(c.dir, -1, "%s of database %d, but the last flush says %d", count(n, "key", "keys"), db,
			c.expected[db])
	}
	return nil
}

// overlay calls state for every key of the databases as the log's images leave it, in the store's
// order, and before that seen for each entry that the store has of the databases at its position.
func (c *checker) overlay(
	seen func(db int, fromStore bool), state func(db int, key, value []byte) error,
) error {
	c.images.rewind()
	log := overlayStream{m: &c.images}
	log.advance()
	emit := func(key, value []byte) error {
		if value == nil {
			return nil
		}
		return state(c.images.pos.dbOf(spaceOf(key)), key, value)
	}
	var last []byte
	err := c.readStore(func(key, value []byte) error {
		if !c.goodEntry(last, key, value) {
			return nil
		}
		last = append(last[:0], key...)
		if db := c.pos.dbOf(spaceOf(key)); db >= 0 {
			seen(db, true)
		}
		for log.ok && bytes.Compare(log.key, key) < 0 {
			if err := emit(log.key, log.value); err != nil {
				return err
			}
			log.advance()
		}
		if log.ok && bytes.Equal(log.key, key) {
			return nil // the log's state of it comes next
		}
		if c.images.pos.dbOf(spaceOf(key)) < 0 {
			return nil
		}
		return emit(key, value)
	})
	for ; err == nil && log.ok; log.advance() {
		err = emit(log.key, log.value)
	}
	return err
}

// overlayStream is the images of the log, one ahead.
type overlayStream struct {
	m          *imageSet
	key, value []byte
	ok         bool
}

func (s *overlayStream) advance() { s.key, s.value, s.ok = s.m.next() }

// readStore calls fn for the entries of the store, where it is damaged for those that Salvage
// gives.
func (c *checker) readStore(fn func(key, value []byte) error) error {
	switch {
	case c.store == nil:
		return nil
	case c.tables == nil || len(c.tables.Damages) == 0:
		return c.store.Load(fn)
	}
	outOfDate, more, err := c.store.Salvage(c.tables, fn)
	if outOfDate > 0 {
		c.note("in the same ranges of keys as the damaged blocks of the store there may be values that are out "+
			"of date: %s", count(outOfDate, "older entry", "older entries"))
	}
	for _, e := range more {
		c.problem(storeDir, -1, "%v", e)
	}
	return err
}

// foreign reports whether IDENTITY is that of other data: damage passes a checksum now and then, not all the time.
func (c *checker) foreign() bool { return c.strange > c.kin }

// goodEntry checks one entry of the store that comes behind last.
func (c *checker) goodEntry(last, key, value []byte) bool {
	im, hash, err := decodeStored(key, value)
	switch {
	case err == nil && c.seed.Hash(im.key) != hash:
		c.strange++
		err = errors.New("its hash is not that of its key under IDENTITY's seed")
	case err == nil && last != nil && bytes.Compare(last, key) >= 0:
		err = store.ErrOrder
	}
	if err == nil {
		c.kin++
		return true
	}
	if c.bad++; c.bad <= maxBadEntries {
		name := key
		if len(key) >= storedPrefixBytes {
			name = key[storedPrefixBytes:]
		}
		c.problem(storeDir, -1, "entry of key %s: %v", fmt.Sprintf("%.100q", name), err)
	}
	return false
}
