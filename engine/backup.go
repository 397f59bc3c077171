package engine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"countd/wal"
)

// A backup is a directory backup-TIME in the data directory: what the data directory held at one
// instant, the cut, in files that nobody writes any more (but maybe behind the end of a segment that
// the log gave up on a disk that stalls). Sealed segments and the store's tables
// are hard links where the file system can, which costs neither time nor room; they never change,
// only cease to be named by the data directory when they have been merged.
//
// The steps:
//
//  1. Hold the merger back, so that the store stays where it is and no segment is removed.
//  2. Under the commit lock, as for any flush: commit what was written, sync it, and begin a new
//     segment. Now the sealed ones end at the cut.
//  3. Without that lock, so that writers go on: link the segments behind the store's position, and a
//     checkpoint of the store, into a directory with a temporary name; add IDENTITY, and BACKUP, which
//     says what belongs to it.
//  4. Sync all directories, give the directory its name, and sync that.
//
// So what has a backup's name is complete. A crash leaves the temporary name at most, which the
// next start or backup removes.

const (
	backupPrefix     = "backup-"
	backupTimeFormat = "20060102-150405Z"
	// backupTemporary is what a backup is called until it is complete.
	backupTemporary = "backup.tmp"
	// maxSameSecond bounds the backups of one second.
	maxSameSecond = 1000
)

// ErrNoLog is returned by Backup with FsyncOff: there is nothing on disk to copy.
var ErrNoLog = errors.New("engine: data lives in memory only (appendonly no): there is nothing on disk " +
	"that a backup could be made of")

// backups is the state of the backups of an engine.
type backups struct {
	making sync.Mutex // held by a Backup, and from Close on
}

// Backup makes a backup in the data directory, with all that was written before the call, and
// returns its path. Writers wait for no longer than a flush takes. One backup is made at a time;
// others wait.
//
// Errors: ErrNoLog, ErrClosed, why the log refuses writes, or of the file system. Then there is no
// new backup, and the engine goes on as before.
func (e *Engine) Backup() (path string, err error) {
	if !e.logged {
		return "", ErrNoLog
	}
	start := time.Now()
	e.backups.making.Lock()
	defer e.backups.making.Unlock()
	if e.stopped() {
		return "", ErrClosed
	}
	disk, dir := e.opts.FS, e.opts.Dir
	tmp := disk.PathJoin(dir, backupTemporary)
	if err := clearBackup(disk, dir); err != nil {
		return "", err
	}
	c, err := e.copyCut(tmp)
	if err == nil {
		path, err = nameBackup(disk, dir, tmp, c.made)
	}
	if err != nil {
		err = fmt.Errorf("engine: backup: %w", err)
		e.log.Error("there is no new backup", "err", err)
		if rerr := disk.RemoveAll(tmp); rerr != nil {
			e.log.Warn("what there is of it is removed at the next start or backup", "path", tmp, "err", rerr)
		}
		return "", err
	}
	e.stats.unsaved.Add(-c.unsaved)
	e.log.Info("a backup was made", "path", path, "segments", len(c.segments),
		"took", time.Since(start).Round(time.Millisecond))
	return path, nil
}

// clearBackup removes what a crash left of a backup.
func clearBackup(disk vfs.FS, dir string) error {
	err := disk.RemoveAll(disk.PathJoin(dir, backupTemporary))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("engine: what is left of an interrupted backup: %w", err)
	}
	return nil
}

// copyCut makes the cut and copies it to dir, durably but for dir's own name.
func (e *Engine) copyCut(dir string) (c backupCut, err error) {
	e.merge.changing.Lock()
	defer e.merge.changing.Unlock()
	if c, err = e.cut(); err != nil {
		return c, err
	}
	disk := e.opts.FS
	if err := disk.MkdirAll(disk.PathJoin(dir, walDir), 0o755); err != nil {
		return c, err
	}
	for _, s := range c.segments {
		to := disk.PathJoin(dir, walDir, wal.SegmentName(s.ID))
		if err := linkOrCopy(disk, e.files.wal.Path(s.ID), to, e.quit); err != nil {
			return c, err
		}
	}
	if err := syncDir(disk, disk.PathJoin(dir, walDir)); err != nil {
		return c, err
	}
	if err := e.files.store.Checkpoint(disk.PathJoin(dir, storeDir)); err != nil {
		return c, err
	}
	if e.stopped() {
		return c, ErrClosed
	}
	if err := writeFile(disk, disk.PathJoin(dir, identityName), appendIdentity(nil, e.seed)); err != nil {
		return c, err
	}
	if err := writeFile(disk, disk.PathJoin(dir, backupFileName), c.append(nil)); err != nil {
		return c, err
	}
	return c, syncDir(disk, dir)
}

// cut makes durable all that was written so far, and ends the log's segment there. REQUIRES
// merge.changing.
func (e *Engine) cut() (c backupCut, err error) {
	b, err := e.files.store.Position()
	if err != nil {
		return c, err
	}
	pos, err := decodePosition(b)
	if err != nil {
		return c, err
	}
	defer e.commit.hook()
	e.commit.Lock()
	defer e.commit.Unlock()
	for stalled := true; stalled; {
		stalled = e.commit.stalled // then this commit is of an earlier flush
		if err := e.commitLocked(FsyncAlways); err != nil {
			return c, err
		}
	}
	if err := e.rotate(); err != nil {
		return c, err
	}
	c.made = time.UnixMilli(e.opts.WallClockMs()).UTC().Truncate(time.Second)
	c.epoch, c.after, c.keys = e.written.Load(), pos.segment, e.commit.keys
	c.unsaved = e.stats.unsaved.Load()
	for _, s := range e.files.wal.Sealed() {
		if s.ID > pos.segment {
			c.segments = append(c.segments, s)
		}
	}
	return c, nil
}

// linkOrCopy links the file from, which must be durable, as to, or where that fails copies and
// syncs it. It gives up with ErrClosed when quit is closed.
func linkOrCopy(disk vfs.FS, from, to string, quit <-chan struct{}) error {
	err := disk.Link(from, to)
	if err == nil || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrExist) {
		return err
	}
	return copyFile(disk, from, to, quit)
}

// copyFile copies a file, and syncs the copy.
func copyFile(disk vfs.FS, from, to string, quit <-chan struct{}) error {
	src, err := disk.Open(from, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := disk.Create(to, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	err = copyBytes(dst, src, quit)
	if err == nil {
		err = dst.Sync()
	}
	if cerr := dst.Close(); err == nil {
		err = cerr
	}
	return err
}

func copyBytes(dst io.Writer, src io.Reader, quit <-chan struct{}) error {
	for {
		select {
		case <-quit:
			return ErrClosed
		default:
		}
		switch _, err := io.CopyN(dst, src, 1<<20); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// nameBackup gives a complete backup its name, and makes that durable. Where it cannot be made
// durable the backup has its temporary name again.
func nameBackup(disk vfs.FS, dir, tmp string, made time.Time) (path string, err error) {
	first := disk.PathJoin(dir, backupPrefix+made.Format(backupTimeFormat))
	for path, n := first, 2; n <= maxSameSecond; path, n = fmt.Sprintf("%s-%d", first, n), n+1 {
		_, err := disk.Stat(path)
		if err == nil {
			continue
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		if err := disk.Rename(tmp, path); err != nil {
			return "", err
		}
		if err := syncDir(disk, dir); err != nil {
			return "", errors.Join(err, disk.Rename(path, tmp))
		}
		return path, nil
	}
	return "", fmt.Errorf("there are %d backups of the same second", maxSameSecond)
}
