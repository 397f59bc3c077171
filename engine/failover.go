package engine

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/cockroachdb/pebble/v2/vfs"

	"countd/wal"
)

// A failover directory belongs to one data directory. Both have a file FAILOVER with the same id, which
// is the failover's alone: copies and backups of a data directory have its seed, but not its failover
// directory. That of the data directory says where the other is, so that a start without it cannot take
// the part of the log that is here for all.
//
// The order is: the data directory names the id and the path, *new*; the other directory gets the id;
// then the data directory says *used*, and only now a segment may begin there. Where it says new, the
// other directory has nothing and need not be there. The way back is the same, backwards.

const (
	failoverName   = "FAILOVER"
	failoverFormat = "countd failover of the log, format 1\nid %s\nstate %s\npath %q\n"
	failoverOwner  = "countd failover of the log, format 1\nid %s\n"

	failoverNew  = "new"
	failoverUsed = "used"

	maxFailoverBytes = 16 << 10
)

// ErrFailover is returned by Open where the failover directory of the log is not there, is another's, or
// cannot be used. The text says what to do.
var ErrFailover = errors.New("engine: the log's failover directory")

// failoverMark is what the data directory says of its failover directory. The zero value: it has none.
type failoverMark struct {
	id, state, path string
}

func (m failoverMark) append(b []byte) []byte {
	return appendChecksum(fmt.Appendf(b, failoverFormat, m.id, m.state, m.path))
}

// readFailoverMark reads the file of a data directory.
func readFailoverMark(disk vfs.FS, dir string) (m failoverMark, err error) {
	file := disk.PathJoin(dir, failoverName)
	b, err := readSmallFile(disk, file, maxFailoverBytes)
	if errors.Is(err, os.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	_, err = fmt.Sscanf(string(b), failoverFormat, &m.id, &m.state, &m.path)
	if err != nil || string(m.append(nil)) != string(b) {
		return m, fmt.Errorf("%w: %s is damaged; it names the directory where parts of the log may be",
			ErrFailover, file)
	}
	return m, nil
}

func (m failoverMark) write(disk vfs.FS, dir string) error {
	return writeFileAtomically(disk, dir, disk.PathJoin(dir, failoverName), m.append(nil))
}

// failoverOwnerOf is the id in a failover directory, "" where it has none.
func failoverOwnerOf(disk vfs.FS, dir string) (id string, err error) {
	file := disk.PathJoin(dir, failoverName)
	b, err := readSmallFile(disk, file, maxFailoverBytes)
	if errors.Is(err, os.ErrNotExist) {
		if _, err := disk.Stat(dir); err != nil {
			return "", fmt.Errorf("%w, %s: %w", ErrFailover, dir, err)
		}
		return "", nil
	}
	if err != nil {
		return "", err
	}
	_, err = fmt.Sscanf(string(b), failoverOwner, &id)
	if err != nil || string(appendChecksum(fmt.Appendf(nil, failoverOwner, id))) != string(b) {
		return "", fmt.Errorf("%w, %s: its file %s is damaged", ErrFailover, dir, failoverName)
	}
	return id, nil
}

// check compares the directory with the mark that names it.
func (m failoverMark) check(disk vfs.FS) error {
	id, err := failoverOwnerOf(disk, m.path)
	if err == nil && id != m.id && !(id == "" && m.state == failoverNew) {
		err = fmt.Errorf("%w, %s: it is not the one that this data directory uses; is its disk mounted?",
			ErrFailover, m.path)
	}
	return err
}

// failoverDir is the failover directory of an open engine. Its lock is held.
type failoverDir struct {
	path  string
	leave bool // no segment begins there; what is in it is read until it is merged
	lock  io.Closer
}

// openFailover finds and locks the failover directory of the data directory dir; want is the one to
// use, "" for none. A directory that is not wanted any more is let go as soon as no segment is in it.
func openFailover(disk vfs.FS, dir, want string) (f failoverDir, err error) {
	m, err := readFailoverMark(disk, dir)
	if err != nil {
		return f, err
	}
	defer func() {
		if err != nil && f.lock != nil {
			err = errors.Join(err, f.lock.Close())
			f.lock = nil
		}
	}()
	if m.id != "" && want != "" && want != m.path { // it may have moved
		if id, err := failoverOwnerOf(disk, want); err == nil && id == m.id {
			m.path = want
			if err := m.write(disk, dir); err != nil {
				return f, err
			}
		}
	}
	if m.id != "" && want != m.path {
		left, err := m.leave(disk, dir, &f)
		if err != nil {
			return f, err
		}
		if left && want == "" {
			return f, nil
		}
		if left {
			return f, fmt.Errorf("%w: parts of the log are in %s yet; start with that one, or without, "+
				"until they are merged", ErrFailover, m.path)
		}
		m, f = failoverMark{}, failoverDir{}
	}
	if want == "" {
		return f, nil
	}
	return f, m.use(disk, dir, want, &f)
}

// leave lets go of the directory, or reports that there are segments in it. It is locked then.
func (m failoverMark) leave(disk vfs.FS, dir string, f *failoverDir) (left bool, err error) {
	if m.state == failoverNew {
		if id, err := failoverOwnerOf(disk, m.path); err == nil && id == m.id {
			_ = disk.Remove(disk.PathJoin(m.path, failoverName)) // else it looks used to others
		}
		return false, errors.Join(disk.Remove(disk.PathJoin(dir, failoverName)), syncDir(disk, dir))
	}
	if f.lock, err = lockFailover(disk, m.path, func() error { return m.check(disk) }); err != nil {
		return false, err
	}
	f.path, f.leave = m.path, true
	if left, err = hasSegments(disk, m.path); left || err != nil {
		return left, err
	}
	err = f.lock.Close()
	f.lock = nil
	m.state = failoverNew
	if err = errors.Join(err, m.write(disk, dir)); err != nil {
		return false, err
	}
	return m.leave(disk, dir, f)
}

// lockFailover takes the lock of a failover directory that check has nothing against. It must exist: one that
// is made where the disk is not mounted would be on the wrong disk. For the same reason check comes before a
// lock file is made, too: a directory that is refused stays as it was.
func lockFailover(disk vfs.FS, dir string, check func() error) (io.Closer, error) {
	switch _, err := disk.Stat(dir); {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%w, %s, is not there; make it, or mount its disk where the log has been in it",
			ErrFailover, dir)
	case err != nil:
		return nil, fmt.Errorf("%w, %s: %w", ErrFailover, dir, err)
	}
	file := disk.PathJoin(dir, "LOCK")
	switch there, err := exists(disk, file); {
	case err != nil:
		return nil, fmt.Errorf("%w, %s: %w", ErrFailover, dir, err)
	case !there:
		if err := check(); err != nil {
			return nil, err
		}
	}
	lock, err := disk.Lock(file)
	switch {
	case isLocked(err):
		return nil, fmt.Errorf("%w, %s: it is in use by another process", ErrFailover, dir)
	case err != nil:
		return nil, fmt.Errorf("%w, %s: %w", ErrFailover, dir, err)
	}
	if err := check(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

func hasSegments(disk vfs.FS, dir string) (bool, error) {
	names, err := disk.List(dir)
	for _, name := range names {
		if path.Ext(name) == ".log" {
			return true, err
		}
	}
	return false, err
}

// isUnused is nil where dir is no data directory's failover directory.
func isUnused(disk vfs.FS, dir string) error {
	id, err := failoverOwnerOf(disk, dir)
	left, lerr := hasSegments(disk, dir)
	if err = errors.Join(err, lerr); err == nil && (id != "" || left) {
		err = fmt.Errorf("%w, %s: it is that of another data directory, or was; choose another, or empty it",
			ErrFailover, dir)
	}
	return err
}

// use makes want the failover directory of the data directory, or finds that it is.
func (m failoverMark) use(disk vfs.FS, dir, want string, f *failoverDir) (err error) {
	if there, err := exists(disk, disk.PathJoin(want, identityName)); err != nil {
		return fmt.Errorf("%w, %s: %w", ErrFailover, want, err)
	} else if there || disk.PathJoin(want) == disk.PathJoin(dir, walDir) {
		return fmt.Errorf("%w, %s: it is a data directory, or in one; choose one on another disk",
			ErrFailover, want)
	}
	check := func() error { return m.check(disk) }
	if m.id == "" {
		check = func() error { return isUnused(disk, want) }
	}
	if f.lock, err = lockFailover(disk, want, check); err != nil {
		return err
	}
	if m.id == "" {
		var b [16]byte
		_, _ = rand.Read(b[:]) // never fails (crypto/rand)
		m = failoverMark{hex.EncodeToString(b[:]), failoverNew, want}
	}
	f.path = want
	if m.state == failoverUsed {
		return nil
	}
	if err := m.write(disk, dir); err != nil {
		return err
	}
	owner := appendChecksum(fmt.Appendf(nil, failoverOwner, m.id))
	if err := writeFileAtomically(disk, want, disk.PathJoin(want, failoverName), owner); err != nil {
		return err
	}
	m.state = failoverUsed
	return m.write(disk, dir)
}

// walOptions are those of the log.
func (e *Engine) walOptions(f failoverDir) wal.Options {
	disk := e.opts.FS
	o := wal.Options{FS: disk, Dir: disk.PathJoin(e.opts.Dir, walDir), SegmentBytes: e.opts.SegmentBytes}
	if f.path == "" {
		return o
	}
	o.Failover = &wal.Failover{Dir: f.path, Leave: f.leave, Threshold: e.opts.LogStall, Notify: e.logMoved,
		After: e.opts.logAfter}
	return o
}

// logMoved tells the operator where the log goes on.
func (e *Engine) logMoved(s wal.Switch) {
	go func() { // what the operator reads may be on the disk that stalls
		switch {
		case s.Failed != nil:
			e.log.Error("the log goes on in another directory: in its own an operation failed", "dir", s.Dir,
				"err", s.Failed)
		case s.Primary:
			e.log.Info("the log goes on in the data directory", "dir", s.Dir)
		default:
			e.log.Warn("the disk of the log stalls: the log goes on in another directory", "dir", s.Dir)
		}
	}()
}

// logDirs are the directories of the log of the data directory dir that are there.
func logDirs(disk vfs.FS, dir string) ([]string, error) {
	dirs := []string{disk.PathJoin(dir, walDir)}
	m, err := readFailoverMark(disk, dir)
	if err != nil || m.state != failoverUsed {
		return dirs, err
	}
	return append(dirs, m.path), m.check(disk)
}
