package engine

import (
	"os"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// crashFS is a crashable MemFS that may be cloned while it is used. MemFS itself may not: CrashClone
// takes cloneMu and then mu, where the calls below take mu and then cloneMu (v2.1.7), so that they can
// wait for each other for ever. Here they exclude each other first.
type crashFS struct {
	*vfs.MemFS
	mu sync.RWMutex
}

func newCrashFS() *crashFS { return &crashFS{MemFS: vfs.NewCrashableMem()} }

func (fs *crashFS) clone(cfg vfs.CrashCloneCfg) *crashFS {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return &crashFS{MemFS: fs.MemFS.CrashClone(cfg)}
}

func (fs *crashFS) Unwrap() vfs.FS { return fs.MemFS }

func (fs *crashFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	return fs.MemFS.Create(name, c)
}

func (fs *crashFS) Link(oldname, newname string) error {
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	return fs.MemFS.Link(oldname, newname)
}

func (fs *crashFS) OpenReadWrite(
	name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption,
) (vfs.File, error) {
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	return fs.MemFS.OpenReadWrite(name, c, opts...)
}

func (fs *crashFS) Remove(name string) error {
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	return fs.MemFS.Remove(name)
}

func (fs *crashFS) RemoveAll(name string) error {
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	return fs.MemFS.RemoveAll(name)
}

func (fs *crashFS) Rename(oldname, newname string) error {
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	return fs.MemFS.Rename(oldname, newname)
}

func (fs *crashFS) ReuseForWrite(
	oldname, newname string, c vfs.DiskWriteCategory,
) (vfs.File, error) {
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	return fs.MemFS.ReuseForWrite(oldname, newname, c)
}

func (fs *crashFS) MkdirAll(name string, perm os.FileMode) error {
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	return fs.MemFS.MkdirAll(name, perm)
}
