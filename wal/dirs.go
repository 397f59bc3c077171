package wal

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// directory is one that segments are in.
type directory struct {
	name   string
	handle vfs.File // for syncing

	// With a failover, and guarded by its mu:
	stalled  int   // operations under way that did not end in time
	building bool  // a segment is being made here, maybe one that nobody waits for any more
	failed   error // why no segment begins here any more
}

// places says where segments are that are not in the first directory.
type places struct {
	mu sync.Mutex
	of map[SegmentID]*directory
}

// newSegmentSuffix follows the name of a segment that is being made in a directory of a log with a
// failover. Such a file says nothing.
const newSegmentSuffix = ".new"

func newDirectories(names ...string) []*directory {
	dirs := make([]*directory, 0, len(names))
	for _, name := range names {
		dirs = append(dirs, &directory{name: name})
	}
	return dirs
}

// dirOf is the directory that a segment is in.
func (l *Log) dirOf(id SegmentID) *directory {
	l.places.mu.Lock()
	defer l.places.mu.Unlock()
	if d := l.places.of[id]; d != nil {
		return d
	}
	return l.dirs[0]
}

func (l *Log) place(id SegmentID, d *directory) {
	if d == l.dirs[0] {
		return
	}
	l.places.mu.Lock()
	defer l.places.mu.Unlock()
	if l.places.of == nil {
		l.places.of = make(map[SegmentID]*directory)
	}
	l.places.of[id] = d
}

func (l *Log) unplace(id SegmentID) {
	l.places.mu.Lock()
	defer l.places.mu.Unlock()
	delete(l.places.of, id)
}

// Path is where the file of a segment is.
func (l *Log) Path(id SegmentID) string { return l.path(id) }

func (l *Log) path(id SegmentID) string { return l.fs.PathJoin(l.dirOf(id).name, segmentName(id)) }

// list answers the ids of the segments in the directories, ascending, and notes where they are.
func (l *Log) list() ([]SegmentID, error) {
	var ids []SegmentID
	for i, d := range l.dirs {
		names, err := l.fs.List(d.name)
		if i == 0 && len(l.dirs) > 1 && errors.Is(err, os.ErrNotExist) {
			continue // Examine; what must have been in it is missed elsewhere
		}
		if err != nil {
			return nil, fmt.Errorf("wal: list directory %s: %w", d.name, err)
		}
		for _, name := range names {
			id, ok := parseSegmentName(name)
			if !ok {
				continue
			}
			if slices.Contains(ids, id) {
				return nil, corrupt(id, 0, "it is in %s and in %s", l.dirOf(id).name, d.name)
			}
			ids = append(ids, id)
			l.place(id, d)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// clearNew removes what a crash left of segments that were being made. An error does no harm.
func (l *Log) clearNew() {
	for _, d := range l.dirs {
		names, _ := l.fs.List(d.name)
		for _, name := range names {
			if segment, ok := strings.CutSuffix(name, newSegmentSuffix); ok {
				if _, ok := parseSegmentName(segment); ok {
					_ = l.fs.Remove(l.fs.PathJoin(d.name, name))
				}
			}
		}
	}
}

// syncDirs makes durable which files the directories of dirs hold.
func syncDirs(dirs []*directory) error {
	for _, d := range dirs {
		if err := d.handle.Sync(); err != nil {
			return fmt.Errorf("wal: sync of directory %s: %w", d.name, err)
		}
	}
	return nil
}

// openDirs creates the first directory durably, and opens all for syncing.
func (l *Log) openDirs() error {
	first := l.dirs[0].name
	if err := l.fs.MkdirAll(first, 0o755); err != nil {
		return fmt.Errorf("wal: directory %s: %w", first, err)
	}
	parent, err := l.fs.OpenDir(l.fs.PathDir(first))
	if err == nil {
		err = parent.Sync()
		parent.Close()
	}
	if err != nil {
		return fmt.Errorf("wal: directory %s: %w", first, err)
	}
	for _, d := range l.dirs {
		if d.handle, err = l.fs.OpenDir(d.name); err != nil {
			return errors.Join(fmt.Errorf("wal: directory %s: %w", d.name, err), l.closeDirs())
		}
	}
	return nil
}

func (l *Log) closeDirs() error {
	var errs []error
	for _, d := range l.dirs {
		if d.handle != nil {
			errs = append(errs, d.handle.Close())
		}
	}
	return errors.Join(errs...)
}

func syncDir(fs vfs.FS, name string) error {
	d, err := fs.OpenDir(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
