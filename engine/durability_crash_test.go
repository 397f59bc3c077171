package engine

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

var mixedKeys = map[string]FsyncPolicy{
	"always:*": FsyncAlways, "everysec:*": FsyncEverySec, "no:*": FsyncNo,
}

// A waiter waits for the disk as the server's loops do: it kicks the flusher and looks again when the
// hook runs. One is enough for all goroutines of a test.
type waiter struct {
	e  *Engine
	mu sync.Mutex
	c  *sync.Cond
}

func newWaiter(e *Engine) *waiter {
	w := &waiter{e: e}
	w.c = sync.NewCond(&w.mu)
	e.OnCommit(func() { // after the lock no waiter is between its look and its wait
		w.mu.Lock()
		defer w.mu.Unlock()
		w.c.Broadcast()
	})
	return w
}

// wait returns when what op waits for is durable, or with why it may never be.
func (w *waiter) wait(op *Op) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.e.Durable() < op.Seen {
		if err := w.e.Err(); err != nil {
			return err
		}
		w.e.KickCommit(op.Seen)
		w.c.Wait()
	}
	return nil
}

// openWith opens an engine with mixedKeys.
func openWith(t *testing.T, fs vfs.FS, p FsyncPolicy, more func(o *Options)) (*Engine, *waiter) {
	t.Helper()
	o := faultOptions(fs, nil)
	o.Policy = p
	more(&o)
	e, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	w := newWaiter(e)
	setDurabilities(t, e, mixedKeys)
	return e, w
}

// TestAKeyThatWaitsSurvivesACrash: each writer increments a key before, one that waits, and one after,
// and goes on when the one that waits is durable; they are hot by turns. After a crash at any moment
// what was acknowledged of the one that waits is there, under every policy, and no key is ahead of one
// that was incremented before it.
func TestAKeyThatWaitsSurvivesACrash(t *testing.T) {
	for _, policy := range []FsyncPolicy{FsyncNo, FsyncEverySec, FsyncAlways} {
		t.Run(fmt.Sprint("policy ", policy), func(t *testing.T) {
			mem := newCrashFS()
			e, w := openWith(t, mem, policy, func(o *Options) { o.FlushInterval = 3 * time.Millisecond })
			const writers = 3
			var acked [writers]atomic.Int64
			var writer [writers]*Writer
			for i := range writer {
				writer[i] = e.NewWriter()
			}
			var stop atomic.Bool
			var wg sync.WaitGroup
			for i := range writers {
				wg.Go(func() {
					op := Op{NowMs: e.NowMs(), Writer: writer[i]}
					for !stop.Load() {
						_, err1 := e.IncrBy(&op, fmt.Append(nil, "no:before", i), 1)
						n, err2 := e.IncrBy(&op, fmt.Append(nil, "always:", i), 1)
						_, err3 := e.IncrBy(&op, fmt.Append(nil, "everysec:after", i), 1)
						if err := errors.Join(err1, err2, err3, w.wait(&op)); err != nil {
							t.Error(err)
							return
						}
						acked[i].Store(n)
					}
				})
			}
			hot := 0
			for round := range 16 {
				time.Sleep(10 * time.Millisecond)
				for i := range writers { // all that can be hot, one after the other, at once
					for bit, name := range []string{"no:before", "always:", "everysec:after"} {
						key := fmt.Append(nil, name, i)
						if round>>bit&1 == 0 {
							e.demote(0, key)
						} else if e.promote(0, key) {
							hot++
						}
					}
				}
				var before [writers]int64
				for i := range writers {
					before[i] = acked[i].Load()
				}
				c := openPolicy(t, mem.clone(vfs.CrashCloneCfg{}), policy)
				for i := range writers {
					x, y, z := getInt(t, c, fmt.Sprint("no:before", i)), getInt(t, c, fmt.Sprint("always:", i)),
						getInt(t, c, fmt.Sprint("everysec:after", i))
					if y < before[i] || x < y || y < z || x > z+1 {
						t.Fatalf("writer %d: %d, %d, %d came back, %d acknowledged", i, x, y, z, before[i])
					}
				}
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
			}
			waitUntil(t, func() bool { return acked[0].Load() > 0 && (hot > 0 || e.promote(0, []byte("always:0"))) })
			stop.Store(true)
			wg.Wait()
			t.Logf("%d increments acknowledged by the first writer", acked[0].Load())
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestAKeyThatDoesNotWaitIsNotSynced: its write waits for nothing. It is written by the timer's flush,
// and synced by that where the key or the server is everysec.
func TestAKeyThatDoesNotWaitIsNotSynced(t *testing.T) {
	for _, c := range []struct {
		server FsyncPolicy
		key    map[string]FsyncPolicy
		synced bool
	}{
		{FsyncNo, nil, false},
		{FsyncNo, map[string]FsyncPolicy{"n": FsyncEverySec}, true},
		{FsyncNo, map[string]FsyncPolicy{"n": FsyncNo}, false},
		{FsyncEverySec, map[string]FsyncPolicy{"n": FsyncNo}, true},
		{FsyncAlways, map[string]FsyncPolicy{"n": FsyncEverySec}, true},
	} {
		mem := newCrashFS()
		e := openPolicy(t, mem, c.server)
		w := newWaiter(e)
		setDurabilities(t, e, c.key)
		if err := e.Commit(math.MaxUint64); err != nil {
			t.Fatal(err)
		}
		op := Op{NowMs: e.NowMs()}
		mustIncr(t, e, &op, "n", 1)
		if op.Seen != 0 {
			t.Errorf("%+v: the reply waits", c)
		}
		if got := readCount(t, mem.clone(vfs.CrashCloneCfg{})); got != 0 {
			t.Errorf("%+v: the write is synced at once", c)
		}
		flushOnce(t, e, false)
		if c.synced {
			w.mu.Lock()
			for e.Durable() < Epoch(e.written.Load()) {
				w.c.Wait()
			}
			w.mu.Unlock()
		}
		if got := readCount(t, mem.clone(vfs.CrashCloneCfg{})); (got == 1) != c.synced {
			t.Errorf("%+v: %d came back", c, got)
		}
		if d := e.Durable(); d >= Epoch(e.written.Load()) != c.synced {
			t.Errorf("%+v: durable is %d of %d", c, d, e.written.Load())
		}
		killed := vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 2))}
		if got := readCount(t, mem.clone(killed)); got != 1 {
			t.Errorf("%+v: not written", c)
		}
		if !e.TryCommit() || readCount(t, mem.clone(vfs.CrashCloneCfg{})) != 1 {
			t.Errorf("%+v: a loop's own commit does not sync", c)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func waitUntil(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain")
		}
	}
}

// TestAPromiseOutlastsItsPolicy: what was acknowledged under everysec is synced soon where the policy,
// or the key's contract, is no by then; and a reply that was held under always waits for its sync.
func TestAPromiseOutlastsItsPolicy(t *testing.T) {
	for name, c := range map[string]struct {
		before, after FsyncPolicy
		key           map[string]FsyncPolicy // of the key before
	}{
		"policy":   {FsyncEverySec, FsyncNo, nil},
		"contract": {FsyncNo, FsyncNo, map[string]FsyncPolicy{"n": FsyncEverySec}},
		"held":     {FsyncAlways, FsyncNo, nil},
	} {
		t.Run(name, func(t *testing.T) {
			mem := newCrashFS()
			e := openPolicy(t, mem, c.before)
			w := newWaiter(e)
			setDurabilities(t, e, c.key)
			if err := e.Commit(math.MaxUint64); err != nil {
				t.Fatal(err)
			}
			op := Op{NowMs: e.NowMs()}
			mustIncr(t, e, &op, "n", 1)
			if err := e.SetPolicy(c.after); err != nil {
				t.Fatal(err)
			}
			switch name {
			case "contract":
				setDurabilities(t, e, nil)
			case "held":
				if op.Seen == 0 {
					t.Fatal("the reply does not wait")
				}
				if err := w.wait(&op); err != nil {
					t.Fatal(err)
				}
			}
			waitUntil(t, func() bool { return readCount(t, mem.clone(vfs.CrashCloneCfg{})) == 1 })
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
