package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
)

// temporaryDir is where Apply writes tables, below the store's directory and so on
// the same file system. Pebble ignores directories in its own.
const temporaryDir = "merge"

func (s *Store) temporaryPath() string {
	return s.opts.FS.PathJoin(s.opts.Dir, temporaryDir)
}

// clearTemporary removes what an interrupted Apply left and makes the directory.
func (s *Store) clearTemporary() error {
	if err := s.opts.FS.RemoveAll(s.temporaryPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("store: open: clear %s: %w", temporaryDir, err)
	}
	if err := s.opts.FS.MkdirAll(s.temporaryPath(), 0o755); err != nil {
		return fmt.Errorf("store: open: make %s: %w", temporaryDir, err)
	}
	return nil
}

// tableWriter writes the tables of one merge. Apply's lock is held.
type tableWriter struct {
	s      *Store
	ranges []KeyRange // what is still to be deleted: flat, in database keys

	w       *sstable.Writer // the open table, or nil
	raw     int             // bytes of keys and values in it
	key     []byte          // the last key written, in database form
	paths   []string        // of all tables, the open one included
	entries int64
	bytes   int64
}

// writeAll is step 2 of Apply. The position has a table of its own: it overlaps the
// position before and so must lie above it, and would hold in level 0 a table of
// entries that could go straight to the bottom.
func (t *tableWriter) writeAll(pos []byte, next func() (key, value []byte, err error)) error {
	if err := t.begin(); err != nil {
		return err
	}
	if err := t.w.Set(positionKey(), pos); err != nil {
		return err
	}
	if err := t.end(nil); err != nil {
		return err
	}
	t.key = []byte{entrySpace}
	for first := true; ; first = false {
		key, value, err := next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if !first && bytes.Compare(key, t.key[1:]) <= 0 {
			return fmt.Errorf("%w: %q after %q", ErrOrder, key, t.key[1:])
		}
		t.key = appendEntryKey(t.key[:0], key)
		if err := t.add(value); err != nil {
			return err
		}
	}
	if len(t.ranges) > 0 && t.w == nil {
		if err := t.begin(); err != nil {
			return err
		}
	}
	return t.end(nil)
}

// add writes the entry t.key, in a new table if the open one is full.
func (t *tableWriter) add(value []byte) error {
	if t.w != nil && t.raw >= t.s.tableBytes {
		if err := t.end(t.key); err != nil {
			return err
		}
	}
	if t.w == nil {
		if err := t.begin(); err != nil {
			return err
		}
	}
	t.raw += len(t.key) + len(value)
	t.entries++
	t.bytes += int64(len(t.key) - 1 + len(value))
	if value == nil {
		return t.w.Delete(t.key)
	}
	return t.w.Set(t.key, value)
}

// begin opens the next table.
func (t *tableWriter) begin() error {
	fs := t.s.tuning.FS
	path := fs.PathJoin(t.s.temporaryPath(), fmt.Sprintf("%06d.sst", t.s.apply.tmp))
	t.s.apply.tmp++
	f, err := fs.Create(path, mergeCategory)
	if err != nil {
		return err
	}
	t.paths = append(t.paths, path)
	o := t.s.tuning.MakeWriterOptions(0, t.s.db.TableFormat())
	t.w, t.raw = sstable.NewWriter(objstorageprovider.NewFileWritable(f), o), 0
	return nil
}

// end finishes and syncs the open table, if there is one. It takes along the
// deletions below limit, the first key of the next table; nil is above all.
func (t *tableWriter) end(limit []byte) error {
	if t.w == nil {
		return nil
	}
	// The position's table, the first, takes none.
	for len(t.paths) > 1 && len(t.ranges) > 0 {
		r := &t.ranges[0]
		if limit != nil && bytes.Compare(r.Lo, limit) >= 0 {
			break
		}
		if limit != nil && bytes.Compare(r.Hi, limit) > 0 {
			cut := bytes.Clone(limit)
			if err := t.w.DeleteRange(r.Lo, cut); err != nil {
				return err
			}
			r.Lo = cut
			break
		}
		if err := t.w.DeleteRange(r.Lo, r.Hi); err != nil {
			return err
		}
		t.ranges = t.ranges[1:]
	}
	err := t.w.Close()
	t.w = nil
	return err
}

// abandon removes the tables of a merge that failed. What cannot be removed now
// is removed by the next Open.
func (t *tableWriter) abandon() {
	if t.w != nil {
		t.w.Close()
		t.w = nil
	}
	for _, path := range t.paths {
		t.s.opts.FS.Remove(path)
	}
}
