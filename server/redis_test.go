package server

import (
	"bufio"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"countd/bench/process"
)

// redisTested is the version of redis-server whose replies ours must equal.
const redisTested = redisVersion

// A target runs commands and returns the bytes of the reply: our session, or a redis-server.
type target interface {
	send(t testing.TB, args []string) // a command that has no reply
	do(t testing.TB, args []string) []byte
}

// A redisTarget is a connection to a redis-server.
type redisTarget struct {
	conn net.Conn
	r    *bufio.Reader
}

func (c *redisTarget) send(t testing.TB, args []string) {
	t.Helper()
	_ = c.conn.SetDeadline(time.Now().Add(patience))
	if _, err := c.conn.Write(encodeCommand(args)); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
}

func (c *redisTarget) do(t testing.TB, args []string) []byte {
	t.Helper()
	c.send(t, args)
	reply, err := readReply(c.r)
	if err != nil {
		t.Fatalf("%q: %v after %q", args, err, reply)
	}
	return reply
}

// startRedis starts the redis-server of the machine and returns its address. Where there is none
// of the version we follow the test is skipped and says what it leaves out.
func startRedis(t *testing.T, leftOut string) (addr string) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skipf("no redis-server on this machine: left out %s", leftOut)
	}
	version, err := exec.Command(path, "--version").Output()
	if err != nil || !strings.Contains(string(version), "v="+redisTested+" ") {
		t.Skipf("redis-server is not %s (%s): left out %s", redisTested, version, leftOut)
	}
	p, err := process.Start(t.Context(), "redis-server", path, t.TempDir(), []string{"--save", ""})
	for tries := 1; err != nil && tries < 5; tries++ { // another process may take the port before redis-server does
		p, err = process.Start(t.Context(), "redis-server", path, t.TempDir(), []string{"--save", ""})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p.Address()
}

func dialRedis(t testing.TB, addr string) *redisTarget {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &redisTarget{conn, bufio.NewReaderSize(conn, 64<<10)}
}
