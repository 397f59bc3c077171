package server

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"golang.org/x/sys/unix"

	"countd/config"
)

// listen opens the sockets that --bind and --port ask for.
func (srv *Server) listen() (listeners []*net.TCPListener, err error) {
	defer func() {
		if err != nil {
			for _, ln := range listeners {
				_ = ln.Close()
			}
		}
	}()
	for _, a := range srv.cfg.Addresses() {
		ln, err := net.Listen(a.Network(), a.String())
		switch {
		case err == nil:
			listeners = append(listeners, ln.(*net.TCPListener))
		case a.Optional && notHere(err):
			srv.log.Warn("not listening on an address this machine does not have",
				"address", a.String(), "error", err)
		default:
			return listeners, listenError(a, err)
		}
	}
	if len(listeners) == 0 {
		return nil, errors.New("server: no address to listen on: see --bind")
	}
	return listeners, nil
}

// notHere reports whether an address cannot be bound because the machine lacks it.
func notHere(err error) bool {
	for _, errno := range []unix.Errno{unix.EADDRNOTAVAIL, unix.EAFNOSUPPORT, unix.EPROTONOSUPPORT,
		unix.EPFNOSUPPORT, unix.ESOCKTNOSUPPORT, unix.ENOPROTOOPT} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

func listenError(a config.Address, err error) error {
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		return fmt.Errorf("server: cannot listen on %s: another process uses port %d; "+
			"stop it or choose another port with --port", a, a.Port)
	case errors.Is(err, unix.EACCES):
		return fmt.Errorf("server: cannot listen on %s: this user may not use port %d; "+
			"choose one above 1023 with --port", a, a.Port)
	}
	return fmt.Errorf("server: cannot listen on %s: %w", a, err)
}

// Addrs are the addresses that are listened on, with the ports the system chose for port 0. Valid
// once Ready is closed.
func (srv *Server) Addrs() []string {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return srv.mu.addrs
}

// Addr is the first of Addrs.
func (srv *Server) Addr() string { return srv.Addrs()[0] }

// reservedFiles is how many descriptors are not for clients: the log, the store, listeners, and
// connections on their way to be turned away.
const reservedFiles = 512

// filesPerClient is how many a client may take: its socket, and a duplicate while a drain writes what
// it does not read.
const filesPerClient = 2

const tooManyClientsText = "The operating system is not able to handle the specified number of clients, try with "

// startMaxClients sets how many clients are let in: maxclients, or what the limit on open files
// leaves. A process that runs out of descriptors could not even turn clients away.
func (srv *Server) startMaxClients() {
	want := srv.cfg.Int("maxclients")
	limit, files := affordClients(want)
	if limit < want {
		srv.log.Warn("maxclients is lowered: the process may not open more files; raise ulimit -n",
			"maxclients", want, "now", limit, "open_files_limit", files,
			"needed", want*filesPerClient+reservedFiles)
	}
	srv.clientLimit.Store(limit)
}

// setMaxClients carries out CONFIG SET maxclients. Redis lowers at a start alone what the limit on
// open files does not allow; here it refuses.
func (srv *Server) setMaxClients() error {
	want := srv.cfg.Int("maxclients")
	limit, _ := affordClients(want)
	srv.clientLimit.Store(limit)
	if limit < want {
		return errors.New(tooManyClientsText + strconv.FormatInt(limit, 10))
	}
	return nil
}

// affordClients tells how many of the clients that are wanted the limit on open files leaves room for.
func affordClients(want int64) (limit int64, files uint64) {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil || r.Cur >= 1<<31 {
		return want, 0
	}
	return min(want, max(1, (int64(r.Cur)-reservedFiles)/filesPerClient)), uint64(r.Cur)
}
