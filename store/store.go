package store

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The errors that callers may want to tell apart.
var (
	// ErrClosed is returned by every method once Close was called.
	ErrClosed = errors.New("store: closed")
	// ErrFailed is returned by Apply once Fatal was called: what is on disk is
	// whole, but only a restart can say whether it is the old or the new state.
	ErrFailed = errors.New("store: failed, restart needed")
	// ErrReadOnly is returned by Apply where the store was opened so.
	ErrReadOnly = errors.New("store: opened for reading")
	// ErrOrder is returned by Apply for keys that do not ascend.
	ErrOrder = errors.New("store: keys do not ascend")
)

// Options says where a store lives and what it may use.
type Options struct {
	// FS is the file system, vfs.Default if nil. Tests replace the disk here.
	FS vfs.FS
	// Dir is the store's own directory; it is made if it does not exist.
	Dir string
	// Logger gets Pebble's messages at debug level and its errors, slog.Default()
	// if nil.
	Logger *slog.Logger
	// Fatal is called, perhaps on a goroutine of Pebble's, when Pebble can no
	// longer say what its MANIFEST holds or a directory cannot be synced. It should
	// end the process. If it returns, Apply fails from then on, but Pebble may retry
	// without end, and an Open under way may not come back. If nil, the message is
	// logged and the process exits with status 1.
	Fatal func(msg string)
	// CacheBytes bounds the cache of decoded blocks, 16 MiB if 0.
	CacheBytes int64
	// ReadOnly opens a store that is there, changes nothing in Dir, not even a lock, and lets Apply fail.
	ReadOnly bool
	// CompactionShare is the share of one core that compaction may take while
	// no Apply waits for it: 0 < share <= 1, 0.5 if 0.
	CompactionShare float64
	// HoldCompaction allows no compaction until LetCompact is called.
	HoldCompaction bool
}

// Store is a database of merged log segments. Its methods may be called from any
// goroutine; Apply and Checkpoint calls queue up. It must not be copied.
type Store struct {
	opts     Options
	db       *pebble.DB
	tuning   *pebble.Options
	dirs     *dirFS
	pace     *pacer
	room     *room
	schedule *compactScheduler

	failed  atomic.Bool // set by the first fatal error, read by Apply
	applied struct {    // what Metrics reports, added to by Apply
		merges, entries, bytes atomic.Int64
	}

	sought sought

	tableBytes int // see the constant; tests lower it

	// apply serializes Apply and Checkpoint and guards tmp.
	apply struct {
		sync.Mutex
		tmp int // number of the next temporary table
	}
	// life counts the calls that use db, so that Close can wait for them.
	life struct {
		sync.Mutex
		closed bool
		calls  sync.WaitGroup // added to under the lock while not closed
	}
}

// Open opens the store in o.Dir, or makes an empty one. Tables that an
// interrupted Apply left behind are removed. A damaged MANIFEST is ErrCorrupt. A full
// disk is the file system's error; the process should end then, since Pebble may keep
// files open.
func Open(o Options) (*Store, error) {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 16 << 20
	}
	if o.CompactionShare == 0 {
		o.CompactionShare = 0.5
	}
	if o.CompactionShare < 0 || o.CompactionShare > 1 {
		return nil, fmt.Errorf("store: compaction share %v is not in (0, 1]", o.CompactionShare)
	}
	if _, _, err := CheckManifest(o.FS, o.Dir); err != nil {
		return nil, err
	}
	s := &Store{opts: o, pace: newPacer(o.CompactionShare), tableBytes: tableBytes}
	s.dirs = &dirFS{FS: o.FS, own: o.Dir, fail: func(msg string) { s.fail(msg) }}
	s.room = newRoom(o.Logger)
	roomy := &roomFS{FS: s.dirs, own: o.FS.PathJoin(o.Dir), room: s.room} // the path as Pebble joins it
	s.tuning = tuning(o, &pacedFS{FS: roomy, pace: s.pace}, pebbleLogger{s})
	s.schedule = newCompactScheduler(o.HoldCompaction)
	s.tuning.Experimental.CompactionScheduler = s.schedule
	s.tuning.EventListener.BackgroundError = s.backgroundError
	if err := checkOptions(o.FS, o.Dir, s.tuning); err != nil {
		return nil, err
	}
	if o.ReadOnly {
		var err error
		s.db, s.tuning, err = openReadOnly(o, func(fs vfs.FS) *pebble.Options {
			return tuning(o, fs, pebbleLogger{s})
		})
		if err != nil {
			return nil, fmt.Errorf("store: open: %w", explain(err))
		}
		return s, nil
	}
	// Pebble makes Dir, and makes that durable.
	db, err := s.room.open(func() (*pebble.DB, error) { return pebble.Open(o.Dir, s.tuning) })
	if err != nil {
		return nil, fmt.Errorf("store: open: %w", explain(err))
	}
	s.db = db
	if err := s.clearTemporary(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// GiveUp ends the waiting for room on a full disk, now and from now on: an Apply that
// waits returns the file system's error. The store is of use for reads and Close only.
func (s *Store) GiveUp() { s.room.giveUp() }

// Close ends compactions in progress at full speed, waits for the calls that are
// under way, and closes the files. Nothing needs to be written, so a full disk is no
// error. A second Close returns ErrClosed.
func (s *Store) Close() error {
	s.life.Lock()
	closed := s.life.closed
	s.life.closed = true
	s.life.Unlock()
	if closed {
		return ErrClosed
	}
	s.pace.stop()
	s.room.giveUp()
	s.life.calls.Wait()
	if err := s.db.Close(); err != nil && !DiskFull(err) { // Pebble ends its files with a mark that nobody needs
		return fmt.Errorf("store: close: %w", err)
	}
	return nil
}

// LetCompact ends what Options.HoldCompaction began. It is called once.
func (s *Store) LetCompact() { s.schedule.letGo() }

// use marks the store as used by a call, until the returned function is called.
func (s *Store) use() (done func(), err error) {
	s.life.Lock()
	defer s.life.Unlock()
	if s.life.closed {
		return nil, ErrClosed
	}
	s.life.calls.Add(1)
	return s.life.calls.Done, nil
}

// Checkpoint writes a copy of the store, as the last Apply left it, to dir, which
// must not exist, and makes it durable. Tables are linked, not copied, where the file
// system allows. After an error the store goes on, and dir is gone unless it cannot be
// removed.
func (s *Store) Checkpoint(dir string) error {
	done, err := s.use()
	if err != nil {
		return err
	}
	defer done()
	s.apply.Lock()
	defer s.apply.Unlock()
	s.dirs.beginCheckpoint(dir)
	err = s.db.Checkpoint(dir)
	if serr := s.dirs.endCheckpoint(); err == nil && serr != nil {
		err = errors.Join(serr, s.opts.FS.RemoveAll(dir))
	}
	if err != nil {
		return fmt.Errorf("store: checkpoint: %w", err)
	}
	return nil
}

// fail is the end of this store: see Options.Fatal.
func (s *Store) fail(msg string) {
	s.failed.Store(true)
	if s.opts.Fatal != nil {
		s.opts.Fatal(msg)
		return
	}
	s.opts.Logger.Error("store: " + msg)
	os.Exit(1)
}

// pebbleLogger is Pebble's Logger.
type pebbleLogger struct{ s *Store }

func (l pebbleLogger) Infof(format string, args ...any) {
	l.s.opts.Logger.Debug("store: " + fmt.Sprintf(format, args...))
}

func (l pebbleLogger) Errorf(format string, args ...any) {
	l.s.opts.Logger.Error("store: " + fmt.Sprintf(format, args...))
}

// Fatalf is called for an error of the MANIFEST, among others. A full disk is one that room tells of.
func (l pebbleLogger) Fatalf(format string, args ...any) {
	for _, arg := range args {
		if err, ok := arg.(error); ok && DiskFull(err) && l.s.room.isTold(err) {
			l.s.failed.Store(true)
			return
		}
	}
	l.s.fail(fmt.Sprintf(format, args...))
}
