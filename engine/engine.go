package engine

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"countd/hotkeys"
	"countd/shards"
	"countd/store"
	"countd/wal"
)

// Options configure an engine.
type Options struct {
	// Dir is the data directory; it is created where it does not exist. FsyncOff does not use it.
	Dir string
	// Policy is the durability of writes; see FsyncPolicy.
	Policy FsyncPolicy
	// FS is the file system; nil means the operating system's.
	FS vfs.FS
	// Logger gets what an operator should know; nil discards it.
	Logger *slog.Logger
	// SegmentBytes is the size a log segment is sealed at; 0 means DefaultSegmentBytes. It, MergeBytes and
	// TailBytes are less where maxmemory is small; see tail.go.
	SegmentBytes int64
	// MergeBytes is the size of sealed log at which it is merged into the store; 0 means
	// DefaultMergeBytes.
	MergeBytes int64
	// TailBytes is the size of the log that is not yet in the store, above which writers are slowed; 0 means
	// DefaultTailBytes.
	TailBytes int64
	// logAfter replaces time.After for the failover of the log, in tests.
	logAfter func(time.Duration) <-chan time.Time
	// mergeRangeBytes replaces what Engine.mergeRangeBytes says, in tests.
	mergeRangeBytes int64
	// mergeRetry replaces the constant, in tests.
	mergeRetry time.Duration
	// noWarming keeps warmLoop from its work, in tests.
	noWarming bool
	// noCompaction keeps the store from compacting, in tests.
	noCompaction bool
	// FlushInterval is the time between the starts of two flushes under everysec and no; 0 means
	// DefaultFlushInterval.
	FlushInterval time.Duration
	// Hot says which counters are promoted; nil means hotkeys.DefaultConfig.
	Hot *hotkeys.Config
	// Contracts are those of the configuration, at most MaxContracts. They are not stored. One stands
	// in for the stored contract with the same glob, one behind another for that.
	Contracts []Contract
	// MaxMemory is what SetMaxMemory sets.
	MaxMemory int64
	// LogFailoverDir is a directory on another disk, where the log goes on while that of Dir stalls; empty:
	// the log waits. It must exist, and serves one data directory.
	LogFailoverDir string
	// LogStall is how long a write or sync of the log may take before it does; 0 means
	// wal.DefaultStallThreshold.
	LogStall time.Duration
	// StoreFatal is called when the store can no longer say what is on disk; nil ends the process.
	StoreFatal func(msg string)
	// WallClockMs replaces the wall clock, in Unix milliseconds, in tests.
	WallClockMs func() int64
	// MonotonicMs replaces the monotonic clock, in milliseconds from any instant on, in tests.
	MonotonicMs func() int64
}

// The defaults of Options.
const (
	DefaultSegmentBytes = 32 << 20
	DefaultMergeBytes   = 96 << 20
	DefaultTailBytes    = 192 << 20
	// DefaultFlushInterval, with the flush itself, stays within the second that everysec may lose.
	DefaultFlushInterval = 700 * time.Millisecond
)

// Engine is an open database. All methods are safe for concurrent use; an Op is not.
type Engine struct {
	opts   Options
	log    *slog.Logger
	seed   shards.Seed
	logged bool // there is a log: the policy is not FsyncOff

	tablesMu sync.Mutex // guards the creation of tables
	tables   [Databases]atomic.Pointer[shards.Table]

	// epoch is the current epoch: a write reads it after its partition was listed.
	epoch atomic.Uint64
	// written is the highest epoch whose flush is in the log, durable the highest that is synced;
	// promised is the highest for which a sync that runs beside, or the one after it, was promised.
	// The leader of a flush stores them.
	written, durable, promised atomic.Uint64

	policy atomic.Int32
	// policySince is the epoch of the last change of policy, or a later one: see allKept.
	policySince atomic.Uint64
	// refusal is the reason why writes are refused, if they are.
	refusal atomic.Pointer[refusal]

	clock     clock
	commit    committer
	spaces    spaces
	contracts contracts
	merge     merger
	backups   backups
	stats     counters

	warm  warming
	evict evictor
	slow  atomic.Int64 // see Slowness

	writers writers
	detect  detection

	files *files
	quit  chan struct{}
	bg    sync.WaitGroup
}

// files are the open files of a logged engine.
type files struct {
	lock  interface{ Close() error }
	away  failoverDir
	wal   *wal.Log
	store *store.Store
}

// refusal says why writes are refused; final ones stay until the process ends.
type refusal struct {
	err   error
	final bool
}

// table returns the table of a database, creating it on first use.
func (e *Engine) table(db int) *shards.Table {
	if t := e.tables[db].Load(); t != nil {
		return t
	}
	return e.createTable(db)
}

func (e *Engine) createTable(db int) *shards.Table {
	e.tablesMu.Lock()
	defer e.tablesMu.Unlock()
	t := e.tables[db].Load()
	if t == nil {
		t = shards.NewTable(e.seed, e.logged)
		t.Space = e.spaces.of(db)
		e.tables[db].Store(t)
	}
	return t
}

// eachTable calls fn for the tables there are, by ascending database.
func (e *Engine) eachTable(fn func(db int, t *shards.Table)) {
	for db := range e.tables {
		if t := e.tables[db].Load(); t != nil {
			fn(db, t)
		}
	}
}

// Err is nil while writes are accepted, else why they are not: it wraps ErrSyncFailed, ErrDiskFull
// or ErrClosed.
func (e *Engine) Err() error {
	if r := e.refusal.Load(); r != nil {
		return r.err
	}
	return nil
}

// see records in op what a read of en saw. REQUIRES its lock, after the read.
func (e *Engine) see(en *entry, op *Op) error { return e.seePart(en.p, en.c, op) }

func (e *Engine) seePart(p *shards.Partition, c *Contract, op *Op) error {
	if err := p.Fault(); err != nil {
		return err
	}
	return e.seeEpoch(p.Epoch, c, op)
}

// beginWrite must come before any change to en's partition. REQUIRES its lock, which stays locked
// until the change is complete.
//
// Order matters: list, then read the epoch. A flush adds one to the epoch, then takes the list; so
// if this write reads the old epoch, its partition is on the list that the flush takes, and the
// flush waits for the lock.
func (e *Engine) beginWrite(en *entry, op *Op) error {
	if r := e.refusal.Load(); r != nil {
		return r.err
	}
	if !e.logged {
		return nil
	}
	p := en.p
	if err := p.Fault(); err != nil {
		return err
	}
	if !p.Listed {
		p.Listed = true
		en.t.List(en.part)
	}
	ep := e.epoch.Load()
	if p.Epoch != ep {
		e.enterEpoch(en.t, p, ep)
	}
	if Epoch(ep) > op.Seen && e.waits(en.c) {
		op.Seen = Epoch(ep)
	}
	return nil
}

// enterEpoch makes ep the epoch of p's dirty list; what is on the list belongs to an epoch that has
// ended and is captured. REQUIRES p's lock.
func (e *Engine) enterEpoch(t *shards.Table, p *shards.Partition, ep uint64) {
	if p.DirtyLen() > 0 || p.CutLive != p.Live() { // FLUSHDB leaves nothing dirty, but fewer entries
		p.Pending = e.capture(t, p, p.Pending)
	}
	p.Epoch = ep
}
