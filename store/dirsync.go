package store

import (
	"fmt"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// dirFS makes three things of directories safe.
//
// It syncs a directory before a marker is created in it. Pebble creates a new
// MANIFEST at every Open, syncs the file, then creates the marker that names it and
// syncs the directory once, for both. A file system that keeps directory entries in
// another order than they were made could lose the MANIFEST in a crash and keep its
// marker, and the store could not be opened again. ext4 and XFS do not do that, but
// nothing promises it; the price is one sync at Open.
//
// A directory of the store that cannot be synced is fatal, see Options.Fatal: what a
// later sync of it would mean is unknown, and where a marker was made Pebble panics.
//
// It would panic in a checkpoint too, which is no reason to end: there a failed sync is
// kept for Checkpoint, and Pebble is told that all is well.
type dirFS struct {
	vfs.FS
	own  string // the store's directory
	fail func(msg string)

	checkpoint struct {
		sync.Mutex
		dir string // where one is being written, "" where none is
		err error  // the first sync of a directory that failed since
	}
}

// markerPrefix begins the names of the files by which Pebble switches MANIFESTs and
// format versions.
const markerPrefix = "marker."

func (fs *dirFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(fs.PathBase(name), markerPrefix) {
		if err := fs.syncDir(fs.PathDir(name)); err != nil {
			return nil, err
		}
	}
	return fs.FS.Create(name, c)
}

func (fs *dirFS) syncDir(name string) error {
	d, err := fs.OpenDir(name)
	if err != nil {
		return err
	}
	if err := d.Sync(); err != nil {
		d.Close()
		return err
	}
	return d.Close()
}

// beginCheckpoint says that a checkpoint is being written to dir.
func (fs *dirFS) beginCheckpoint(dir string) {
	fs.checkpoint.Lock()
	defer fs.checkpoint.Unlock()
	fs.checkpoint.dir, fs.checkpoint.err = dir, nil
}

// endCheckpoint returns what could not be synced since beginCheckpoint.
func (fs *dirFS) endCheckpoint() error {
	fs.checkpoint.Lock()
	defer fs.checkpoint.Unlock()
	fs.checkpoint.dir = ""
	return fs.checkpoint.err
}

// OpenDir is part of vfs.FS.
func (fs *dirFS) OpenDir(name string) (vfs.File, error) {
	d, err := fs.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return dir{File: d, fs: fs, name: name}, nil
}

// Unwrap is part of vfs.FS.
func (fs *dirFS) Unwrap() vfs.FS { return fs.FS }

type dir struct {
	vfs.File
	fs   *dirFS
	name string
}

// Sync is part of vfs.File.
func (d dir) Sync() error {
	err := d.File.Sync()
	if err == nil {
		return nil
	}
	err = fmt.Errorf("sync directory %s: %w", d.name, err)
	if d.name == d.fs.own {
		d.fs.fail(err.Error())
		return err
	}
	c := &d.fs.checkpoint
	c.Lock()
	defer c.Unlock()
	if d.name != c.dir {
		return err
	}
	if c.err == nil {
		c.err = err
	}
	return nil
}
