package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"countd/hotkeys"
	"countd/shards"
	"countd/store"
	"countd/wal"
)

// Recovery says what Open found.
type Recovery struct {
	StoreKeys      int64 // entries of the store, by its position; -1: one of an older version does not say
	ReplayedImages int64 // images read from the log
	ReplayedBytes  int64
	TruncatedBytes int64 // torn tail of the log, cut off
	Keys           int64 // entries now
	Duration       time.Duration
}

// ErrLocked is returned by Open where another process uses the data directory.
var ErrLocked = errors.New("engine: data directory is in use by another process")

// ErrIsBackup is returned by Open for a backup: a server would change it.
var ErrIsBackup = errors.New("engine: this is a backup; countd restore makes a data directory of it")

// Open opens or creates the database in o.Dir, brings back what was durable, and starts the
// background work. With FsyncOff it is in memory alone and o.Dir is not touched.
//
// Errors: a *ContractError, ErrLocked, ErrIsBackup, ErrRepairing, ErrFormat, ErrIdentity, ErrFailover,
// ErrDamaged, wal.ErrCorrupt, store.ErrCorrupt, ErrDiskFull, after which the process should end, or of the
// file system.
func Open(o Options) (*Engine, Recovery, error) {
	o = o.withDefaults()
	e := &Engine{opts: o, log: o.Logger, logged: o.Policy != FsyncOff, quit: make(chan struct{})}
	e.clock.wall, e.clock.mono = o.WallClockMs, o.MonotonicMs
	e.policy.Store(int32(o.Policy))
	e.epoch.Store(1)
	e.commit.hook = func() {}
	e.commit.kick = make(chan struct{}, 1)
	e.merge.kick = make(chan struct{}, 1)
	e.evict.kick = make(chan struct{}, 1)
	e.merge.gen.Store(firstGeneration)
	e.spaces.init(newSpaces())
	detector, err := hotkeys.New(*o.Hot)
	if err != nil {
		return nil, Recovery{}, err
	}
	e.detect.init(detector)
	if err := e.SetMaxMemory(o.MaxMemory); err != nil {
		return nil, Recovery{}, err
	}
	var rec Recovery
	config, err := configContracts(o.Contracts, e.logged)
	if err != nil {
		return nil, rec, err
	}
	e.contracts.init(nil, config)
	if e.logged {
		start := time.Now()
		if err := e.openFiles(); err != nil {
			return nil, rec, tellFull(err)
		}
		if err := e.recover(&rec); err != nil {
			return nil, rec, tellFull(errors.Join(err, e.files.close()))
		}
		if !o.noCompaction {
			e.files.store.LetCompact()
		}
		e.merge.propose(e.files.wal.Sealed(), e.mergeBytes())
		rec.Duration = time.Since(start)
		e.bg.Add(4)
		go e.flushLoop()
		go e.mergeLoop()
		go e.evictLoop()
		go e.warmLoop()
	} else {
		e.seed = randomSeed()
	}
	e.bg.Add(3)
	go e.expireLoop()
	go e.detectLoop()
	go e.rollLoop()
	return e, rec, nil
}

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = DefaultSegmentBytes
	}
	if o.MergeBytes == 0 {
		o.MergeBytes = DefaultMergeBytes
	}
	if o.TailBytes == 0 {
		o.TailBytes = DefaultTailBytes
	}
	if o.FlushInterval == 0 {
		o.FlushInterval = DefaultFlushInterval
	}
	if o.Hot == nil {
		cfg := hotkeys.DefaultConfig()
		o.Hot = &cfg
	}
	if o.WallClockMs == nil {
		o.WallClockMs = wallClockMs
	}
	if o.MonotonicMs == nil {
		o.MonotonicMs = monotonicMs
	}
	return o
}

// The parts of a data directory, beside the identity and the lock.
const (
	storeDir = "store"
	walDir   = "wal"
)

// openFiles opens the data directory, in this order: lock, identity, failover directory, store, log.
func (e *Engine) openFiles() (err error) {
	disk, dir := e.opts.FS, e.opts.Dir
	f := &files{}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	if err := makeDir(disk, dir); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	for name, refuse := range map[string]error{backupFileName: ErrIsBackup, repairFile: ErrRepairing} {
		switch there, err := exists(disk, disk.PathJoin(dir, name)); {
		case err != nil:
			return fmt.Errorf("engine: %w", err)
		case there:
			return fmt.Errorf("%w: %s", refuse, dir)
		}
	}
	lock, err := lockDir(disk, dir)
	if err != nil {
		return err
	}
	f.lock = lock
	if err := clearBackup(disk, dir); err != nil {
		e.log.Warn("what is left of an interrupted backup cannot be removed", "err", err)
	}
	if e.seed, err = loadIdentity(disk, dir); err != nil {
		return err
	}
	if f.away, err = openFailover(disk, dir, e.opts.LogFailoverDir); err != nil {
		return err
	}
	if err := checkManifestTail(disk, dir); err != nil {
		return err
	}
	f.store, err = store.Open(store.Options{
		FS: disk, Dir: disk.PathJoin(dir, storeDir), Logger: e.log, Fatal: e.opts.StoreFatal,
		CacheBytes: cacheBytes(e.opts.MaxMemory), HoldCompaction: true, // until the log was read
	})
	if err != nil {
		return err
	}
	if f.wal, err = wal.Open(e.walOptions(f.away)); err != nil {
		return err
	}
	if err := syncDir(disk, dir); err != nil {
		return err
	}
	e.files = f
	return nil
}

// checkManifestTail looks whether the store's MANIFEST ends in what an interrupted write leaves, or in a
// record that was damaged later: then the log no longer has what that record's tables hold. Pebble would
// remove those, so it must not open the store then.
func checkManifestTail(disk vfs.FS, dir string) error {
	name, torn, err := store.CheckManifest(disk, disk.PathJoin(dir, storeDir))
	if err != nil || torn < 0 {
		return err
	}
	s, err := store.Open(store.Options{FS: disk, Dir: disk.PathJoin(dir, storeDir), ReadOnly: true,
		Logger: slog.New(slog.DiscardHandler), Fatal: func(string) {}})
	if err != nil {
		return err
	}
	b, err := s.Position()
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	pos, err := decodePosition(b)
	if err != nil {
		return err
	}
	dirs, err := logDirs(disk, dir)
	if err != nil {
		return err
	}
	log, err := wal.Examine(disk, pos.segment, dirs...)
	if err != nil || log.Missing == 0 {
		return err
	}
	return fmt.Errorf("store: %s: offset %d: bad record; the store without it reaches to segment %d, but "+
		"the log begins behind segment %d: %w", name, torn, uint64(pos.segment), uint64(log.Missing),
		store.ErrCorrupt)
}

// isLocked reports whether a lock failed because another holds it: fcntl says so by EAGAIN or EACCES,
// bare, where a file that cannot be opened is a PathError; vfs has no error for this process itself.
func isLocked(err error) bool {
	var path *fs.PathError
	if err == nil || errors.As(err, &path) {
		return false
	}
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) ||
		strings.Contains(err.Error(), "held by current process")
}

// close closes what is open, the lock last.
func (f *files) close() error {
	var errs []error
	if f.wal != nil {
		errs = append(errs, f.wal.Close())
	}
	if f.store != nil {
		errs = append(errs, f.store.Close())
	}
	if f.away.lock != nil {
		errs = append(errs, f.away.lock.Close())
	}
	if f.lock != nil {
		errs = append(errs, f.lock.Close())
	}
	return errors.Join(errs...)
}

// Close makes everything durable and closes the files. No other method may be running or follow.
//
// Where the log does not take the last writes it is ErrUnsaved. If none of those was acknowledged it only
// warns: that is as it should be where the disk is full.
func (e *Engine) Close() error {
	close(e.quit)
	if e.logged {
		e.files.store.GiveUp() // a merge may wait for room, and the merger is waited for
	}
	e.bg.Wait()
	if !e.logged {
		return nil
	}
	e.backups.making.Lock() // for good; a backup under way gives up
	e.commit.Lock()
	err := e.commitLocked(FsyncAlways)
	switch {
	case err == nil && e.commit.unproven && e.commitLocked(FsyncAlways) == nil:
		e.prove()
	case err != nil && !errors.Is(err, wal.ErrFailed): // the last flush is not in the log, those before it are
		err = e.unsaved(err)
	}
	e.commit.Unlock()
	e.refusal.CompareAndSwap(nil, &refusal{err: ErrClosed, final: true})
	return errors.Join(err, e.files.close())
}

// Stored entries: the key is space and hash, big endian, then the key, so that the store is in the
// order of the tables; the value is an image without them.
const storedPrefixBytes = 16

func appendStoredKey(dst []byte, space uint64, h shards.Hash, key []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, space)
	dst = binary.BigEndian.AppendUint64(dst, uint64(h))
	return append(dst, key...)
}

func decodeStored(key, value []byte) (image, shards.Hash, error) {
	if len(key) < storedPrefixBytes {
		return image{}, 0, errImageBad
	}
	hash := shards.Hash(binary.BigEndian.Uint64(key[8:]))
	im, err := decodeStoredState(value)
	im.space, im.key = binary.BigEndian.Uint64(key), key[storedPrefixBytes:]
	return im, hash, err
}

func decodeStoredState(value []byte) (image, error) {
	var im image
	d := decoder{b: value}
	im.decodeState(&d, d.byte())
	if d.err != nil || len(d.b) != 0 || im.op == imageDelete || im.op > imageSketch {
		return image{}, errImageBad
	}
	return im, nil
}

// spaceOf is the space of a stored key.
func spaceOf(key []byte) uint64 { return binary.BigEndian.Uint64(key) }

// spaceBound is where the stored entries of a space begin.
func spaceBound(space uint64) []byte { return binary.BigEndian.AppendUint64(nil, space) }
