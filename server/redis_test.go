package server

import (
	"bufio"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"
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
	_ = c.conn.SetDeadline(time.Now().Add(10 * time.Second))
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
	for range 10 { // another process may take the port before redis-server does
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := l.Addr().String()
		_ = l.Close()
		_, port, _ := net.SplitHostPort(addr)
		cmd := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "",
			"--dir", t.TempDir())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		if answers(addr) {
			return addr
		}
	}
	t.Fatal("redis-server does not start")
	return ""
}

// answers waits until the server at addr takes connections.
func answers(addr string) bool {
	for range 200 {
		if conn, err := net.Dial("tcp", addr); err == nil {
			_ = conn.Close()
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
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
