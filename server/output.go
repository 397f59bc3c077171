package server

import (
	"errors"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Replies go to the socket by one write call a turn: what the socket does not take stays ours, so
// that it can be bounded, and so that a client that half-closes still gets it. A goroutine, the drain,
// writes it, with a descriptor of its own, and the session runs no command until that is done.

// lingerTimeout is how long a client that ended its sending may take none of its replies.
const lingerTimeout = 10 * time.Second

// drainChunk is the most a drain writes at a time, and so how fine its progress is known.
const drainChunk = 256 << 10

// send writes the replies that may leave now.
func (l *loop) send(s *Session) {
	if s.drain == nil {
		if n := l.covered(s); n > 0 {
			l.write(s, n)
		}
	}
	if s.gone {
		return
	}
	if l.overLimit(s) {
		l.stats.outputLimit.Add(1)
		l.srv.log.Warn("closing client for overcoming of output buffer limits",
			"client", s.id, "addr", s.addr, "bytes", s.unsentBytes())
		l.close(s)
		return
	}
	// A drain's end looks at the marks again. Without one, held is what covered left, even where
	// Durable has risen since: the commit that raised it has yet to wake us.
	if len(s.marks) > 0 && (s.drain == nil || l.waitsFor(s) > l.srv.durable.Durable()) {
		l.hold(s)
	}
}

// write sends s.out[:n], or as much as the socket takes and the rest through a drain.
func (l *loop) write(s *Session, n int) {
	sent, err := writeFd(s.fd, s.out[:n])
	if err != nil {
		l.close(s)
		return
	}
	l.stats.writes.Add(1)
	l.stats.outputBytes.Add(uint64(sent))
	rest := s.out[n:]
	switch {
	case sent < n:
		unsent := s.out[sent:n]
		s.out = append([]byte(nil), rest...)
		l.startDrain(s, unsent)
	case len(rest) > 0:
		s.out = s.out[:copy(s.out, rest)]
	default:
		l.giveBack(s.out)
		s.out = nil
	}
}

// writeFd writes what a socket takes at once.
func writeFd(fd int, b []byte) (int, error) {
	for {
		n, err := writeNonBlocking(fd, b)
		switch err {
		case nil:
			return n, nil
		case unix.EINTR:
		case unix.EAGAIN:
			return 0, nil
		default:
			return 0, err
		}
	}
}

func closeFd(fd int) { _ = unix.Close(fd) }

// A drain writes what a socket did not take, waiting for it in a goroutine of its own.
type drain struct {
	file   *os.File     // a duplicate of the socket
	left   atomic.Int64 // bytes not yet written
	linger atomic.Bool  // give up where the client takes nothing for lingerTimeout
}

// startDrain hands b over. The session is stalled until the drain is done.
func (l *loop) startDrain(s *Session, b []byte) {
	fd, err := unix.FcntlInt(uintptr(s.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		l.srv.log.Warn("closing client that does not read its replies",
			"client", s.id, "addr", s.addr, "error", err)
		l.close(s)
		return
	}
	d := &drain{file: os.NewFile(uintptr(fd), s.addr)}
	d.left.Store(int64(len(b)))
	s.drain = d
	if s.detached {
		s.boundLinger()
	}
	id, stats := s.id, l.stats
	l.srv.drains.Add(1)
	go func() {
		defer l.srv.drains.Add(-1)
		err := d.run(b, stats)
		_ = d.file.Close()
		l.post(func() { l.drained(id, d, err) })
	}()
}

func (d *drain) run(b []byte, stats *loopStats) error {
	for len(b) > 0 {
		n, err := d.file.Write(b[:min(len(b), drainChunk)])
		b = b[n:]
		d.left.Store(int64(len(b)))
		stats.outputBytes.Add(uint64(n))
		stats.writes.Add(1)
		if err != nil && !(errors.Is(err, os.ErrDeadlineExceeded) && n > 0) {
			return err
		}
		if d.linger.Load() {
			d.setDeadline()
		}
	}
	return nil
}

func (d *drain) setDeadline() { _ = d.file.SetWriteDeadline(time.Now().Add(lingerTimeout)) }

// cancel makes the drain stop.
func (d *drain) cancel() { _ = d.file.SetWriteDeadline(time.Unix(1, 0)); d.linger.Store(false) }

// drained is posted by a drain that is done.
func (l *loop) drained(id int64, d *drain, err error) {
	s := l.mu.sessions[id]
	switch {
	case s == nil || s.drain != d:
	case err != nil:
		l.close(s)
	default:
		s.drain = nil
		l.resume(s)
	}
}

// boundLinger bounds how long a client that sends no more may keep us.
func (s *Session) boundLinger() {
	if s.drain != nil {
		s.drain.linger.Store(true)
		s.drain.setDeadline()
	}
}

// unsentBytes is how many bytes of replies the socket has not taken.
func (s *Session) unsentBytes() int {
	if s.drain == nil {
		return 0
	}
	return int(s.drain.left.Load()) + len(s.out)
}

// overLimit reports whether the client leaves more replies unread than it may.
func (l *loop) overLimit(s *Session) bool {
	if s.drain == nil {
		s.overSoftMs = 0
		return false
	}
	limit, unsent := l.srv.outputLimit.Load(), int64(s.unsentBytes())
	if limit.HardBytes > 0 && unsent > limit.HardBytes {
		return true
	}
	if limit.SoftBytes == 0 || unsent <= limit.SoftBytes {
		s.overSoftMs = 0
		return false
	}
	now := l.srv.nowMs()
	if s.overSoftMs == 0 {
		s.overSoftMs = now
	}
	return now-s.overSoftMs > limit.SoftSeconds*1000
}
