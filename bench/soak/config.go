package soak

import (
	"errors"
	"fmt"
	"time"
)

// Bounds of a Config.
const (
	MaxKeys    = 100_000_000
	MaxWriters = 1024
	MaxDepth   = 1024
)

// Config is what a soak is made of.
type Config struct {
	Binary    string // path of countd
	Checker   string // runs "check DIR" in the end; Binary where it is empty
	Dir       string // of the data and the server's log; must be there and empty
	Args      []string
	Duration  time.Duration // load, restarts and comparisons together
	KillEvery time.Duration // how long a server runs under load
	EarlyKill bool          // every third restart is killed once while it starts
	Keys      int           // counters
	Writers   int           // connections, each with its share of the keys
	Depth     int           // most commands that a connection sends at once
	ZipfS     float64       // the k-th key of a writer is drawn in proportion to 1/k^ZipfS
	MaxTTL    time.Duration // of a SET; most live at most 4 seconds
	MaxMemory string        // --maxmemory
	Fsync     string        // --appendfsync: always or everysec
	LoseSlack time.Duration // how far above a second everysec may lose
	Seed      uint64
}

// Defaults is a million counters, of which a tenth fits in memory.
func Defaults() Config {
	return Config{Duration: 2 * time.Minute, KillEvery: 30 * time.Second, EarlyKill: true, Keys: 1_000_000,
		Writers: 8, Depth: 64, ZipfS: 0.99, MaxTTL: 15 * time.Second, MaxMemory: "8mb", Fsync: "always",
		LoseSlack: time.Second, Seed: uint64(time.Now().UnixNano())}
}

// Check refuses what cannot be run.
func (c *Config) Check() error {
	switch {
	case c.Duration <= 0 || c.KillEvery <= 0:
		return errors.New("a time must be above 0")
	case c.Duration > 48*24*time.Hour:
		return errors.New("the longest soak is 48 days")
	case c.Writers < 1 || c.Writers > MaxWriters:
		return fmt.Errorf("%d writers: must be between 1 and %d", c.Writers, MaxWriters)
	case c.Keys < c.Writers || c.Keys > MaxKeys:
		return fmt.Errorf("%d keys: must be between the writers, %d, and %d", c.Keys, c.Writers, MaxKeys)
	case c.Depth < 1 || c.Depth > MaxDepth:
		return fmt.Errorf("a depth of %d: must be between 1 and %d", c.Depth, MaxDepth)
	case c.ZipfS <= 0 || c.ZipfS > 10:
		return fmt.Errorf("an exponent of %v: must be above 0 and at most 10", c.ZipfS)
	case c.MaxTTL < time.Second || c.MaxTTL > time.Hour:
		return fmt.Errorf("a time to live of %v: must be between a second and an hour", c.MaxTTL)
	case c.Fsync != "always" && c.Fsync != "everysec":
		return fmt.Errorf("appendfsync %s: must be always or everysec", c.Fsync)
	case c.LoseSlack < 0 || c.LoseSlack > time.Minute:
		return fmt.Errorf("a slack of %v: must be between 0 and a minute", c.LoseSlack)
	case millis(c.KillEvery/time.Millisecond) <= c.mayLose():
		return fmt.Errorf("a kill every %v leaves nothing that %s must not lose", c.KillEvery, c.Fsync)
	}
	return nil
}

// mayLose is how old an acknowledged command may be that a crash loses.
func (c *Config) mayLose() millis {
	if c.Fsync == "always" {
		return 0
	}
	return millis((time.Second + c.LoseSlack) / time.Millisecond)
}

// args are the server's.
func (c *Config) args() []string {
	return append([]string{"--appendfsync", c.Fsync, "--maxmemory", c.MaxMemory}, c.Args...)
}
