package hotkeys

import (
	"fmt"
	"time"

	"countd/sketch"
)

// Config says which keys are hot and how closely the detector looks. Rates are commands per second,
// over all loops, in a sliding window.
type Config struct {
	// Off: nothing is sampled, and what is hot is demoted.
	Off bool
	// PromoteRate is the rate from which a key is promoted, DemoteRate the one below which a
	// promoted key cools.
	PromoteRate, DemoteRate float64
	// Share is the least share of all commands that a key must have to be promoted, 0 to 1. To stay
	// warm it needs as much of it as DemoteRate is of PromoteRate.
	Share float64
	// Window is over how long a rate is taken, Tick how often Detector.Tick is called.
	Window, Tick time.Duration
	// Hold is how long a key must have been below DemoteRate before it is demoted.
	Hold time.Duration
	// Samples is how many samples a loop takes per second, about.
	Samples int
	// Entries is the size of a loop's Space-Saving sketch, which covers one tick.
	Entries int
	// MaxHot bounds the promoted keys.
	MaxHot int
}

// The bounds of a Config.
const (
	MaxRate    = 1e12
	MinTick    = time.Millisecond
	MaxWindow  = time.Hour
	MaxTicks   = 64 // of a window
	MinSamples = 1024
	MaxSamples = 1 << 24
	MinEntries = 16
	MaxEntries = 1 << 14
	MaxMaxHot  = 1 << 16
)

// DefaultConfig returns the defaults; ARCHITECTURE.md says where they come from.
func DefaultConfig() Config {
	return Config{
		PromoteRate: 10_000,
		DemoteRate:  2_500,
		Share:       0.01,
		Window:      time.Second,
		Tick:        250 * time.Millisecond,
		Hold:        10 * time.Second,
		Samples:     1 << 16,
		Entries:     512,
		MaxHot:      256,
	}
}

// Validate returns what is wrong with c, and what to do.
func (c Config) Validate() error {
	switch {
	case !(c.PromoteRate >= 1 && c.PromoteRate <= MaxRate):
		return fmt.Errorf("hotkeys: promote rate %v: give 1 to %v commands per second", c.PromoteRate, MaxRate)
	case !(c.DemoteRate > 0 && c.DemoteRate <= c.PromoteRate):
		return fmt.Errorf("hotkeys: demote rate %v: give more than 0 and at most the promote rate, %v;"+
			" a quarter of it keeps keys from flapping", c.DemoteRate, c.PromoteRate)
	case !(c.Share >= 0 && c.Share <= 1):
		return fmt.Errorf("hotkeys: share %v: give 0 to 1, such as 0.01 for one command in a hundred", c.Share)
	case c.Tick < MinTick:
		return fmt.Errorf("hotkeys: tick %v: give at least %v", c.Tick, MinTick)
	case c.Window < c.Tick || c.Window > MaxWindow:
		return fmt.Errorf("hotkeys: window %v: give at least the tick, %v, and at most %v",
			c.Window, c.Tick, MaxWindow)
	case c.Window > MaxTicks*c.Tick:
		return fmt.Errorf("hotkeys: window %v has more than %d ticks of %v: make the tick longer",
			c.Window, MaxTicks, c.Tick)
	case c.Hold < 0:
		return fmt.Errorf("hotkeys: hold %v: give 0 or more", c.Hold)
	case c.Samples < MinSamples || c.Samples > MaxSamples:
		return fmt.Errorf("hotkeys: %d samples: give %d to %d per second", c.Samples, MinSamples, MaxSamples)
	case c.Entries < MinEntries || c.Entries > min(MaxEntries, sketch.MaxEntries):
		return fmt.Errorf("hotkeys: %d entries: give %d to %d", c.Entries, MinEntries, MaxEntries)
	case c.MaxHot < 1 || c.MaxHot > MaxMaxHot:
		return fmt.Errorf("hotkeys: at most %d hot keys: give 1 to %d, or turn the detector off",
			c.MaxHot, MaxMaxHot)
	}
	return nil
}

// demoteShare is the share of all commands below which a promoted key cools.
func (c *Config) demoteShare() float64 { return c.Share * c.DemoteRate / c.PromoteRate }

// tickBudget is how many samples a loop takes in a tick.
func (c *Config) tickBudget() int {
	return max(int(float64(c.Samples)*c.Tick.Seconds()), 64)
}
