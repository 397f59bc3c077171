package server

import (
	"bufio"
	"bytes"
	"testing"

	"countd/config"
	"countd/engine"
)

// newCommandServer returns a server with an empty database that serves no sockets.
func newCommandServer(t testing.TB) *Server {
	t.Helper()
	eng, _, err := engine.Open(engine.Options{Dir: t.TempDir(), Policy: engine.FsyncNo})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	srv, err := New(Options{Engine: eng, Config: config.New(), Version: config.Version})
	if err != nil {
		t.Fatal(err)
	}
	return srv
}

// A sessionTarget runs commands in a session without a transport.
type sessionTarget struct{ s *Session }

func (c *sessionTarget) send(t testing.TB, args []string) {
	t.Helper()
	c.s.feed(encodeCommand(args))
	if len(c.s.out) > 0 {
		t.Errorf("%q replies %q", args, c.s.out)
	}
}

// do returns the one reply of a command, whose form it checks.
func (c *sessionTarget) do(t testing.TB, args []string) []byte {
	t.Helper()
	c.s.feed(encodeCommand(args))
	reply := c.s.out
	c.s.out = nil
	r := bufio.NewReader(bytes.NewReader(reply))
	one, err := readReply(r)
	if err != nil || r.Buffered() > 0 {
		t.Fatalf("%q does not have one reply: %v\n%q", args, err, reply)
	}
	return one
}
