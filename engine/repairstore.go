package engine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"countd/store"
	"countd/wal"
)

// badOptions reports whether Pebble's OPTIONS file is what keeps the store from being opened.
func (r *repair) badOptions() bool {
	return r.store == nil && r.optionsProblem() != ""
}

func (r *repair) optionsProblem() (name string) {
	for _, p := range r.report.Problems {
		if base := path.Base(p.File); strings.HasPrefix(base, "OPTIONS-") {
			return base
		}
	}
	return ""
}

// dropOptions takes the file away: Pebble makes one at each start, and nothing is in it that is
// not in this program.
func (r *repair) dropOptions() error {
	name := r.optionsProblem()
	r.sayf("%s: taken away; nothing is lost, a start makes another", r.disk.PathJoin(storeDir, name))
	if err := r.keepFile(storeDir, name); err != nil {
		return err
	}
	if err := r.disk.Remove(r.path(storeDir, name)); err != nil {
		return err
	}
	return syncDir(r.disk, r.path(storeDir))
}

// forgetStore begins anew without the store, where the log is there from its first segment on.
func (r *repair) forgetStore() error {
	dirs, err := logDirs(r.disk, r.dir)
	if err != nil {
		return err
	}
	log, err := wal.Examine(r.disk, 0, dirs...)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err != nil || log.Missing != 0 || !slicesContainUsable(log.Segments) {
		return fmt.Errorf("engine: %s: the store cannot be opened, and the log does not go back to the "+
			"beginning: %w", r.report.Problems[0], ErrBeyondRepair)
	}
	r.sayf("%s: taken away; the log goes back to the beginning and has all that was in it", storeDir)
	dir, err := r.keep("")
	if err != nil {
		return err
	}
	if err := r.disk.Rename(r.path(storeDir), r.disk.PathJoin(dir, storeDir)); err != nil {
		return err
	}
	return errors.Join(syncDir(r.disk, dir), syncDir(r.disk, r.dir))
}

func slicesContainUsable(segments []wal.Examined) bool {
	for i := range segments {
		if !segments[i].Empty && !segments[i].Unusable && segments[i].End > 0 {
			return true
		}
	}
	return false
}

// keepStore links all files of the store to where what was damaged is kept.
func (r *repair) keepStore() error {
	names, err := r.disk.List(r.path(storeDir))
	if err != nil {
		return err
	}
	for _, name := range names {
		info, err := r.disk.Stat(r.path(storeDir, name))
		if err == nil && !info.IsDir() {
			err = r.keepFile(storeDir, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rebuildStore makes a store of what is good, of store and log, and puts it in the place of the
// old one.
func (r *repair) rebuildStore() error {
	good := int64(0)
	for _, n := range r.report.Keys {
		good += n
	}
	r.sayf("%s: made anew of what is good, in the store and in the log: %s; lost: %s", storeDir,
		count(good, "key", "keys"), count(max(r.report.LostKeys, 0), "key", "keys"))
	if err := r.disk.RemoveAll(r.path(storeNew)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := r.fillStore(); err != nil {
		return err
	}
	dir, err := r.keep("")
	if err != nil {
		return err
	}
	kept := []byte(r.disk.PathBase(dir))
	if err := writeFileAtomically(r.disk, r.dir, r.path(repairFile), kept); err != nil {
		return err
	}
	return r.finishStore()
}

// fillStore makes the new store.
func (r *repair) fillStore() (err error) {
	s, err := store.Open(store.Options{FS: r.disk, Dir: r.path(storeNew), Fatal: r.fatal})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	pos := r.images.pos
	pos.keys, pos.counted = r.report.Keys, true
	return pull(r.entries, func(next func() (key, value []byte, ok bool)) error {
		return s.Apply(pos.append(nil), nil, func() (key, value []byte, err error) {
			key, value, ok := next()
			if !ok {
				err = io.EOF
			}
			return key, value, err
		})
	})
}

// entries yields all good entries in the store's order.
func (r *repair) entries(yield func(key, value []byte) error) error {
	r.silent = true // they were listed before
	return r.overlay(func(int, bool) {}, func(_ int, key, value []byte) error { return yield(key, value) })
}

// finishStore puts the new store in place. It may be repeated.
func (r *repair) finishStore() error {
	b, err := readSmallFile(r.disk, r.path(repairFile), maxIdentityBytes)
	if err != nil {
		return err
	}
	r.kept = string(b)
	if r.checker.store != nil {
		_ = r.checker.store.Close()
		r.checker.store = nil
	}
	isNew, err1 := r.has(storeNew)
	isOld, err2 := r.has(storeDir)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if isNew && isOld {
		if err := r.disk.Rename(r.path(storeDir), r.path(r.kept, storeDir)); err != nil {
			return err
		}
		if err := errors.Join(syncDir(r.disk, r.path(r.kept)), syncDir(r.disk, r.dir)); err != nil {
			return err
		}
	}
	if isNew {
		if err := r.disk.Rename(r.path(storeNew), r.path(storeDir)); err != nil {
			return err
		}
		if err := syncDir(r.disk, r.dir); err != nil {
			return err
		}
	}
	if err := r.disk.Remove(r.path(repairFile)); err != nil {
		return err
	}
	return syncDir(r.disk, r.dir)
}
