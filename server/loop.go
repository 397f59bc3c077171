package server

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"countd/engine"
)

// A loop is an event loop and its sessions. Its goroutine owns everything but mu and the atomics;
// others reach it through post, and name a session by its id, since it may be gone by then.
type loop struct {
	srv    *Server
	poller poller
	stats  *loopStats
	writer *engine.Writer // what its sessions add to hot counters as

	mu struct {
		sync.Mutex                    // for readers in other goroutines
		sessions   map[int64]*Session // written by the loop only
	}

	ahead lookahead
	// clockAt is the latest reading of the clock in this turn, nowMs the instant that its sessions see
	// and nowMsAt the clock then; 0: none yet.
	clockAt, nowMsAt time.Duration
	nowMs            int64

	restUntil time.Duration // see slowDown

	inTurn bool       // received leaves settling to endTurn
	fed    []*Session // sessions that endTurn settles, each once

	ready       []*Session // sessions with more to run, in the order of their turns
	readyPosted bool
	readyTask   func()
	buffers     [][]byte // output buffers between two uses
	buffersSize int      // of all of them, in bytes

	unpublished []*Session  // see publishSoon
	stale       atomic.Bool // there are some

	commitState
}

// Bounds of a loop's store of output buffers: of one in bytes, and of all. A turn, or a commit under
// always, takes one for each session that is ready.
const (
	maxBufferSize   = 64 << 10
	maxBuffersBytes = 4 << 20
)

func newLoop(srv *Server, p poller) *loop {
	l := &loop{srv: srv, poller: p, stats: newLoopStats()}
	if srv.eng != nil {
		l.writer = srv.eng.NewWriter()
	}
	l.mu.sessions = make(map[int64]*Session)
	l.settleTask, l.readyTask = l.settle, l.runReady
	return l
}

// post runs fn in the loop, after the connections that are ready now.
func (l *loop) post(fn func()) { l.poller.post(fn) }

// link is the transport's part of a session. The loop owns it.
type link struct {
	loop        *loop
	conn        any // the transport's own
	fd          int // of the socket; -1 where there is none
	addr, laddr string
	lastMs      int64

	heardIn  int  // the moderator's: the last window in which something came
	hangup   bool // the poller's: the client has ended or broken the connection
	attached bool // the poller reads fd, and closes it
	detached bool // the client sends no more; fd is ours
	gone     bool // no longer in loop.mu.sessions

	inReady, inHeld bool
	parked          bool // see park.go
	resting         bool // see slow.go
	unread          bool // the poller put off reading
	loaded          int  // how many of the next commands were parked for
	unpublished     bool
	marks           []mark // parts of out that wait for the disk
	drain           *drain // who writes what the socket did not take
	overSoftMs      int64  // since when the unsent replies exceed the soft limit
}

// counters are the statistics of the session's loop.
func (s *Session) counters() *loopStats {
	if s.loop == nil {
		return s.srv.looseStats
	}
	return s.loop.stats
}

// stalled reports whether the session must run no command until replies have left, entries were read,
// what its last command waits for has ended, or it has rested.
func (s *Session) stalled() bool {
	return s.drain != nil || s.parked || s.resting || len(s.out) > maxPendingOutput
}

// add makes the loop the session's.
func (l *loop) add(s *Session) {
	s.loop = l
	s.op.Writer = l.writer
	s.pub.mu.info = clientInfo{id: s.id, addr: s.addr, laddr: s.laddr, fd: s.fd, createdMs: s.createdMs}
	s.publish()
	l.mu.Lock()
	l.mu.sessions[s.id] = s
	l.mu.Unlock()
	l.stats.connections.Add(1)
}

// received takes bytes that arrived for s and runs one turn.
func (l *loop) received(s *Session, data []byte) {
	l.stats.reads.Add(1)
	l.stats.inputBytes.Add(uint64(len(data)))
	if s.pub.killed.Load() {
		l.close(s)
		return
	}
	s.out = l.buffer(s.out)
	s.feed(data)
	s.lastMs = s.op.NowMs
	if limit := l.srv.queryLimit.Load(); int64(s.pendingInput()) > limit {
		l.stats.queryLimit.Add(1)
		l.srv.log.Warn("closing client that reached max query buffer length",
			"client", s.id, "addr", s.addr, "bytes", s.pendingInput(), "limit", limit)
		l.close(s)
		return
	}
	if l.inTurn {
		l.fed = append(l.fed, s)
		return
	}
	l.settleTurn(s)
}

// beginTurn begins a turn, at this reading of the clock, of a poller that calls endTurn.
func (l *loop) beginTurn(now time.Duration) {
	l.inTurn = true
	l.clockAt, l.nowMs = now, 0
}

// endTurn settles the sessions that received something in this turn of the poller.
// Replies leave after all that was ready was read: a client that is woken by its reply while the loop
// still reads sends its next command too late for the turn to come, and the turns get smaller.
func (l *loop) endTurn() {
	l.inTurn = false
	for i, s := range l.fed {
		if !s.gone {
			l.settleTurn(s)
		}
		l.fed[i] = nil
	}
	l.fed = l.fed[:0]
}

// resume gives a session that has more to run its next turn, unless it must wait. It is safe for
// a session that is gone.
func (l *loop) resume(s *Session) {
	if s.gone {
		return
	}
	if s.pub.killed.Load() {
		l.close(s)
		return
	}
	if s.more && !s.stalled() && !s.closeAfterReply {
		s.out = l.buffer(s.out)
		s.resume()
	}
	l.settleTurn(s)
}

// settleTurn sends what may leave after a turn and sees to what is left: replies that wait for the
// disk, commands that wait for their turn, a connection that is to close.
func (l *loop) settleTurn(s *Session) {
	if s.abort {
		l.close(s)
		return
	}
	if len(s.out) > 0 {
		l.mark(s)
	}
	l.send(s)
	if s.gone {
		return
	}
	l.publishSoon(s)
	if s.unread && !s.resting && s.attached {
		s.unread = false
		l.poller.readAgain(s)
	}
	owes := len(s.out) > 0 || s.drain != nil || s.parked
	switch {
	case !owes && (s.closeAfterReply || s.detached && !s.more):
		l.close(s)
	case s.more && !s.stalled() && !s.closeAfterReply:
		l.wait(s)
	}
}

// publishSoon sees that others learn of the session's state: at once where it runs another command
// than before, else within rateInterval.
func (l *loop) publishSoon(s *Session) {
	if s.pub.mu.info.cmd != s.cur.cmd || s.detached {
		s.publish()
		return
	}
	if !s.unpublished {
		s.unpublished = true
		if l.unpublished = append(l.unpublished, s); len(l.unpublished) == 1 {
			l.stale.Store(true)
		}
	}
}

// publishAll publishes what publishSoon put off.
func (l *loop) publishAll() {
	l.stale.Store(false)
	for i, s := range l.unpublished {
		s.unpublished = false
		s.publish()
		l.unpublished[i] = nil
	}
	l.unpublished = l.unpublished[:0]
}

// wait puts a session in the queue for its next turn.
func (l *loop) wait(s *Session) {
	if s.inReady {
		return
	}
	s.inReady = true
	l.ready = append(l.ready, s)
	if !l.readyPosted {
		l.readyPosted = true
		l.poller.later(l.readyTask)
	}
}

// runReady gives each session in the queue one turn. Those that need another come again after the
// connections that are ready then.
func (l *loop) runReady() {
	l.readyPosted = false
	queue := l.ready
	l.ready = nil
	for _, s := range queue {
		s.inReady = false
		l.resume(s)
	}
}

// closed is the poller's report that the client sends no more, or that the connection is broken. The
// poller closes the descriptor unless the session detaches it: a client that only ended its sending
// still gets what it is owed.
func (l *loop) closed(s *Session, err error) {
	s.attached = false
	owed := s.more || len(s.out) > 0 || s.drain != nil || s.parked
	if errors.Is(err, io.EOF) && owed && !s.abort && !s.gone && !l.srv.stopping.Load() {
		if fd, err := l.poller.detach(s); err == nil {
			s.fd, s.detached = fd, true
			s.boundLinger()
			l.resume(s)
			return
		}
	}
	if !s.gone {
		s.fd = -1
		l.forget(s)
	}
}

// close ends a connection now, whatever it is owed.
func (l *loop) close(s *Session) {
	if s.gone {
		return
	}
	l.forget(s)
	switch {
	case s.detached:
		closeFd(s.fd)
	case s.attached:
		s.attached = false
		l.poller.close(s)
	}
	s.fd = -1
}

// closeID closes the session with this id, if it is still there.
func (l *loop) closeID(id int64) {
	if s := l.mu.sessions[id]; s != nil {
		l.close(s)
	}
}

// forget takes a session out of the loop. It stays in the queues, whose owners see gone.
func (l *loop) forget(s *Session) {
	s.gone = true
	s.more = false
	l.mu.Lock()
	delete(l.mu.sessions, s.id)
	l.mu.Unlock()
	l.srv.connected.Add(-1)
	if s.drain != nil {
		s.drain.cancel()
	}
	l.giveBack(s.out)
	s.out, s.marks, s.qbuf = nil, nil, nil
}

// buffer returns b, or an empty output buffer where it has no room at all.
func (l *loop) buffer(b []byte) []byte {
	if cap(b) > 0 {
		return b
	}
	if n := len(l.buffers); n > 0 {
		b, l.buffers[n-1] = l.buffers[n-1], nil
		l.buffers = l.buffers[:n-1]
		l.buffersSize -= cap(b)
		return b
	}
	return make([]byte, 0, 4<<10)
}

// giveBack stores an output buffer for the next session.
func (l *loop) giveBack(b []byte) {
	if cap(b) > 0 && cap(b) <= maxBufferSize && l.buffersSize+cap(b) <= maxBuffersBytes {
		l.buffersSize += cap(b)
		l.buffers = append(l.buffers, b[:0])
	}
}
