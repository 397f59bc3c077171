package engine

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"countd/shards"
)

const hourMs = 3600_000

// clocks are a wall clock and a monotonic one that tests set.
type clocks struct{ wall, mono atomic.Int64 }

func newClocks() *clocks {
	c := new(clocks)
	c.wall.Store(1_764_543_120_000)
	return c
}

// pass lets time pass; set sets the wall clock, by so much.
func (c *clocks) pass(ms int64) { c.wall.Add(ms); c.mono.Add(ms) }
func (c *clocks) set(ms int64)  { c.wall.Add(ms) }

func (c *clocks) options(fs vfs.FS, p FsyncPolicy) Options {
	return Options{
		Dir: "data", FS: fs, Policy: p, SegmentBytes: 16 << 10, MergeBytes: 1, FlushInterval: time.Hour,
		WallClockMs: c.wall.Load, MonotonicMs: c.mono.Load,
	}
}

// TestTheClockWhereTheWallClockIsSet: it follows the wall clock forwards, never goes back, and goes on
// meanwhile.
func TestTheClockWhereTheWallClockIsSet(t *testing.T) {
	const hour = hourMs
	var w clocks
	w.wall.Store(10 * hour)
	c := clock{wall: w.wall.Load, mono: w.mono.Load}
	for i, step := range []struct {
		pass, set   int64
		want, ahead int64 // want is since the start
	}{
		{0, 0, 0, 0},
		{5, 0, 5, 0},
		{0, -500, 5, 0},  // within the slack it stands still
		{400, 0, 5, 0},   //
		{200, 0, 105, 0}, // until the wall clock has caught up
		{0, hour, hour + 105, 0},
		{10, 0, hour + 115, 0},
		{0, -hour, hour + 115, hour}, // back by an hour
		{60_000, 0, hour + 60_115, hour},
		{0, 3, hour + 60_115, hour}, // within the slack that is no other step
		{0, -3, hour + 60_115, hour},
		{0, -2 * hour, hour + 60_115, 3 * hour},
		{1, 2 * hour, hour + 60_116, hour},
		{hour, 0, 2*hour + 60_116, hour},       // time does not catch up by passing
		{0, hour, 2*hour + 60_116, 0},          // but by another step
		{7, hour, 3*hour + 60_123, 0},          //
		{0, -hour, 3*hour + 60_123, hour},      // and once more
		{20 * hour, 0, 23*hour + 60_123, hour}, //
		{0, 2 * hour, 24*hour + 60_123, 0},     //
		{1000, -1001, 24*hour + 60_123, 0},     //
		{1000, -2001, 24*hour + 60_123, 1002},  // beyond the slack
		{1000, 0, 24*hour + 61_123, 1002},      //
		{0, 1003, 24*hour + 61_124, 0},         //
	} {
		w.pass(step.pass)
		w.set(step.set)
		got := c.now() - 10*hour
		if got != step.want || c.ahead.Load() != step.ahead {
			t.Errorf("step %d: %d, ahead %d; want %d, ahead %d", i, got, c.ahead.Load(), step.want, step.ahead)
		}
		now := 10*hour + got
		if at := c.instant(c.toWall(now)); at != now {
			t.Errorf("step %d: %d there and back is %d", i, now, at)
		}
	}
	c.ahead.Store(hour)
	if at := c.instant(math.MaxInt64 - 1); at != math.MaxInt64 {
		t.Errorf("the last instant of the wall clock is %d", at)
	}
}

// TestASetClockIsReported: each step once, and how far behind the wall clock is.
func TestASetClockIsReported(t *testing.T) {
	w := newClocks()
	c := clock{wall: w.wall.Load, mono: w.mono.Load}
	c.advance(w.wall.Load() + hourMs) // as after a restart
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(&text, nil))
	for _, step := range []struct {
		pass, set int64
		want      string // parts of what is logged, in order
	}{
		{0, 0, "behind_ms=3600000"},
		{100, 0, ""},
		{100, hourMs, "by_ms=3600000 caught up"},
		{hourMs, 0, ""},
		{100, -4000, ""},
		{5000, 0, ""},
		{100, -hourMs, "by_ms=-3600000 behind_ms="},
		{100, 0, ""},
	} {
		text.Reset()
		w.pass(step.pass)
		w.set(step.set)
		c.check(log)
		got := text.String()
		for _, part := range strings.Fields(step.want) {
			_, rest, ok := strings.Cut(got, part)
			if got = rest; !ok {
				t.Errorf("after %+v %q is missing in the log: %s", step, part, text.String())
			}
		}
		if step.want == "" && got != "" {
			t.Errorf("after %+v the log has %s", step, got)
		}
	}
}

// clockLife is an engine whose clocks are set, and what it runs on.
type clockLife struct {
	*clocks
	t  *testing.T
	e  *Engine
	fs *crashFS
	p  FsyncPolicy
	// onDisk has each entry be on disk alone whenever it is looked at; restart is what happens after each
	// step.
	onDisk  bool
	restart func(l *clockLife)
}

func (l *clockLife) open() {
	l.t.Helper()
	o := l.options(l.fs, l.p)
	o.noWarming = l.onDisk
	e, _, err := Open(o)
	if err != nil {
		l.t.Fatal(err)
	}
	l.e = e
}

func (l *clockLife) clean() {
	l.t.Helper()
	if err := l.e.Close(); err != nil {
		l.t.Fatal(err)
	}
	l.open()
}

// kill opens what is left of a process that was killed after a commit.
func (l *clockLife) kill() {
	l.t.Helper()
	if err := l.e.Commit(math.MaxUint64); err != nil {
		l.t.Fatal(err)
	}
	old := l.e
	l.fs = l.fs.clone(vfs.CrashCloneCfg{})
	l.open()
	_ = old.Close() // goes on with the file system that no longer counts
}

// backup restores a backup and opens that.
func (l *clockLife) backup() {
	l.t.Helper()
	made, err := l.e.Backup()
	if err != nil {
		l.t.Fatal(err)
	}
	if err := l.e.Close(); err != nil {
		l.t.Fatal(err)
	}
	if err := l.fs.Rename("data", "old"); err != nil {
		l.t.Fatal(err)
	}
	if _, err := Restore(strings.Replace(made, "data", "old", 1), "data", l.fs); err != nil {
		l.t.Fatal(err)
	}
	if err := l.fs.RemoveAll("old"); err != nil {
		l.t.Fatal(err)
	}
	l.open()
}

func (l *clockLife) op() *Op { return &Op{NowMs: l.e.NowMs()} }

func (l *clockLife) evict() {
	if l.onDisk {
		evictAll(l.t, l.e)
	}
}

// then lets time pass, sets the wall clock, and restarts where that is the life's way. The engine looks at
// its clock in between, as it does ten times a second.
func (l *clockLife) then(pass, set int64) {
	l.t.Helper()
	l.pass(pass)
	l.e.NowMs()
	l.evict()
	if l.restart != nil {
		l.setKey("tick", NoExpiry) // so that the last flush is of now
		l.set(set)
		l.restart(l)
	} else {
		l.set(set)
	}
	l.e.NowMs()
}

func (l *clockLife) setKey(key string, atMs int64) {
	l.t.Helper()
	if _, _, err := l.e.Set(l.op(), []byte(key), []byte("7"), SetOptions{ExpireAtMs: atMs}); err != nil {
		l.t.Fatal(err)
	}
	l.evict()
}

// setFor is SET with PX, setUntil with PXAT.
func (l *clockLife) setFor(key string, ms int64) { l.t.Helper(); l.setKey(key, l.op().NowMs+ms) }
func (l *clockLife) setUntil(key string, wallMs int64) {
	l.t.Helper()
	l.setKey(key, l.e.Instant(wallMs))
}

// lives checks that a key is there and has so long to live.
func (l *clockLife) lives(key string, ttl int64) {
	l.t.Helper()
	op := l.op()
	v, err := l.e.Get(op, []byte(key))
	if err != nil || !v.Exists {
		l.t.Fatalf("%s is gone: %v, %v", key, v, err)
	}
	at, _, err := l.e.ExpireAt(op, []byte(key))
	if err != nil || at-op.NowMs != ttl {
		l.t.Errorf("%s has %d ms to live, want %d (%v)", key, at-op.NowMs, ttl, err)
	}
	if !l.listed(key) {
		l.t.Errorf("%s is not listed", key)
	}
}

// gone checks that a key is not there, by a way of looking that does not delete it first.
func (l *clockLife) gone(key string) {
	l.t.Helper()
	if l.listed(key) {
		l.t.Errorf("%s has expired and is listed", key)
	}
	if v, err := l.e.Get(l.op(), []byte(key)); err != nil || v.Exists {
		l.t.Errorf("%s has expired and is there (%v)", key, err)
	}
	l.evict()
}

func (l *clockLife) listed(key string) (found bool) {
	l.t.Helper()
	if err := l.e.Keys(l.op(), func(k []byte) { found = found || string(k) == key }); err != nil {
		l.t.Fatal(err)
	}
	return found
}

// evictAll makes everything stored and takes it out of the table.
func evictAll(t *testing.T, e *Engine) {
	t.Helper()
	e.evict.began.Store(true)
	if e.anyListed() { // else there may be no need: many small merges wait for the store's compactions
		storeAll(t, e)
	}
	waitUntil(t, func() bool { // the engine's own search deletes what has expired, and so dirties it, meanwhile
		left := evictStored(e)
		if left > 0 {
			storeAll(t, e)
		}
		return left == 0
	})
}

// evictStored evicts what may be, and returns how many entries are left.
func evictStored(e *Engine) (left int) {
	e.eachTable(func(_ int, tab *shards.Table) {
		for part := range shards.Partitions {
			p := tab.Part(part)
			p.Lock()
			for range shards.EvictPasses {
				p.Evict()
			}
			left += p.Residents()
			p.Unlock()
		}
	})
	return left
}

// storeAll commits, and merges the log into the store. The engine must merge whatever was sealed.
func storeAll(t *testing.T, e *Engine) {
	t.Helper()
	e.commit.Lock()
	err := e.commitLocked(FsyncAlways)
	if err == nil {
		err = e.rotate()
	}
	e.commit.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool { return e.merge.job.Load() == nil })
}

// TestTheWallClockIsSet: back or forward by an hour, while the engine runs and across a restart, of which
// the last is from a backup. Nothing that was reported expired comes back, nothing young vanishes, and a
// time to live is real time.
func TestTheWallClockIsSet(t *testing.T) {
	for _, way := range []struct {
		name    string
		p       FsyncPolicy
		onDisk  bool
		restart func(*clockLife)
	}{
		{"in memory", FsyncOff, false, nil},
		{"running", FsyncAlways, false, nil},
		{"running, on disk", FsyncAlways, true, nil},
		{"restarted", FsyncEverySec, false, (*clockLife).clean},
		{"restarted, on disk", FsyncEverySec, true, (*clockLife).clean},
		{"killed", FsyncAlways, false, (*clockLife).kill},
		{"killed, on disk", FsyncAlways, true, (*clockLife).kill},
		{"restored", FsyncNo, true, (*clockLife).backup},
	} {
		t.Run(way.name, func(t *testing.T) {
			for name, scenario := range map[string]func(*clockLife){
				"back":                     setBack,
				"back and set right":       setBackAndRight,
				"forward":                  setForward,
				"forward and set right":    setForwardAndRight,
				"back while nobody looked": setBackUnseen,
			} {
				t.Run(name, func(t *testing.T) {
					l := &clockLife{clocks: newClocks(), t: t, fs: newCrashFS(), p: way.p, onDisk: way.onDisk,
						restart: way.restart}
					l.open()
					scenario(l)
					if err := l.e.Close(); err != nil {
						t.Fatal(err)
					}
				})
			}
		})
	}
}

func setBack(l *clockLife) {
	l.setFor("old", 60_000)
	l.setFor("long", 2*hourMs)
	l.then(61_000, 0)
	l.gone("old")
	l.then(0, -hourMs)
	l.gone("old")
	l.lives("long", 2*hourMs-61_000)
	wall := l.wall.Load()
	l.setFor("young", 60_000)
	l.setUntil("until", wall+60_000)
	l.setUntil("past", wall-1)
	l.gone("past")
	if at, _, err := l.e.ExpireAt(l.op(), []byte("until")); err != nil || l.e.WallMs(at) != wall+60_000 {
		l.t.Errorf("the expiry that was set is %d, off by %d (%v)", at, l.e.WallMs(at)-wall-60_000, err)
	}
	l.pass(59_000)
	l.lives("young", 1_000)
	l.lives("until", 1_000)
	l.pass(1_001)
	l.gone("young")
	l.gone("until")
	l.gone("old")
	l.lives("long", 2*hourMs-61_000-60_001)
}

func setBackAndRight(l *clockLife) {
	l.setFor("old", 60_000)
	l.then(61_000, 0)
	l.gone("old")
	l.then(0, -hourMs)
	l.pass(hourMs - 10_000) // nearly all of the hour that was set back
	l.setFor("young", 60_000)
	l.then(5_000, hourMs) // the hour comes back
	l.gone("old")
	l.lives("young", 55_000)
	l.pass(56_000)
	l.gone("young")
}

func setForward(l *clockLife) {
	l.setFor("old", 60_000)
	l.setFor("long", 2*hourMs)
	l.then(0, hourMs)
	l.gone("old") // as in Redis: the wall clock says so
	l.lives("long", hourMs)
	l.setFor("young", 60_000)
	l.then(59_000, 0)
	l.lives("young", 1_000)
}

func setForwardAndRight(l *clockLife) {
	l.setFor("old", 60_000)
	l.setFor("long", 2*hourMs)
	l.then(0, hourMs)
	l.gone("old")
	l.setFor("middle", 60_000)
	l.then(1_000, -hourMs)
	l.gone("old")
	l.lives("middle", 59_000)
	l.lives("long", hourMs-1_000)
	l.setFor("young", 60_000)
	l.pass(59_001)
	l.gone("middle")
	l.lives("young", 999)
	l.lives("long", hourMs-1_000-59_001)
	l.pass(1_000)
	l.gone("young")
}

// setBackUnseen is a short step within the slack, then one beyond it, with writes in between.
func setBackUnseen(l *clockLife) {
	l.setFor("old", 100)
	l.then(101, -900)
	l.gone("old")
	l.lives2("short", 100, 901)
	l.then(0, -hourMs)
	l.gone("old")
	l.setFor("young", 1)
	l.lives("young", 1)
	l.pass(2)
	l.gone("young")
}

// lives2 sets a key to live for ms and checks that it does, however long the clock stands still, at most for slack.
func (l *clockLife) lives2(key string, ms, slack int64) {
	l.t.Helper()
	l.setFor(key, ms)
	l.lives(key, ms)
	l.pass(ms + slack)
	l.gone(key)
}

// TestWhatWasPassedOverStaysGone: KEYS and SCAN pass over what has expired and delete nothing. When their
// reply leaves, what they did not name is gone for good: the wall clock is set back and the process killed.
func TestWhatWasPassedOverStaysGone(t *testing.T) {
	for _, onDisk := range []bool{false, true} {
		for name, look := range map[string]func(e *Engine, op *Op) error{
			"KEYS": func(e *Engine, op *Op) error { return e.Keys(op, func([]byte) {}) },
			"SCAN": func(e *Engine, op *Op) error {
				_, err := e.Scan(op, 0, 1000, func([]byte, Type) {})
				return err
			},
		} {
			t.Run(fmt.Sprintf("%s,onDisk=%v", name, onDisk), func(t *testing.T) {
				l := &clockLife{clocks: newClocks(), t: t, fs: newCrashFS(), p: FsyncAlways, onDisk: onDisk}
				l.open()
				l.setFor("old", 60_000)
				if err := l.e.Commit(math.MaxUint64); err != nil {
					t.Fatal(err)
				}
				l.pass(61_000)
				op := l.op()
				if err := look(l.e, op); err != nil {
					t.Fatal(err)
				}
				if err := l.e.Commit(op.Seen); err != nil {
					t.Fatal(err)
				}
				killed := l.e
				l.fs = l.fs.clone(vfs.CrashCloneCfg{})
				l.set(-hourMs)
				l.open()
				_ = killed.Close() // goes on with the file system that no longer counts
				l.gone("old")
				if err := l.e.Close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}
