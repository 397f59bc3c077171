package server

import (
	"errors"
	"sync/atomic"

	"countd/engine"
)

// A reply leaves only when everything that its session wrote or saw of keys whose durability is always
// is on disk; Op.Seen is the epoch to wait for, whatever the server's policy. Until then the session
// is held: at the end of the loop's turn the loop leads a commit for all of its held sessions, or
// waits for the one that another goroutine leads just now. Sessions that touched no such key are
// never held, nor is a loop that serves some: where there are both the engine's flusher commits, and
// the sync runs in a goroutine of its own. Replies of one turn leave together, so that what a pipeline
// asked before a key that waits may wait with it; what it asked behind it always does.
//
// That no wake-up is lost. A loop that has held replies
//
//  1. stores the epoch they wait for in need,
//  2. calls TryCommit with leading set, or KickCommit,
//  3. clears leading, and where TryCommit failed and poked is set, goes to 2,
//  4. looks at Durable, and lets go of what it covers.
//
// Whoever has led a commit, or a sync that ran beside, lets go of it first and then, for every loop
// whose need is not 0,
//
//  5. sets poked,
//  6. posts a settle task to the loop unless leading is set.
//
// All of these are sequentially consistent atomics. TryCommit fails only where another goroutine F
// leads at that moment, so F reaches 5 after the loop's 1 and sees its need. If F finds leading
// cleared in 6, it posts, and settle begins anew. If it finds it set, its 5 came before the loop's
// 3, which sees poked. Where F is the flusher and leaves the sync to a goroutine, F's part passes to
// that: it does 5 and 6 when the sync has ended. A loop whose own TryCommit succeeded needs no one:
// it looks at Durable again.
//
// KickCommit does nothing where a sync of that epoch has been promised: it runs, or waits for the
// one that runs, or has ended. The goroutine G that makes the epoch durable raises Durable and then
// does 5 and 6. If G looked at need before the loop's 1, Durable was raised before the loop's 4,
// which lets the replies go; else G sees the need and wakes the loop. Where nothing was promised a
// commit begins after the loop's 1, by the flusher, or by the goroutine of the sync that runs just now;
// whether it makes the epoch durable, promises it, only gets rid of a flush that was stuck, or fails:
// who led it, or its sync's goroutine, comes to 5 after 1.
//
// While the log refuses writes (the disk is full) loops do not try: the engine's flusher does, and
// wakes them when it succeeds. Else two loops whose commits fail would wake each other for ever.

// A committer is what the transport needs of the engine. See there for the contracts.
type committer interface {
	Policy() engine.FsyncPolicy
	SetPolicy(engine.FsyncPolicy) error
	Durable() engine.Epoch
	TryCommit() bool
	CommitInPlace() bool
	KickCommit(engine.Epoch)
	Commit(engine.Epoch) error
	Err() error
}

// commitState is the loop's side of the above. held is the loop's own.
type commitState struct {
	held  []*Session // sessions with marks, each once
	spare []*Session // empty; changes places with held

	settleTask func()

	need    atomic.Uint64 // published to whoever commits; 0 while nothing is held
	posted  atomic.Bool   // a settle task is in the loop's queue
	leading atomic.Bool
	poked   atomic.Bool
}

// A mark says that the replies in out[:end] may leave once seen is durable. Marks rise in both. A
// session has one per epoch, so that a client that never stops sending is not held for its latest
// write.
type mark struct {
	end  int
	seen engine.Epoch
}

// commits reports whether the loop's turns end with a commit, which gives clients time as it is, or
// with a look at one that is under way.
func (l *loop) commits() bool {
	d := l.srv.durable
	return d != nil && d.Policy() == engine.FsyncAlways || len(l.held) > 0
}

// mark notes what the replies now in s.out wait for.
func (l *loop) mark(s *Session) {
	n := len(s.marks)
	if n == 0 && s.op.Seen == 0 { // the session never saw a key that waits
		return
	}
	d := l.srv.durable
	switch {
	case n > 0 && s.marks[n-1].seen >= s.op.Seen:
		s.marks[n-1].end = len(s.out)
	case n > 0 || s.op.Seen > d.Durable():
		s.marks = append(s.marks, mark{len(s.out), s.op.Seen})
	}
}

// covered is how many bytes of s.out may leave now. It forgets the marks up to there.
func (l *loop) covered(s *Session) int {
	if len(s.marks) == 0 {
		return len(s.out)
	}
	n, i := 0, 0
	for durable := l.srv.durable.Durable(); i < len(s.marks) && s.marks[i].seen <= durable; i++ {
		n = s.marks[i].end
	}
	s.marks = s.marks[:copy(s.marks, s.marks[i:])]
	for j := range s.marks {
		s.marks[j].end -= n
	}
	return n
}

// waitsFor is the epoch that all of s's replies need, 0 where none waits.
func (l *loop) waitsFor(s *Session) engine.Epoch {
	if n := len(s.marks); n > 0 && !s.gone {
		return s.marks[n-1].seen
	}
	return 0
}

// hold puts a session that has marks on the list and sees that the turn ends with settle. The task
// runs after the connections that are ready now, so that one sync serves them all.
func (l *loop) hold(s *Session) {
	if !s.inHeld {
		s.inHeld = true
		l.held = append(l.held, s)
	}
	if !l.leading.Load() {
		l.postSettle()
	}
}

func (l *loop) postSettle() {
	if l.posted.CompareAndSwap(false, true) {
		l.poller.post(l.settleTask)
	}
}

// settle is the end of a turn in which replies were held, or of a commit that another goroutine
// led: it makes durable what they wait for and lets them go.
func (l *loop) settle() {
	l.posted.Store(false)
	need := engine.Epoch(0)
	for _, s := range l.held {
		need = max(need, l.waitsFor(s))
	}
	l.need.Store(uint64(need))
	if need > 0 && l.commit(need) {
		l.srv.wakeLoops()
	}
	l.leading.Store(true) // what release holds again waits for a commit that is under way
	l.release()
	l.leading.Store(false)
	if len(l.held) == 0 {
		l.need.Store(0)
	} else if l.poked.Swap(false) {
		// While the log refuses flushes loops would wake each other without end; it pokes when it takes one. A
		// failed sync that came after release had looked pokes once.
		if err := l.srv.durable.Err(); err == nil || errors.Is(err, engine.ErrSyncFailed) {
			l.postSettle()
		}
	}
}

// commit leads commits until need is durable, and reports whether it led any. It gives up where
// another goroutine leads, which will wake the loop, and where the log does not work.
func (l *loop) commit(need engine.Epoch) (led bool) {
	d := l.srv.durable
	for d.Durable() < need && d.Err() == nil {
		if !d.CommitInPlace() {
			d.KickCommit(need)
			break
		}
		l.leading.Store(true)
		ok := d.TryCommit()
		l.leading.Store(false)
		switch {
		case ok:
			led = true
		case !l.poked.Swap(false):
			return led
		}
	}
	return led
}

// release sends the held replies that may leave now. After a failed sync none ever may: their
// connections close.
func (l *loop) release() {
	d := l.srv.durable
	failed := errors.Is(d.Err(), engine.ErrSyncFailed)
	held := l.held
	l.held = l.spare[:0]
	for _, s := range held {
		s.inHeld = false
		switch {
		case s.gone:
		case failed && l.waitsFor(s) > d.Durable():
			l.close(s)
		default:
			l.settleTurn(s)
		}
	}
	clear(held)
	l.spare = held[:0]
}

// wakeLoops tells the loops that a commit ended. It runs in any goroutine and does not block.
func (srv *Server) wakeLoops() {
	for _, l := range srv.loops() {
		if l.need.Load() == 0 {
			continue
		}
		l.poked.Store(true)
		if !l.leading.Load() {
			l.postSettle()
		}
	}
}
