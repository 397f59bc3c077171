package server

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// A transport is the event loops and listeners of a server. There are two: epoll of our own on
// Linux, gnet elsewhere and with the build tag gnet; ARCHITECTURE.md says why.
type transport interface {
	// serve runs the event loops until stop; it closes srv.booted once connections are accepted.
	serve(listeners []*net.TCPListener) error
	// stop closes what is open and ends serve.
	stop()
}

// A poller is one event loop of a transport. It calls its loop's opened, received and closed, all in
// its own goroutine.
type poller interface {
	// post has the loop run task after the connections that are ready now. Any goroutine may call
	// it; after stop it may do nothing.
	post(task func())
	// later is post for a task's own use: other connections get their turn before.
	later(task func())
	// readAgain reads a session of which the poller put off reading (Session.putsOffReading). Loop only.
	readAgain(s *Session)
	// close closes the socket of a session, of which nothing more is reported. Loop only.
	close(s *Session)
	// detach makes the socket the session's own, with the descriptor it returns: the poller neither
	// reads nor closes it any more. Loop only.
	detach(s *Session) (fd int, err error)
}

const maxClientsText = "-ERR max number of clients reached\r\n"

// opened lets the connection with this descriptor in, or returns why it is turned away.
func (l *loop) opened(fd int, remote *net.TCPAddr) (s *Session, refusal string) {
	srv := l.srv
	if srv.connected.Add(1) > srv.maxClients() {
		return nil, l.turnAway(maxClientsText)
	}
	if remote != nil && !remote.IP.IsLoopback() && srv.cfg.Bool("protected-mode") &&
		!srv.passwordSet.Load() {
		return nil, l.turnAway(deniedText)
	}
	s = srv.newSession()
	s.fd, s.attached = fd, true
	if remote != nil {
		s.addr = remote.String()
	}
	s.laddr = socketAddr(fd)
	l.add(s)
	return s, ""
}

// turnAway refuses a connection that was counted already.
func (l *loop) turnAway(text string) string {
	l.srv.connected.Add(-1)
	l.stats.rejected.Add(1)
	return text
}

// keepAliveProbes are as Redis sends them: three, a third of the idle time apart.
func keepAliveProbes(idle time.Duration) net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: true, Idle: idle, Interval: max(idle/3, time.Second), Count: 3}
}

// socketAddr is a socket's own address.
func socketAddr(fd int) string {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return ""
	}
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return (&net.TCPAddr{IP: sa.Addr[:], Port: sa.Port}).String()
	case *unix.SockaddrInet6:
		return (&net.TCPAddr{IP: sa.Addr[:], Port: sa.Port}).String()
	}
	return ""
}

// deniedText is what Redis tells clients from elsewhere in protected mode.
const deniedText = "-DENIED Redis is running in protected mode because protected " +
	"mode is enabled and no password is set for the default user. " +
	"In this mode connections are only accepted from the loopback interface. " +
	"If you want to connect from external computers to Redis you " +
	"may adopt one of the following solutions: " +
	"1) Just disable protected mode sending the command " +
	"'CONFIG SET protected-mode no' from the loopback interface " +
	"by connecting to Redis from the same host the server is " +
	"running, however MAKE SURE Redis is not publicly accessible " +
	"from internet if you do so. Use CONFIG REWRITE to make this " +
	"change permanent. " +
	"2) Alternatively you can just disable the protected mode by " +
	"editing the Redis configuration file, and setting the protected " +
	"mode option to 'no', and then restarting the server. " +
	"3) If you started the server manually just for testing, restart " +
	"it with the '--protected-mode no' option. " +
	"4) Setup a an authentication password for the default user. " +
	"NOTE: You only need to do one of the above things in order for " +
	"the server to start accepting connections from the outside.\r\n"
