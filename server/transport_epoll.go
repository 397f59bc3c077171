//go:build linux && !gnet

package server

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// epollTransport is event loops of our own. What they have over a library's:
//
//   - One epoll_wait a turn. It blocks at once; a poll that finds nothing, and a runtime.Gosched
//     that wakes another thread for nothing, come to a quarter of the CPU of a P=1 command.
//   - Tasks run at the end of the turn that posted them, without an eventfd: that is where a loop
//     leads its commit.
//   - Reads and writes do not block, so they are raw system calls, of which Go's scheduler is not
//     told.
//
// Accepting is left to package net.
type epollTransport struct {
	srv       *Server
	listeners []*net.TCPListener
	pollers   []*epoll
	next      atomic.Uint32 // loop of the next connection, round robin
	running   sync.WaitGroup
}

func newTransport(srv *Server) transport { return &epollTransport{srv: srv} }

func (t *epollTransport) serve(listeners []*net.TCPListener) error {
	for range eventLoops(int(t.srv.cfg.Int("io-threads"))) {
		p, err := newEpoll()
		if err != nil {
			return err
		}
		p.loop = t.srv.addLoop(p)
		t.pollers = append(t.pollers, p)
	}
	t.listeners = listeners
	for _, ln := range listeners {
		t.running.Add(1)
		go t.accept(ln)
	}
	errs := make([]error, len(t.pollers))
	for i, p := range t.pollers {
		t.running.Add(1)
		go func() {
			defer t.running.Done()
			if errs[i] = p.run(); errs[i] != nil { // then nobody serves its clients: end the others
				t.srv.log.Error("an event loop failed", "error", errs[i])
				t.stop()
			}
		}()
	}
	close(t.srv.booted)
	t.running.Wait()
	return errors.Join(errs...)
}

func (t *epollTransport) stop() {
	for _, ln := range t.listeners {
		_ = ln.Close()
	}
	for _, p := range t.pollers {
		p.post(func() { p.ended = true })
	}
}

// acceptPause is how long accepting rests after an error, such as no free descriptor.
const acceptPause = 10 * time.Millisecond

// accept gives each connection to a loop until the listener is closed.
func (t *epollTransport) accept(ln *net.TCPListener) {
	defer t.running.Done()
	failing := false
	for {
		c, err := ln.AcceptTCP()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			if !failing {
				t.srv.log.Warn("connections cannot be accepted; trying on", "error", err)
			}
			failing = true
			time.Sleep(acceptPause)
			continue
		}
		failing = false
		if seconds := t.srv.cfg.Int("tcp-keepalive"); seconds > 0 {
			_ = c.SetKeepAliveConfig(keepAliveProbes(time.Duration(seconds) * time.Second))
		} else {
			_ = c.SetKeepAlive(false)
		}
		remote, _ := c.RemoteAddr().(*net.TCPAddr)
		fd, err := takeFd(c)
		if err != nil {
			t.srv.log.Warn("closing a connection", "addr", remote, "error", err)
			continue
		}
		p := t.pollers[int(t.next.Add(1))%len(t.pollers)]
		p.post(func() { p.open(fd, remote) })
	}
}

// takeFd takes the connection's socket out of package net's hands. It stays non-blocking.
func takeFd(c *net.TCPConn) (fd int, err error) {
	defer c.Close()
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	cerr := raw.Control(func(old uintptr) { fd, err = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) })
	return fd, errors.Join(cerr, err)
}

// epoll is one event loop. Its goroutine owns everything but tasks, queued and asleep.
type epoll struct {
	loop   *loop
	fd     int
	wakeFd int // an eventfd, readable after a task came while the loop slept
	conns  []*Session
	events [maxEvents]unix.EpollEvent
	buffer []byte // what is read goes here first
	ended  bool
	// Sockets are watched edge-triggered: an event says that something came, once. So a socket that
	// may have more is read again in the next turn, without an event.
	again, againSpare []*Session
	spare             []func() // empty; changes places with tasks.list

	moderator moderator

	tasks struct {
		sync.Mutex
		list []func()
	}
	queued atomic.Bool // there are tasks
	asleep atomic.Bool // the loop is, or is about to be, in epoll_wait without a timeout
}

// maxEvents is how many connections one turn serves.
const maxEvents = 256

func newEpoll() (*epoll, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	wake, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err == nil {
		err = unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, wake,
			&unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(wake)})
	}
	if err != nil {
		return nil, os.NewSyscallError("eventfd", err)
	}
	return &epoll{fd: fd, wakeFd: wake, buffer: make([]byte, readBufferSize)}, nil
}

// run serves until a task sets ended.
func (p *epoll) run() error {
	runtime.LockOSThread() // not unlocked: the thread, and its timer slack, end with the loop
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(time.Microsecond), 0, 0, 0)
	p.moderator.window = 1
	defer p.closeAll()
	for !p.ended {
		n, err := p.wait()
		if err != nil {
			return os.NewSyscallError("epoll_wait", err)
		}
		again := p.again
		p.again = p.againSpare[:0]
		start := clock()
		p.loop.beginTurn(start)
		for i := range p.events[:n] {
			fd, events := int(p.events[i].Fd), p.events[i].Events
			switch {
			case fd == p.wakeFd:
				var b [8]byte
				_, _ = unix.Read(fd, b[:])
			case fd < len(p.conns) && p.conns[fd] != nil: // else closed earlier in this turn
				p.read(p.conns[fd], events&^(unix.EPOLLIN) != 0)
			}
		}
		for i, s := range again {
			if s.fd >= 0 && s.fd < len(p.conns) && p.conns[s.fd] == s {
				p.read(s, s.hangup)
			}
			again[i] = nil
		}
		p.againSpare = again
		p.loop.endTurn()
		p.runTasks()
		if p.moderator.turn(n, start, clock()) && !p.loop.commits() && p.loop.srv.aside.Load() == 0 {
			nap(moderateNap)
		}
	}
	return nil
}

// wait waits for events, or just looks where there are tasks. No task is slept over: post queues it
// before it looks at asleep, and wait sets asleep before it looks at queued.
func (p *epoll) wait() (int, error) {
	p.asleep.Store(true)
	timeout := -1
	if p.queued.Load() || len(p.again) > 0 {
		p.asleep.Store(false)
		timeout = 0
	}
	n, err := 0, error(nil)
	if timeout == 0 {
		n, err = p.waitRaw(0)
	} else if p.loop.srv.aside.Load() == 0 { // else others need the processor
		n, err = p.waitRaw(rawWaitMs)
	}
	if timeout < 0 && n == 0 && err == nil {
		n, err = unix.EpollWait(p.fd, p.events[:], -1)
	}
	p.asleep.Store(false)
	if err == unix.EINTR {
		return 0, nil
	}
	return n, err
}

// rawWaitMs is how long a loop waits for the next event without telling Go's scheduler. Under load the
// next one comes within it; then neither side pays for a system call that blocks: the scheduler's
// monitor, which looks for those every 20 µs, and another thread that takes over the processor. A
// stop of the world waits for it.
const rawWaitMs = 1

// waitRaw is epoll_wait, of which Go's scheduler is not told.
func (p *epoll) waitRaw(timeoutMs int) (int, error) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd),
		uintptr(unsafe.Pointer(&p.events[0])), uintptr(len(p.events)), uintptr(timeoutMs), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// nap sleeps, without telling Go's scheduler.
func nap(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_, _, _ = syscall.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
}

// runTasks runs the tasks there are. Those that they post run after the next look at the connections.
func (p *epoll) runTasks() {
	if !p.queued.Load() {
		return
	}
	p.tasks.Lock()
	list := p.tasks.list
	p.tasks.list = p.spare
	p.queued.Store(false)
	p.tasks.Unlock()
	for i, task := range list {
		task()
		list[i] = nil
	}
	p.spare = list[:0]
}

func (p *epoll) post(task func()) {
	p.tasks.Lock()
	p.tasks.list = append(p.tasks.list, task)
	p.queued.Store(true)
	p.tasks.Unlock()
	if p.asleep.Load() && p.asleep.CompareAndSwap(true, false) {
		var one [8]byte
		binary.NativeEndian.PutUint64(one[:], 1)
		_, _ = unix.Write(p.wakeFd, one[:])
	}
}

func (p *epoll) readAgain(s *Session) { p.again = append(p.again, s) }

func (p *epoll) later(task func()) { p.post(task) }

// open begins to serve a connection, or turns it away.
func (p *epoll) open(fd int, remote *net.TCPAddr) {
	if p.ended || p.loop.srv.stopping.Load() {
		closeFd(fd)
		return
	}
	s, refusal := p.loop.opened(fd, remote)
	if refusal != "" {
		_, _ = unix.Write(fd, []byte(refusal))
		closeFd(fd)
		return
	}
	for fd >= len(p.conns) {
		p.conns = append(p.conns, make([]*Session, max(64, len(p.conns)))...)
	}
	p.conns[fd] = s
	err := unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLRDHUP | epollEdge, Fd: int32(fd)})
	if err != nil {
		p.loop.srv.log.Warn("closing client", "addr", remote, "error", os.NewSyscallError("epoll_ctl", err))
		p.loop.close(s)
	}
}

// epollEdge is EPOLLET; package unix has it as a negative number.
const epollEdge = 1 << 31

// read takes what has come on a connection, at most a buffer full. A full buffer, or the word that the
// client ended or broke the connection (hangup), means that there is more to read.
func (p *epoll) read(s *Session, hangup bool) {
	p.moderator.heard(s)
	s.hangup = hangup || s.unread && s.hangup
	if s.putsOffReading() {
		return
	}
	fd := s.fd
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd),
		uintptr(unsafe.Pointer(&p.buffer[0])), uintptr(len(p.buffer)), unix.MSG_DONTWAIT, 0, 0)
	switch {
	case errno == 0 && n > 0:
		if s.hangup || int(n) == len(p.buffer) {
			p.again = append(p.again, s)
		}
		p.loop.received(s, p.buffer[:n])
		return
	case errno == unix.EAGAIN:
		return
	case errno == unix.EINTR:
		p.again = append(p.again, s)
		return
	case errno == 0:
		p.loop.closed(s, io.EOF)
	default:
		p.loop.closed(s, os.NewSyscallError("read", errno))
	}
	if p.conns[fd] == s {
		p.forget(fd)
		closeFd(fd)
	}
}

// forget stops watching a socket. The drains of a session duplicate its descriptor, which would keep
// a closed one in the epoll set: so it is taken out by hand.
func (p *epoll) forget(fd int) {
	p.conns[fd] = nil
	_ = unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, fd, nil)
}

func (p *epoll) close(s *Session) {
	p.forget(s.fd)
	closeFd(s.fd)
}

func (p *epoll) detach(s *Session) (int, error) {
	p.forget(s.fd)
	return s.fd, nil
}

// closeAll ends the loop.
func (p *epoll) closeAll() {
	for fd, s := range p.conns {
		if s != nil {
			p.loop.closed(s, nil)
			p.forget(fd)
			closeFd(fd)
		}
	}
	closeFd(p.fd)
	closeFd(p.wakeFd)
}

// writeNonBlocking is send(2), which takes a shorter way through the kernel than write.
func writeNonBlocking(fd int, b []byte) (int, error) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
		unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
