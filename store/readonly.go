package store

import (
	"fmt"
	"io"
	"regexp"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// readOnlyFS is the file system of a store that is opened for reading. It takes no lock: who only
// reads leaves it to the owner of the data directory, and can read where he cannot write. And it
// has an empty file for each table that is missing, so that the others can be read.
type readOnlyFS struct {
	vfs.FS
	dir     string
	missing []string
}

// Lock is part of vfs.FS.
func (fs *readOnlyFS) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// List is part of vfs.FS.
func (fs *readOnlyFS) List(dir string) ([]string, error) {
	names, err := fs.FS.List(dir)
	if err == nil && dir == fs.dir {
		names = append(names, fs.missing...)
	}
	return names, err
}

// Open is part of vfs.FS.
func (fs *readOnlyFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	for _, m := range fs.missing {
		if name == fs.PathJoin(fs.dir, m) {
			return vfs.NewMemFile(nil), nil
		}
	}
	return fs.FS.Open(name, opts...)
}

// Unwrap is part of vfs.FS.
func (fs *readOnlyFS) Unwrap() vfs.FS { return fs.FS }

// maxMissing bounds the missing tables that a store is opened without.
const maxMissing = 1000

var unknownTable = regexp.MustCompile(`file (\d+) \(type [a-z]+\) unknown`)

// openReadOnly opens a store for reading, also one with tables missing.
func openReadOnly(o Options, tune func(vfs.FS) *pebble.Options) (*pebble.DB, *pebble.Options, error) {
	fs := &readOnlyFS{FS: o.FS, dir: o.Dir}
	for {
		tuning := tune(fs)
		db, err := pebble.Open(o.Dir, tuning)
		if err != nil {
			return nil, nil, err
		}
		_, err = db.SSTables()
		if err == nil {
			return db, tuning, nil
		}
		m := unknownTable.FindStringSubmatch(err.Error())
		if m == nil || len(fs.missing) == maxMissing {
			return db, tuning, nil // Check will say so
		}
		if err := db.Close(); err != nil {
			return nil, nil, err
		}
		fs.missing = append(fs.missing, fmt.Sprintf("%s.sst", m[1]))
	}
}
