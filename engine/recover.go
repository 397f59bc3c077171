package engine

import (
	"errors"
	"fmt"

	"countd/shards"
)

// recover reads the log behind what the store has. Its images are applied when their partitions are needed,
// and the store's entries read when they are, or by warmLoop.
func (e *Engine) recover(rec *Recovery) error {
	b, err := e.files.store.Position()
	if err != nil {
		return err
	}
	pos, err := decodePosition(b)
	if err != nil {
		return err
	}
	e.merge.merged.Store(uint64(pos.segment))
	rec.StoreKeys = pos.total()
	l := loader{e: e, pos: pos, rec: rec}
	images := newImageSorter(e.seed)
	info, err := e.files.wal.Replay(pos.segment, func(epoch uint64, chunk []byte) error {
		return images.chunk(epoch, chunk, func(im *image) { l.pos.change(im) })
	})
	tail, sortErr := images.end()
	rec.ReplayedImages = images.count
	if err = errors.Join(err, sortErr); errors.Is(err, errImageBad) || errors.Is(err, errImageShort) {
		err = fmt.Errorf("%w: %w", err, ErrDamaged)
	}
	if err != nil {
		return err
	}
	if err := l.openTables(tail); err != nil {
		return err
	}
	e.commit.unproven = info.LastChunks > 0 // else prove was here
	rec.ReplayedBytes, rec.TruncatedBytes = info.Bytes, info.TruncatedBytes
	last := max(pos.epoch, info.LastEpoch)
	e.epoch.Store(last + 1)
	e.durable.Store(last)
	e.written.Store(last)
	e.clock.advance(pos.clockMs)
	e.spaces.init(l.pos.spaces)
	e.contracts.init(l.pos.contracts, e.contracts.config)
	if info.LastMeta != nil {
		var m flushMeta
		if err := m.decode(info.LastMeta); err != nil {
			return fmt.Errorf("engine: meta of the last flush: %w", err)
		}
		e.clock.advance(m.clockMs)
		l.pos.keys, l.pos.counted = m.keys, true
	}
	return l.count()
}

// loader fills the tables while nobody else uses the engine.
type loader struct {
	e   *Engine
	pos position // as of what was read last
	rec *Recovery
}

// openTables makes the tables of the databases that have stored entries, or images in the tail. It comes
// when all the log was read: FLUSHDB may have ended a space there.
func (l *loader) openTables(tail *unapplied) error {
	for db, space := range l.pos.spaces {
		if tail.has(space) {
			tail.putOff(l.table(db))
			l.e.warm.left.Store(true)
		}
		err := l.e.files.store.LoadRange(spaceBound(space), spaceBound(space+1), func(key, value []byte) error {
			im, hash, err := decodeStored(key, value)
			if err != nil {
				return err
			}
			if l.e.seed.Hash(im.key) != hash {
				return fmt.Errorf("%w: its seed is not that of the stored keys; %s", errIdentityLost, identityHelp)
			}
			return errEnough
		})
		switch {
		case errors.Is(err, errEnough):
			t := l.table(db)
			for part := 0; part < shards.Partitions; part++ {
				p := t.Part(part)
				p.Partial, p.Counted = true, false
			}
			l.e.warm.left.Store(true)
		case err != nil:
			return err
		}
	}
	return nil
}

// count makes the tables say how many entries there are, as the last flush says; warmLoop finds out whether
// that is right.
func (l *loader) count() (err error) {
	l.e.eachTable(func(db int, t *shards.Table) {
		if !l.pos.counted && err == nil { // a directory of an older version
			l.pos.keys[db], err = l.e.countAll(t)
		} else {
			t.Part(0).AddGhosts(int(l.pos.keys[db]))
		}
	})
	for db, n := range l.pos.keys {
		if l.e.tables[db].Load() == nil && n != 0 && err == nil {
			err = fmt.Errorf("engine: recovered no keys of database %d, but the last flush says %d: %w",
				db, n, ErrDamaged)
		}
		l.rec.Keys += n
	}
	l.e.commit.keys = l.pos.keys
	return err
}

func (l *loader) table(db int) *shards.Table {
	t := l.e.tables[db].Load()
	if t == nil {
		t = shards.NewTable(l.e.seed, true)
		t.Space = l.pos.spaces[db]
		l.e.tables[db].Store(t)
	}
	return t
}
