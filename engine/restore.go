package engine

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"countd/store"
)

// ErrNotEmpty is returned by Restore where the new data directory would not be one.
var ErrNotEmpty = errors.New("engine: the directory is not empty")

// ErrDamaged is returned by Restore for a backup in which Check finds a problem, and by Open for
// data that contradicts itself though its checksums are right.
var ErrDamaged = errors.New("the data is damaged")

// Restore checks a backup and makes a data directory of it in dir, which must be empty or not
// exist. It does not change the backup. The report is that of the check.
//
// Files that never change are linked where the file system can: the store's tables, and all
// segments but the newest. That one is copied, and so is the rest: a start finishes the newest
// segment in place, and Pebble goes on in the files that it finds. IDENTITY comes last, when
// everything else is durable: a directory without it is refused.
func Restore(backup, dir string, disk vfs.FS) (*CheckReport, error) {
	if disk == nil {
		disk = vfs.Default
	}
	report, err := Check(CheckOptions{Dir: backup, FS: disk})
	switch {
	case err != nil:
		return report, err
	case !report.Backup:
		return report, fmt.Errorf("engine: %s is no backup: it has no file %s; a data directory can be used "+
			"as it is, also a copy that was made while no server used it", backup, backupFileName)
	case len(report.Problems) > 0:
		return report, fmt.Errorf("engine: restore: %w: %s", ErrDamaged, report.Problems[0])
	}
	names, err := disk.List(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return report, err
	}
	if len(names) > 0 {
		return report, fmt.Errorf("%w: %s; name one that is, or that does not exist", ErrNotEmpty, dir)
	}
	if err := makeDir(disk, dir); err != nil {
		return report, err
	}
	if err := restoreInto(disk, backup, dir); err != nil {
		for _, name := range []string{storeDir, walDir, identityName, identityName + ".tmp"} {
			if rerr := disk.RemoveAll(disk.PathJoin(dir, name)); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
				err = errors.Join(err, fmt.Errorf("what there is of it cannot be removed: %w", rerr))
			}
		}
		return report, fmt.Errorf("engine: restore: %w", err)
	}
	return report, nil
}

func restoreInto(disk vfs.FS, backup, dir string) error {
	if err := restoreFiles(disk, backup, dir, walDir, func(name string, last bool) bool {
		return path.Ext(name) == ".log" && !last
	}); err != nil {
		return err
	}
	if err := restoreFiles(disk, backup, dir, storeDir, func(name string, _ bool) bool {
		return store.IsTable(name)
	}); err != nil {
		return err
	}
	if err := syncDir(disk, dir); err != nil {
		return err
	}
	identity, err := readSmallFile(disk, disk.PathJoin(backup, identityName), maxIdentityBytes)
	if err != nil {
		return err
	}
	return writeFileAtomically(disk, dir, disk.PathJoin(dir, identityName), identity)
}

// restoreFiles makes the files of one part of a backup appear in dir, as links where immutable
// says that they never change; last says that a name is the greatest. Directories are not a
// backup's.
func restoreFiles(
	disk vfs.FS, backup, dir, part string, immutable func(name string, last bool) bool,
) error {
	from, to := disk.PathJoin(backup, part), disk.PathJoin(dir, part)
	names, err := disk.List(from)
	if err != nil {
		return err
	}
	slices.SortFunc(names, func(a, b string) int { // segments by their number
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	if err := disk.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for i, name := range names {
		old, new := disk.PathJoin(from, name), disk.PathJoin(to, name)
		info, err := disk.Stat(old)
		switch {
		case err != nil:
		case info.IsDir() || name == "LOCK":
		case immutable(name, i == len(names)-1):
			err = linkOrCopy(disk, old, new, nil)
		default:
			err = copyFile(disk, old, new, nil)
		}
		if err != nil {
			return err
		}
	}
	return syncDir(disk, to)
}
