//go:build linux && !gnet

package server

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAFailedLoopEndsServe: clients of a loop that is gone would wait for ever, so Serve ends, and
// says why.
func TestAFailedLoopEndsServe(t *testing.T) {
	srv := newCommandServer(t)
	for name, value := range map[string]string{"port": "0", "io-threads": "2"} {
		if err := srv.cfg.Set(name, []string{value}); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve() }()
	<-srv.Ready()
	p := srv.transport.(*epollTransport).pollers[1]
	p.post(func() {
		closeFd(p.fd)
		p.fd = -1
	})
	select {
	case err := <-done:
		if !errors.Is(err, unix.EBADF) {
			t.Errorf("Serve returned %v", err)
		}
	case <-time.After(patience):
		t.Fatal("Serve goes on without a loop")
	}
}
