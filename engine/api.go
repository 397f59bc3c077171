package engine

import (
	"errors"
	"math"

	"countd/shards"
)

// Epoch numbers the cuts in time that flushes make. A write belongs to the epoch it was made in;
// a flush makes a whole epoch durable at once.
type Epoch uint64

// Op is what one caller (a client session) carries from call to call. It is not safe for concurrent
// use. The zero value works on database 0 at instant 0.
type Op struct {
	// DB is the logical database, 0 to Databases-1.
	DB int
	// NowMs is the instant of the command in Unix milliseconds (Engine.NowMs). Everything in one
	// command sees this one instant.
	NowMs int64
	// Seen is the highest epoch that replies must wait for since the caller last set Seen to 0: the
	// highest that it wrote or saw of keys whose durability is always, by their contract or by the
	// server's policy. A reply may leave only when Engine.Durable() >= Seen. A command on several
	// keys waits where one of them does, one that tells of the whole keyspace where there may be any.
	Seen Epoch
	// Writer lets the caller add to hot counters without a lock; nil: he takes locks.
	Writer *Writer

	scratch []byte
	values  []Value
	locks   []int
	ahead   []shards.Hash
}

// Errors of commands. The server maps each to Redis's text.
var (
	ErrWrongType  = errors.New("engine: operation against a key holding the wrong kind of value")
	ErrNotInteger = errors.New("engine: value is not an integer or out of range")
	ErrOverflow   = errors.New("engine: increment or decrement would overflow")
	ErrNotFloat   = errors.New("engine: value is not a valid float")
	ErrNaNOrInf   = errors.New("engine: increment would produce NaN or infinity")
	ErrNotHLL     = errors.New("engine: value is not a HyperLogLog")
	ErrCorruptHLL = errors.New("engine: corrupted HyperLogLog")
	ErrTooLong    = errors.New("engine: value exceeds the maximum allowed size")
	// ErrNoKey: there is nothing to rename.
	ErrNoKey = errors.New("engine: no such key")
	// ErrLeavesRange: an increment would take the counter out of its contract's range, or further
	// away from it.
	ErrLeavesRange = errors.New("engine: increment would leave the range of the counter's contract")
	// ErrOutOfRange: a counter whose contract has a range is given something else than an integer in
	// it.
	ErrOutOfRange = errors.New("engine: value is not an integer in the range of the counter's contract")
	// ErrTallied: a number that need not be an integer is added to a counter whose contract has a
	// tally.
	ErrTallied = errors.New("engine: the counter's contract has a tally, of integers alone")
	// ErrSyncFailed is final: a sync of the log failed, nothing is acknowledged as durable any
	// more, and writes are refused until the process is restarted.
	ErrSyncFailed = errors.New("engine: a sync of the log failed")
	// ErrDiskFull is not final: writes are refused while the disk is full. Open returns it, too.
	ErrDiskFull = errors.New("engine: the disk is full")
	// ErrLogBlocked is not final either: the log cannot be written for another reason that may
	// pass, such as no free file descriptor.
	ErrLogBlocked = errors.New("engine: the log cannot be written")
	ErrClosed     = errors.New("engine: closed")
	// ErrUnsaved is returned by Close where writes that were acknowledged are not in the log.
	ErrUnsaved = errors.New("engine: the last writes are not saved")
	// ErrNoStore: without a log there is no store to evict to.
	ErrNoStore = errors.New("engine: nothing can be evicted without a log")
	// ErrStoreRead: the entry is in the store, which cannot be read; nothing was changed.
	ErrStoreRead = errors.New("engine: the store cannot be read")
)

// Value is the value of a string key: an integer, or bytes.
//
// Bytes belong to the engine and must not be modified; they stay valid until the next call that
// uses the same Op.
type Value struct {
	Exists bool
	IsInt  bool
	Int    int64
	Bytes  []byte
}

// Type is the type of a key, as TYPE names it.
type Type uint8

// The types a key can have. HyperLogLogs are strings, as in Redis.
const (
	TypeNone Type = iota
	TypeString
)

// NoExpiry is the expiry instant of a key that does not expire.
const NoExpiry int64 = math.MaxInt64

// SetCond is the condition of a SET.
type SetCond uint8

// SET always, only if the key is absent (NX), only if it is there (XX).
const (
	SetAlways SetCond = iota
	SetNX
	SetXX
)

// SetOptions are the options of a SET.
type SetOptions struct {
	Cond SetCond
	// ExpireAtMs is the expiry instant in Unix milliseconds; 0 and NoExpiry mean none. One that is
	// not after Op.NowMs deletes the key, as in Redis.
	ExpireAtMs int64
	KeepTTL    bool
	// WantOld asks for the old value.
	WantOld bool
	// Own says that the value is the engine's from now on; else it makes a copy.
	Own bool
}

// ExpireCond is the condition of an EXPIRE; the flags combine as in Redis (XX with GT or LT).
type ExpireCond uint8

// Conditions of EXPIRE.
const (
	ExpireNX ExpireCond = 1 << iota
	ExpireXX
	ExpireGT
	ExpireLT
)

// FsyncPolicy says when a write may be acknowledged.
type FsyncPolicy int32

// The policies of appendfsync. FsyncOff stands for appendonly no.
const (
	FsyncOff FsyncPolicy = iota
	FsyncNo
	FsyncEverySec
	FsyncAlways
)

// Databases is the number of logical databases.
const Databases = 16

// MaxStringLen is the largest value in bytes (Redis's proto-max-bulk-len default).
const MaxStringLen = 512 << 20
