package engine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"countd/shards"
	"countd/store"
	"countd/wal"
)

// CheckOptions say what Check and Repair look at.
type CheckOptions struct {
	Dir string // a data directory that no server uses, or a backup
	FS  vfs.FS // nil means the operating system's
	// StoreFatal is called when a store that Repair makes can no longer say what is on disk; nil
	// ends the process.
	StoreFatal func(msg string)
}

// CheckReport is what Check found.
type CheckReport struct {
	Dir      string
	Backup   bool
	Made     time.Time // of a backup
	Problems []Problem // what stops a start, or makes reads fail; none: all is well
	Notes    []string  // what an operator may want to know besides

	Epoch       uint64 // the last flush
	Segments    int    // of the log, behind the store's position
	Flushes     int
	Images      int64
	LogBytes    int64 // of all files of the log
	Tables      int   // of the store
	StoreBytes  int64
	StoredKeys  int64
	Contracts   int
	Keys        [Databases]int64 // found, in store and log together
	LostKeys    int64            // the last flush says that there were so many more, in all databases
	LostFlushes int              // that can be read but not used, behind damage
}

// Problem is damage of a file.
type Problem struct {
	File   string // below the directory, or the directory itself
	Offset int64  // -1: the file as a whole
	What   string
}

func (p Problem) String() string {
	if p.Offset < 0 {
		return fmt.Sprintf("%s: %s", p.File, p.What)
	}
	return fmt.Sprintf("%s: offset %d: %s", p.File, p.Offset, p.What)
}

// ErrNoData is returned by Check, Repair and Restore where there is neither data nor a backup.
var ErrNoData = errors.New("engine: not a data directory of countd, nor a backup")

// IsDamage reports whether an error of Open is one of damage that Check can tell more of.
func IsDamage(err error) bool {
	return errors.Is(err, wal.ErrCorrupt) || errors.Is(err, store.ErrCorrupt) || errors.Is(err, ErrIdentity) ||
		errors.Is(err, ErrDamaged)
}

// MayRepair reports whether Repair may help against an error of Open.
func MayRepair(err error) bool { return IsDamage(err) && !errors.Is(err, errIdentityLost) }

// maxBadEntries bounds the entries of the store that a report names.
const maxBadEntries = 20

// Check verifies all of a data directory or a backup, and changes nothing in it but for the file
// LOCK of a data directory: IDENTITY; each segment of the log, its checksums, its place in the
// chain, and that every image decodes; each block of the store's tables; each stored entry, its
// place, its hash and that it decodes; that the log goes on where the store ends; the number of
// keys; and of a backup that it is complete.
//
// The error is ErrLocked, ErrNoData, or why it could not go on; damage is not an error.
func Check(o CheckOptions) (*CheckReport, error) {
	c, err := newChecker(o)
	if err != nil {
		return nil, err
	}
	defer c.close()
	return c.report, c.run()
}

// checker looks at a data directory.
type checker struct {
	disk   vfs.FS
	dir    string
	lock   io.Closer
	report *CheckReport

	seed   *shards.Seed // nil: IDENTITY cannot be read
	cut    *backupCut   // of a backup
	store  *store.Store // nil: there is none, or it cannot be opened
	tables *store.Checked
	pos    *position // the store's; nil: it cannot be read
	torn   *Problem  // what may be the end of an interrupted write of the store's
	// badManifest: the MANIFEST is damaged. newer: a file is of a later version of countd.
	// unreadable: the disk did not give some bytes, which may be good.
	badManifest, newer, unreadable bool
	lostFailover                   bool // the log's failover directory is not there
	silent                         bool // list no more problems
	log                            *wal.Examination

	images imageSet // those of the log that can be used
	// counted says that the last flush, or the position, tells the number of keys: expected.
	counted  bool
	expected [Databases]int64
	bad      int // entries of the store that are no good
	// kin and strange count those whose hash is that of their key under IDENTITY's seed, and those of which it is not.
	kin, strange int
}

func newChecker(o CheckOptions) (*checker, error) {
	c := &checker{disk: o.FS, dir: o.Dir, report: &CheckReport{Dir: o.Dir}}
	if c.disk == nil {
		c.disk = vfs.Default
	}
	if _, err := c.disk.Stat(c.dir); err != nil {
		return nil, err
	}
	var any bool
	for _, name := range []string{backupFileName, identityName, storeDir, walDir} {
		there, err := c.has(name)
		if err != nil {
			return nil, err
		}
		if there && name == backupFileName {
			c.report.Backup = true // no server uses it
			return c, nil
		}
		any = any || there
	}
	if !any {
		return nil, fmt.Errorf("%w: %s", ErrNoData, c.dir)
	}
	lock, err := lockDir(c.disk, c.dir)
	c.lock = lock
	return c, err
}

// lockDir takes the lock of a data directory.
func lockDir(disk vfs.FS, dir string) (io.Closer, error) {
	lock, err := disk.Lock(disk.PathJoin(dir, "LOCK"))
	switch {
	case isLocked(err):
		return nil, fmt.Errorf("%w: %s", ErrLocked, dir)
	case err != nil:
		return nil, fmt.Errorf("engine: %w", err)
	}
	return lock, nil
}

func (c *checker) path(name ...string) string {
	return c.disk.PathJoin(append([]string{c.dir}, name...)...)
}

func (c *checker) has(name string) (bool, error) { return exists(c.disk, c.path(name)) }

func exists(disk vfs.FS, path string) (bool, error) {
	_, err := disk.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// close may be called twice.
func (c *checker) close() {
	if c.store != nil {
		_ = c.store.Close() // it was only read
	}
	if c.lock != nil {
		_ = c.lock.Close()
	}
	c.store, c.lock = nil, nil
}

func (c *checker) run() error {
	if interrupted, err := c.has(repairFile); err != nil {
		return err
	} else if interrupted {
		c.problem(repairFile, -1, "%v", ErrRepairing)
	}
	steps := []func() error{c.checkBackupFile, c.checkIdentity, c.checkStore, c.checkLog, c.checkEntries,
		c.checkBackup}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) problem(file string, offset int64, format string, args ...any) {
	if c.silent {
		return
	}
	what := strings.TrimPrefix(fmt.Sprintf(format, args...), "engine: ") // an error of ours
	c.report.Problems = append(c.report.Problems, Problem{file, offset, what})
}

func (c *checker) note(format string, args ...any) {
	c.report.Notes = append(c.report.Notes, fmt.Sprintf(format, args...))
}

// damage makes a problem of an error that names the offset in its text.
func (c *checker) damage(file string, err error) {
	offset, what := int64(-1), err.Error()
	if m := placeInText.FindStringSubmatch(what); m != nil {
		offset, _ = strconv.ParseInt(m[1], 10, 64)
		what = m[2]
	}
	for _, kind := range []error{wal.ErrCorrupt, store.ErrCorrupt} {
		what = strings.TrimSuffix(what, ": "+kind.Error())
	}
	c.problem(file, offset, "%s", what)
}

// damageBelow is damage of a file below dir whose name the text of err has before the offset.
func (c *checker) damageBelow(dir string, err error) {
	file := dir
	if m := fileInText.FindStringSubmatch(err.Error()); m != nil {
		file = c.disk.PathJoin(dir, m[1])
	}
	c.damage(file, err)
}

var fileInText = regexp.MustCompile(`(\S+): offset \d+: `)

var placeInText = regexp.MustCompile(`^.*?: offset (\d+): (.*)$`)

// checkBackupFile reads BACKUP.
func (c *checker) checkBackupFile() error {
	if !c.report.Backup {
		return nil
	}
	b, err := readSmallFile(c.disk, c.path(backupFileName), maxBackupFileBytes)
	if err != nil {
		return err
	}
	cut, err := parseBackupFile(b, backupFileName)
	if err != nil {
		c.problem(backupFileName, -1, "%v", err)
		return nil
	}
	c.cut, c.report.Made = &cut, cut.made
	return nil
}

func readSmallFile(disk vfs.FS, path string, limit int64) ([]byte, error) {
	f, err := disk.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// checkIdentity reads IDENTITY.
func (c *checker) checkIdentity() error {
	b, err := readSmallFile(c.disk, c.path(identityName), maxIdentityBytes)
	switch {
	case errors.Is(err, os.ErrNotExist):
		c.problem(identityName, -1, "missing; %s", identityHelp)
		return nil
	case err != nil:
		return err
	}
	seed, err := parseIdentity(b, identityName)
	c.newer = c.newer || errors.Is(err, ErrFormat)
	if err != nil {
		c.problem(identityName, -1, "%v", err)
		return nil
	}
	c.seed = &seed
	return nil
}

// checkStore opens the store and reads all its blocks.
func (c *checker) checkStore() error {
	dir := c.path(storeDir)
	manifest, torn, err := store.CheckManifest(c.disk, dir)
	file := c.disk.PathJoin(storeDir, manifest)
	switch {
	case errors.Is(err, store.ErrCorrupt):
		c.damage(file, err)
		c.badManifest = true
		return nil
	case err != nil:
		return err
	case manifest == "":
		c.note("there is no store: nothing was merged yet")
		pos, _ := decodePosition(nil)
		c.pos = &pos
		return nil
	}
	if torn >= 0 {
		c.torn = &Problem{file, torn, "bad record at the end"}
	}
	c.store, err = store.Open(store.Options{
		FS: c.disk, Dir: dir, ReadOnly: true, Logger: discardLogger(),
		Fatal: func(string) {},
	})
	if errors.Is(err, store.ErrCorrupt) {
		c.damageBelow(storeDir, err)
		return nil
	}
	if err != nil {
		c.problem(storeDir, -1, "%v", err)
		c.unreadable = true
		return nil
	}
	if c.tables, err = c.store.Check(); err != nil {
		return err
	}
	c.report.Tables, c.report.StoreBytes = c.tables.Tables, c.tables.Bytes
	for _, d := range c.tables.Damages {
		c.problem(c.disk.PathJoin(storeDir, d.Table), d.Offset, "%v", d.Err)
		c.unreadable = c.unreadable || d.Unreadable
	}
	b, err := c.store.Position()
	var pos position
	if err == nil {
		pos, err = decodePosition(b)
	}
	if err != nil {
		c.newer = c.newer || errors.Is(err, ErrFormat)
		c.unreadable = c.unreadable || !c.newer && !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, errPosition)
		c.problem(storeDir, -1, "the position, which says how far the log was merged, cannot be read: %v", err)
		return nil
	}
	c.pos = &pos
	return nil
}
