package engine

import (
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// clock gives out the instants of commands and of expiry. It is the wall clock as long as that runs
// forwards, also where it leaps. It never runs backwards, also across a restart, since every flush
// carries its reading: nothing that was reported expired comes back. Where the wall clock is behind the
// latest instant, it goes on by the monotonic clock until the wall clock has caught up: so a time to
// live is real time then, too, and where the wall clock was set back by mistake and is set right, what
// was written meanwhile has aged by no more than has passed.
//
// Instants that clients name, or are told, are the wall clock's: instant and toWall translate, by how
// far the clock is ahead of it.
type clock struct {
	last  atomic.Int64 // latest instant given out; whoever stores a later one publishes it to all
	ahead atomic.Int64 // of the wall clock, in ms; 0: it is the wall clock

	wall, mono func() int64 // in ms; mono from any instant on

	mu     sync.Mutex
	offset int64 // while ahead is not 0: the clock is mono + offset; guarded by mu

	watch clockWatch
}

// clockSlackMs is how far the wall clock may be behind without more ado: the clock stands still until it
// has caught up. The wall clock is set by such steps now and then.
const clockSlackMs = 1000

// now returns the instant in Unix milliseconds.
func (c *clock) now() int64 {
	w := c.wall()
	for {
		l := c.last.Load()
		switch {
		case c.ahead.Load() != 0 || l-w > clockSlackMs:
			return c.nowAhead()
		case w <= l:
			return l
		case c.last.CompareAndSwap(l, w):
			return w
		}
	}
}

// nowAhead is now where the wall clock is behind, or was until now.
func (c *clock) nowAhead() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, m, l := c.wall(), c.mono(), c.last.Load()
	if c.ahead.Load() == 0 {
		c.offset = l - m
	}
	at := max(l, m+c.offset)
	switch ahead := at - w; {
	case ahead <= 0:
		c.ahead.Store(0)
		at = w
	case c.ahead.Load() == 0 && ahead <= clockSlackMs: // it has caught up meanwhile
	case max(ahead-c.ahead.Load(), c.ahead.Load()-ahead) > clockSlackMs: // else it is the same
		c.ahead.Store(ahead)
	}
	c.advance(at)
	return at
}

// advance makes sure that no earlier instant than ms is given out.
func (c *clock) advance(ms int64) {
	for l := c.last.Load(); ms > l && !c.last.CompareAndSwap(l, ms); l = c.last.Load() {
	}
}

// instant is when the wall clock will show wallMs, as far as is known now.
func (c *clock) instant(wallMs int64) int64 {
	ahead := c.ahead.Load()
	return min(wallMs, math.MaxInt64-ahead) + ahead
}

// toWall is what the wall clock will show at an instant.
func (c *clock) toWall(ms int64) int64 { return ms - c.ahead.Load() }

// clockWatch is what check has seen; one goroutine uses it.
type clockWatch struct {
	began, warned bool
	offset        int64 // wall - mono
}

// clockJumpMs is from when on a step of the wall clock is reported.
const clockJumpMs = 5000

// check reports where the wall clock was set, and where it is behind the clock. It is called several
// times a second.
func (c *clock) check(log *slog.Logger) {
	c.now()
	k := &c.watch
	offset := c.wall() - c.mono()
	if by := offset - k.offset; k.began && max(by, -by) > clockJumpMs {
		log.Warn("the wall clock was set", "by_ms", by)
	}
	k.began, k.offset = true, offset
	ahead := c.ahead.Load()
	switch behind := ahead > clockJumpMs; {
	case behind && !k.warned:
		k.warned = true
		log.Warn("the wall clock is behind an instant that was used before; expiry goes on from there by "+
			"the monotonic clock", "behind_ms", ahead)
	case ahead == 0 && k.warned:
		k.warned = false
		log.Info("the wall clock has caught up")
	}
}

func wallClockMs() int64 { return time.Now().UnixMilli() }

func monotonicMs() int64 { return time.Since(started).Milliseconds() }

// NowMs is the engine's clock in Unix milliseconds.
func (e *Engine) NowMs() int64 { return e.clock.now() }

// Instant is the instant of the engine's clock at which the wall clock will show wallMs. The two differ
// where the wall clock was set back, or is behind what a data directory has seen.
func (e *Engine) Instant(wallMs int64) int64 { return e.clock.instant(wallMs) }

// WallMs is the contrary of Instant.
func (e *Engine) WallMs(ms int64) int64 { return e.clock.toWall(ms) }

// ClockAheadMs is how far the engine's clock is ahead of the wall clock; 0 as a rule.
func (e *Engine) ClockAheadMs() int64 { return e.clock.ahead.Load() }
