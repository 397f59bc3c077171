package server

import (
	"io"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"countd/engine"
)

// A fakeLoop is a poller without connections.
type fakeLoop struct {
	tasks chan func()
}

func newFakeLoop(t testing.TB) *fakeLoop {
	l := &fakeLoop{tasks: make(chan func(), 1<<16)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for task := range l.tasks {
			task()
		}
	}()
	t.Cleanup(func() { close(l.tasks); <-done })
	return l
}

func (l *fakeLoop) post(task func())             { l.tasks <- task }
func (l *fakeLoop) later(task func())            { l.post(task) }
func (l *fakeLoop) close(*Session)               { panic("not used") }
func (l *fakeLoop) readAgain(*Session)           { panic("not used") }
func (l *fakeLoop) detach(*Session) (int, error) { panic("not used") }

// do runs fn in the loop and waits for it.
func (l *fakeLoop) do(fn func()) {
	done := make(chan struct{})
	l.post(func() {
		fn()
		close(done)
	})
	<-done
}

// A fakeCommitter commits as the engine does, epochs without data, in random time.
type fakeCommitter struct {
	lead           sync.Mutex
	epoch, durable atomic.Uint64
	promised       atomic.Uint64
	kicked         atomic.Bool
	syncing        atomic.Bool // beside; written under lead
	syncs          sync.WaitGroup
	policy         atomic.Int32
	inPlace        func() bool
	err            atomic.Pointer[error]
	kick           chan struct{}
	hook           func()
	commits        atomic.Int64
}

func (c *fakeCommitter) Policy() engine.FsyncPolicy           { return engine.FsyncPolicy(c.policy.Load()) }
func (c *fakeCommitter) SetPolicy(p engine.FsyncPolicy) error { c.policy.Store(int32(p)); return nil }
func (c *fakeCommitter) Durable() engine.Epoch                { return engine.Epoch(c.durable.Load()) }
func (c *fakeCommitter) CommitInPlace() bool                  { return c.inPlace() }

func (c *fakeCommitter) Err() error {
	if err := c.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (c *fakeCommitter) setErr(err error) {
	if err == nil {
		c.err.Store(nil)
		return
	}
	c.err.Store(&err)
}

func (c *fakeCommitter) commitLocked() bool {
	if c.Err() != nil {
		return false
	}
	closed := c.epoch.Add(1) - 1
	if rand.IntN(2) == 0 {
		time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
	}
	c.durable.Store(closed)
	c.commits.Add(1)
	return true
}

func (c *fakeCommitter) TryCommit() bool {
	if !c.lead.TryLock() {
		return false
	}
	ok := c.commitLocked()
	c.lead.Unlock()
	if !ok {
		c.hook()
	}
	return ok
}

func (c *fakeCommitter) Commit(engine.Epoch) error {
	c.lead.Lock()
	c.commitLocked()
	c.lead.Unlock()
	c.hook()
	return c.Err()
}

// flush is what the engine's flusher does where not all keys wait: it promises a sync and leaves it to
// another goroutine.
func (c *fakeCommitter) flush() {
	c.lead.Lock()
	defer c.lead.Unlock()
	c.flushLocked()
}

func (c *fakeCommitter) flushLocked() {
	if c.Err() != nil {
		return
	}
	c.promised.Store(c.epoch.Add(1) - 1)
	if !c.syncing.Load() {
		c.beginSync()
	}
}

func (c *fakeCommitter) beginSync() {
	c.syncing.Store(true)
	covered := c.promised.Load()
	c.syncs.Go(func() {
		if rand.IntN(2) == 0 {
			time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
		}
		c.lead.Lock()
		c.durable.Store(max(c.durable.Load(), covered))
		c.syncing.Store(false)
		if c.kicked.Swap(false) {
			c.flushLocked()
		} else if c.promised.Load() > c.durable.Load() {
			c.beginSync()
		}
		c.commits.Add(1)
		c.lead.Unlock()
		c.hook()
	})
}

func (c *fakeCommitter) KickCommit(epoch engine.Epoch) {
	if engine.Epoch(c.promised.Load()) >= epoch {
		return
	}
	c.kicked.Store(true)
	if c.syncing.Load() {
		return
	}
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// heldRig is a server of fake loops over a fake committer, without a tick that would wake the loops.
type heldRig struct {
	srv   *Server
	c     *fakeCommitter
	loops []*loop
	fakes []*fakeLoop
}

func newHeldRig(t *testing.T, loops int, inPlace func() bool) *heldRig {
	c := &fakeCommitter{inPlace: inPlace, kick: make(chan struct{}, 1)}
	c.epoch.Store(1)
	c.policy.Store(int32(engine.FsyncAlways))
	srv := newServer(Options{})
	srv.durable, srv.nowMs = c, func() int64 { return time.Now().UnixMilli() }
	c.hook = srv.wakeLoops
	rig := &heldRig{srv: srv, c: c}
	for range loops {
		fake := newFakeLoop(t)
		rig.fakes = append(rig.fakes, fake)
		rig.loops = append(rig.loops, srv.addLoop(fake))
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { // the engine's flusher
		defer close(done)
		for {
			select {
			case <-c.kick:
				c.kicked.Store(false)
				if c.Policy() == engine.FsyncAlways {
					_ = c.Commit(0)
				} else {
					c.flush()
				}
			case <-stop:
				return
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-done; c.syncs.Wait() }) // before the loops end
	return rig
}

// session adds a session whose replies vanish.
func (rig *heldRig) session(t *testing.T, i int) *Session {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	client := os.NewFile(uintptr(ends[1]), "client")
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(io.Discard, client)
	}()
	t.Cleanup(func() { closeFd(ends[0]); <-read; _ = client.Close() })
	s := rig.srv.newSession()
	s.fd = ends[0]
	rig.fakes[i].do(func() { rig.loops[i].add(s) })
	return s
}

// turn makes a reply that saw the present epoch of a key that waits.
func (rig *heldRig) turn(i int, s *Session) {
	rig.fakes[i].do(func() {
		s.op.Seen = engine.Epoch(rig.c.epoch.Load())
		s.out = append(s.out, "+OK\r\n"...)
		rig.loops[i].settleTurn(s)
	})
}

// reply makes a reply that saw no more than the session had seen before.
func (rig *heldRig) reply(i int, s *Session) {
	rig.fakes[i].do(func() {
		s.out = append(s.out, "+OK\r\n"...)
		rig.loops[i].settleTurn(s)
	})
}

func (rig *heldRig) commits(i int) (yes bool) {
	rig.fakes[i].do(func() { yes = rig.loops[i].commits() })
	return yes
}

// pending is how many bytes of replies are held.
func (rig *heldRig) pending(i int, s *Session) (n int) {
	rig.fakes[i].do(func() { n = len(s.out) })
	return n
}

// TestNoWakeupIsLost lets sessions of several loops write and wait for their replies. Nothing but
// commits wakes a loop, so that a lost wake-up shows as a session that waits for ever.
func TestNoWakeupIsLost(t *testing.T) {
	never := func() bool { return false }
	either := func() bool { return rand.IntN(2) == 0 }
	for name, c := range map[string]struct {
		policy  engine.FsyncPolicy
		inPlace func() bool
	}{
		"in place":          {engine.FsyncAlways, func() bool { return true }},
		"by flusher":        {engine.FsyncAlways, never},
		"both":              {engine.FsyncAlways, either},
		"beside":            {engine.FsyncEverySec, never},
		"beside, then both": {engine.FsyncEverySec, either},
	} {
		t.Run(name, func(t *testing.T) {
			rig := newHeldRig(t, 3, c.inPlace)
			rig.c.policy.Store(int32(c.policy))
			var clients sync.WaitGroup
			for i := range rig.loops {
				for range 4 {
					s := rig.session(t, i)
					clients.Add(1)
					go func() {
						defer clients.Done()
						for range 300 {
							rig.turn(i, s)
							deadline := time.Now().Add(patience)
							for rig.pending(i, s) > 0 {
								if time.Now().After(deadline) {
									t.Errorf("loop %d: a reply is held for ever: need %d, durable %d",
										i, rig.loops[i].need.Load(), rig.c.Durable())
									return
								}
								time.Sleep(50 * time.Microsecond)
							}
							if seen := s.op.Seen; rig.c.Durable() < seen {
								t.Errorf("a reply left that saw %d when %d was durable",
									seen, rig.c.Durable())
								return
							}
						}
					}()
				}
			}
			clients.Wait()
			for i, l := range rig.loops {
				rig.fakes[i].do(func() {
					if l.need.Load() != 0 || len(l.held) > 0 {
						t.Errorf("loop %d: need %d, %d held when all is done", i, l.need.Load(), len(l.held))
					}
				})
			}
		})
	}
}

// TestBusyClientGetsReplies: a client that never stops writing gets its replies nevertheless, each as
// soon as its epoch is durable.
func TestBusyClientGetsReplies(t *testing.T) {
	rig := newHeldRig(t, 1, func() bool { return false })
	s := rig.session(t, 0)
	rig.c.lead.Lock() // a commit that takes long; the flusher waits behind it
	rig.turn(0, s)
	rig.turn(0, s)
	rig.c.epoch.Add(1)
	rig.turn(0, s)
	if n := rig.pending(0, s); n != 15 {
		t.Fatalf("%d bytes held, want 15", n)
	}
	rig.c.durable.Store(1)
	rig.srv.wakeLoops()
	rig.fakes[0].do(func() {}) // behind the task that wakeLoops posted
	if n := rig.pending(0, s); n != 5 {
		t.Errorf("%d bytes held, want 5: the reply of the epoch that is not durable", n)
	}
	rig.c.lead.Unlock()
	waitFor(t, "the last reply", func() bool { return rig.pending(0, s) == 0 })
}

// TestHeldRepliesOutlastThePolicy: what was held under always leaves when it is durable, though the
// policy is another by then.
func TestHeldRepliesOutlastThePolicy(t *testing.T) {
	rig := newHeldRig(t, 1, func() bool { return false })
	s := rig.session(t, 0)
	rig.c.lead.Lock()
	rig.turn(0, s)
	if err := rig.srv.setFsync("no"); err != nil {
		t.Fatal(err)
	}
	rig.fakes[0].do(func() {})
	if rig.pending(0, s) == 0 {
		t.Fatal("the reply left")
	}
	rig.c.lead.Unlock()
	waitFor(t, "the reply", func() bool { return rig.pending(0, s) == 0 })
}

// TestOnlyWhatWaitsIsHeld: a reply that waits holds those behind it on its connection. Another
// connection's, which saw no key that waits, leave at once, while the sync takes as long as it will;
// and nobody commits for them.
func TestOnlyWhatWaitsIsHeld(t *testing.T) {
	for _, policy := range []engine.FsyncPolicy{engine.FsyncEverySec, engine.FsyncNo} {
		rig := newHeldRig(t, 1, func() bool { return false })
		rig.c.policy.Store(int32(policy))
		waits, other := rig.session(t, 0), rig.session(t, 0)
		rig.reply(0, other)
		if n := rig.pending(0, other); n != 0 || rig.c.commits.Load()+int64(len(rig.c.kick)) != 0 {
			t.Fatalf("%d bytes are held, %d commits, without a key that waits", n, rig.c.commits.Load())
		}
		if rig.commits(0) {
			t.Error("a loop without held replies is not to nap")
		}
		rig.c.lead.Lock() // a sync that does not end
		rig.turn(0, waits)
		if !rig.commits(0) {
			t.Error("a loop with held replies is to nap")
		}
		rig.reply(0, waits) // of a key that does not wait
		rig.reply(0, other)
		if n := rig.pending(0, other); n != 0 {
			t.Errorf("%d bytes of another connection are held", n)
		}
		if n := rig.pending(0, waits); n != 10 {
			t.Errorf("%d bytes are held, want both replies", n)
		}
		rig.c.lead.Unlock()
		waitFor(t, "the replies", func() bool { return rig.pending(0, waits) == 0 })
		rig.reply(0, waits) // what it once saw is durable
		if n := rig.pending(0, waits); n != 0 {
			t.Errorf("%d bytes are held of what is durable", n)
		}
	}
}

func TestFullDiskHoldsFailedSyncCloses(t *testing.T) {
	rig := newHeldRig(t, 2, func() bool { return true })
	a, b := rig.session(t, 0), rig.session(t, 1)
	rig.c.setErr(engine.ErrDiskFull)
	rig.turn(0, a)
	rig.turn(1, b)
	time.Sleep(5 * time.Millisecond)
	if rig.pending(0, a) == 0 || rig.pending(1, b) == 0 {
		t.Fatal("a reply left while the disk was full")
	}
	if n := len(rig.fakes[0].tasks) + len(rig.fakes[1].tasks); n > 4 {
		t.Errorf("%d tasks: the loops keep waking each other", n)
	}
	rig.c.setErr(nil)
	rig.c.KickCommit(math.MaxUint64) // as the engine's flusher does by itself
	waitFor(t, "replies after the disk has space", func() bool {
		return rig.pending(0, a) == 0 && rig.pending(1, b) == 0
	})

	rig.c.lead.Lock()
	rig.turn(0, a)
	rig.c.setErr(engine.ErrSyncFailed)
	rig.c.lead.Unlock()
	rig.srv.wakeLoops()
	waitFor(t, "the connection to close", func() (gone bool) {
		rig.fakes[0].do(func() { gone = a.gone })
		return gone
	})
	rig.fakes[1].do(func() {
		if b.gone {
			t.Error("a connection without held replies was closed")
		}
	})
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
