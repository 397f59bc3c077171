//go:build !linux || gnet

package server

import (
	"context"
	"net"
	"time"

	"github.com/panjf2000/gnet/v2"
	"golang.org/x/sys/unix"
)

// gnetTransport runs gnet's event loops.
type gnetTransport struct {
	gnet.BuiltinEventEngine
	srv    *Server
	engine gnet.Engine // valid once srv.booted is closed
}

func newTransport(srv *Server) transport { return &gnetTransport{srv: srv} }

// serve is part of transport. gnet opens its own sockets, at the addresses of the given ones.
func (t *gnetTransport) serve(listeners []*net.TCPListener) error {
	var addrs []string
	for _, ln := range listeners {
		addrs = append(addrs, "tcp://"+ln.Addr().String())
		_ = ln.Close()
	}
	return gnet.Rotate(t, addrs,
		gnet.WithNumEventLoop(eventLoops(int(t.srv.cfg.Int("io-threads")))),
		gnet.WithReuseAddr(true),
		gnet.WithReadBufferCap(readBufferSize),
		gnet.WithLogger(gnetLog{t.srv.log}))
}

func (t *gnetTransport) stop() { _ = t.engine.Stop(context.Background()) }

// OnBoot runs when the sockets listen.
func (t *gnetTransport) OnBoot(eng gnet.Engine) gnet.Action {
	t.engine = eng
	close(t.srv.booted)
	return gnet.None
}

// OnOpen lets a connection in or turns it away.
func (t *gnetTransport) OnOpen(c gnet.Conn) ([]byte, gnet.Action) {
	if t.srv.stopping.Load() {
		return nil, gnet.Close
	}
	if seconds := t.srv.cfg.Int("tcp-keepalive"); seconds > 0 {
		probes := keepAliveProbes(time.Duration(seconds) * time.Second)
		_ = c.SetKeepAlive(true, probes.Idle, probes.Interval, probes.Count)
	}
	remote, _ := c.RemoteAddr().(*net.TCPAddr)
	s, refusal := t.loopOf(c.EventLoop()).opened(c.Fd(), remote)
	if refusal != "" {
		return []byte(refusal), gnet.Close
	}
	s.conn = c
	c.SetContext(s)
	return nil, gnet.None
}

// OnTraffic takes over all bytes at once: gnet's read buffer is the loop's, and what is left in it
// would be copied.
func (t *gnetTransport) OnTraffic(c gnet.Conn) gnet.Action {
	s, ok := c.Context().(*Session)
	if !ok {
		return gnet.Close
	}
	data, _ := c.Next(-1)
	s.loop.received(s, data)
	return gnet.None
}

// OnClose runs before gnet closes the descriptor.
func (t *gnetTransport) OnClose(c gnet.Conn, err error) gnet.Action {
	if s, ok := c.Context().(*Session); ok {
		s.loop.closed(s, err)
	}
	return gnet.None
}

// loopOf returns the loop of a gnet event loop, made when its first connection comes.
func (t *gnetTransport) loopOf(el gnet.EventLoop) *loop {
	for _, l := range t.srv.loops() {
		if l.poller.(*gnetPoller).el == el {
			return l
		}
	}
	return t.srv.addLoop(&gnetPoller{el: el})
}

// gnetPoller is one of gnet's event loops. It finds a connection through its session, never the
// other way: after a close the Conn is empty, and its descriptor may be another client's.
type gnetPoller struct{ el gnet.EventLoop }

func (p *gnetPoller) post(task func()) {
	// The error is gnet shutting down: then the sessions are closed, too.
	_ = p.el.Execute(context.Background(), gnet.RunnableFunc(func(context.Context) error {
		task()
		return nil
	}))
}

// later posts from a goroutine of its own: tasks of gnet run until its queue is empty, before it
// polls again.
func (p *gnetPoller) later(task func()) { go p.post(task) }

// readAgain does nothing: gnet never puts off reading.
func (p *gnetPoller) readAgain(*Session) {}

func (p *gnetPoller) close(s *Session) { _ = p.el.Close(s.conn.(gnet.Conn)) }

func (p *gnetPoller) detach(s *Session) (int, error) { return s.conn.(gnet.Conn).Dup() }

// writeNonBlocking is write(2) on a socket that does not block.
func writeNonBlocking(fd int, b []byte) (int, error) { return unix.Write(fd, b) }
