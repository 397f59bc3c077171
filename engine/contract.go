package engine

import "math"

// Replies says what the reply to an increment promises.
type Replies uint8

// RepliesExact: an increment is a linearizable fetch-and-add and every reply is unique, as in Redis.
// RepliesRelaxed: the reply is a recent sum that includes the caller's own increment; concurrent
// replies may repeat.
const (
	RepliesExact Replies = iota
	RepliesRelaxed
)

// Contract says what the counters whose keys match Glob promise, in all databases. The zero value of
// each property is its default.
type Contract struct {
	// Glob is a pattern of Redis's KEYS; one without wildcards is the name of a key. At most
	// MaxGlobBytes.
	Glob string
	// Replies is exact or relaxed.
	Replies Replies
	// Shards is how many cells a hot counter is striped over, at most MaxShards; 0 is auto.
	Shards int
	// Durability is when a write may be acknowledged; FsyncOff stands for the server's appendfsync.
	Durability FsyncPolicy
	// StalenessMs is how old the total may be that a read of a hot counter returns, at most
	// MaxStalenessMs; 0: not at all.
	StalenessMs int64
	// Min and Max bound what increments may make of the counter, where HasMin and HasMax say so.
	Min, Max       int64
	HasMin, HasMax bool
	// Tally keeps ups and downs apart.
	Tally bool
	// FromConfig: it is one of Options.Contracts. Ignored by SetContract.
	FromConfig bool
}

// Bounds of contracts.
const (
	// MaxContracts is how many there can be, those of Options.Contracts not counted, which can be as
	// many again.
	MaxContracts   = 1024
	MaxGlobBytes   = 1024
	MaxShards      = 1024
	MaxStalenessMs = 3600 * 1000
)

// ContractError says why a contract is refused.
type ContractError struct {
	Reason string // a sentence about the properties, without a period
}

func (e *ContractError) Error() string { return "engine: contract: " + e.Reason }

// Contracts that cannot be kept, or not be changed.
var (
	ErrContractSyntax    = &ContractError{"syntax error"}
	ErrContractGlob      = &ContractError{"the glob is longer than 1024 bytes"}
	ErrContractShards    = &ContractError{"SHARDS must be auto or a number from 1 to 1024"}
	ErrContractStaleness = &ContractError{"STALENESS must be from 0 to 3600000 milliseconds"}
	ErrContractRange     = &ContractError{"MIN is greater than MAX"}
	ErrContractRelaxed   = &ContractError{"REPLIES relaxed cannot keep a range: with MIN or MAX " +
		"replies are exact"}
	ErrContractTally = &ContractError{"REPLIES relaxed cannot keep a tally: with TALLY replies " +
		"are exact"}
	ErrContractStriped = &ContractError{"a counter with MIN, MAX or TALLY is never striped: leave " +
		"SHARDS out"}
	ErrContractDurability = &ContractError{"DURABILITY needs a log, and the server keeps none " +
		"(appendonly no)"}
	ErrTooManyContracts = &ContractError{"there are 1024 contracts already, the most there can be"}
	// ErrContractFixed: it would be back after a restart.
	ErrContractFixed = &ContractError{"the contract of this glob comes from the configuration: " +
		"change it there"}
)

// Check returns nil where the contract can be kept, by an engine that has a log or one that has none
// (FsyncOff), else a *ContractError.
func (c *Contract) Check(logged bool) error {
	locked := c.HasMin || c.HasMax || c.Tally // incremented under the partition's lock
	switch {
	case len(c.Glob) > MaxGlobBytes:
		return ErrContractGlob
	case c.Shards < 0 || c.Shards > MaxShards:
		return ErrContractShards
	case c.StalenessMs < 0 || c.StalenessMs > MaxStalenessMs:
		return ErrContractStaleness
	case c.HasMin && c.HasMax && c.Min > c.Max:
		return ErrContractRange
	case c.Replies == RepliesRelaxed && c.bounded():
		return ErrContractRelaxed
	case c.Replies == RepliesRelaxed && c.Tally:
		return ErrContractTally
	case c.Shards > 1 && locked:
		return ErrContractStriped
	case c.Durability != FsyncOff && !logged:
		return ErrContractDurability
	}
	return nil
}

// bounded reports whether there is a range to keep.
func (c *Contract) bounded() bool { return c != nil && (c.HasMin || c.HasMax) }

// leaves reports whether an increment by delta, which came to sum, leaves the range of c, which may be
// nil. It is looked at in its direction: none upwards may end above Max, none downwards below Min. So a
// counter that is outside, because it was there before its contract or because 0 is not in the range,
// may come nearer to it, not go further away nor past it.
func (c *Contract) leaves(sum, delta int64) bool {
	return c != nil && (delta > 0 && c.HasMax && sum > c.Max || delta < 0 && c.HasMin && sum < c.Min)
}

// admits returns nil where val may be made the value of a key under c, which may be nil, whatever the
// command; else ErrOutOfRange.
func (c *Contract) admits(val []byte) error {
	if !c.bounded() {
		return nil
	}
	if n, ok := ParseInt(val); !ok || !c.allows(n) {
		return ErrOutOfRange
	}
	return nil
}

// admitsSketch is admits for a HyperLogLog, which is no integer.
func (c *Contract) admitsSketch() error {
	if c.bounded() {
		return ErrOutOfRange
	}
	return nil
}

// allows reports whether the range of c, which may be nil, has v in it.
func (c *Contract) allows(v int64) bool {
	if c == nil {
		return true
	}
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	if c.HasMin {
		lo = c.Min
	}
	if c.HasMax {
		hi = c.Max
	}
	return lo <= v && v <= hi
}

// alone reports whether increments must be looked at one by one: a Hot could not refuse one that leaves
// the range, nor keep ups and downs apart.
func (c *Contract) alone() bool { return c.bounded() || c != nil && c.Tally }
