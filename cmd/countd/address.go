package main

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"countd/config"
)

// errNoAddress stops a start that would leave countd unreachable.
var errNoAddress = errors.New("there is no address to listen on; name one with --bind")

// checkAddresses opens each address once and closes it again, so that a busy port is known before
// the data directory is touched. An optional address that this machine does not have does not
// matter, nor does a family its kernel does not know; the server says so when it listens. Whoever
// takes a port between this and the server's own listen makes the server fail.
func checkAddresses(addresses []config.Address) error {
	var open []net.Listener // all at once: an address that is named twice is in use, as in Redis
	defer func() {
		for _, l := range open {
			l.Close()
		}
	}()
	for _, a := range addresses {
		l, err := net.Listen(a.Network(), a.String())
		switch {
		case err == nil:
			open = append(open, l)
		case a.Optional && errors.Is(err, syscall.EADDRNOTAVAIL), noSuchFamily(err):
		default:
			return explainListen(a.String(), err)
		}
	}
	if len(open) == 0 {
		return errNoAddress
	}
	return nil
}

// noSuchFamily lists the errors on which Redis goes on with the other addresses.
func noSuchFamily(err error) bool {
	for _, e := range []error{syscall.EAFNOSUPPORT, syscall.EPFNOSUPPORT, syscall.EPROTONOSUPPORT,
		syscall.ESOCKTNOSUPPORT, syscall.ENOPROTOOPT} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// explainListen says what to do about an address that cannot be listened on.
func explainListen(address string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is in use; choose another with --port", address)
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return fmt.Errorf("cannot listen on %s: %w; see --bind and --port", address, err)
}
