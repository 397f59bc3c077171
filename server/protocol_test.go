package server

import (
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"countd/engine"
)

// conversation sends in, ends its sending, and returns what comes back until the server closes.
func conversation(t testing.TB, addr, in string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(conn, in)
	_ = conn.(*net.TCPConn).CloseWrite()
	out, err := io.ReadAll(conn)
	if err != nil && !strings.Contains(err.Error(), "reset") {
		t.Fatalf("%.200q: %v", in, err)
	}
	return string(out)
}

// TestProtocolOnRedisServer sends the same bytes, right and wrong, to redis-server and to countd.
func TestProtocolOnRedisServer(t *testing.T) {
	redis := startRedis(t, "the check that protocol errors are Redis's own")
	addr := serve(t, newTestServer(t, engine.FsyncNo))
	compare := func(in string) {
		t.Helper()
		if got, want := conversation(t, addr, in), conversation(t, redis, in); got != want {
			t.Errorf("%.200q:\ngot  %.300q\nwant %.300q", in, got, want)
		}
	}
	long := strings.Repeat("x", maxLineLen+1)
	for _, in := range []string{
		mixedPipeline, "*1\r\n$-2\r\n", "*1\r\n$-1\r\n", "*0\r\nPING\r\n", "*-1\r\nPING\r\n",
		"*a\r\n", "*\r\n", "*01\r\n", "*2147483648\r\n", "*1\r\nPING\r\n", "*1\r\n\r\n",
		"*1\r\n\n\r\n", "*1\r\n\xff\r\n", "*1\r\n$536870913\r\n", "*" + long, "*1\r\n$" + long, long,
		"*1\x00\r\n$4\r\nPING\r\n", "PING\x00\r\nPING\r\n", "*1\r\n$4\r\nPINGxy*1\rz$4\r!PING\r\n",
		"ECHO \"a\\x41\\xzz\\n\\t\\\"\\\\\"\n", "ECHO 'it\\'s \\n'\n", "ECHO a\"b c\"\n", "ECHO \"a\n",
		"ECHO \"a\"b\n", "ECHO a\vb\n", "\vPING\f\n", "QUIT\r\nPING\r\n", "\"\"\r\n", "'' a\r\n",
		"*1\r\n$0\r\n\r\n", "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", "POST / HTTP/1.1\r\nPING\r\n",
		"Host: a\r\nPING\r\n", "PING\rPING\n", "PING\n\rPING\n",
		"CLIENT REPLY SKIP\nCLIENT REPLY SKIP\nPING\nECHO a\n",
		"CLIENT REPLY SKIP\nCLIENT REPLY ON\nECHO a\n", "CLIENT REPLY OFF\n*1\r\n$x\r\n",
		"CLIENT REPLY SKIP\nQUIT\n",
	} {
		compare(in)
	}
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	pieces := []string{"*1\r\n", "*2\r\n", "*3\r\n", "*0\r\n", "*-1\r\n", "$1\r\na\r\n", "$4\r\nECHO\r\n",
		"$4\r\nPING\r\n", "$0\r\n\r\n", "\r\n", "\n", "\r", "*", "$", "1", "0", "PING\r\n", "ECHO ", " ", "\"",
		"'", "\\x41", "\\", "\x00", "$-1\r\n", "$07\r\n", "\x80", "\t", "INCR k\n"}
	for range 300 {
		var in strings.Builder
		for range 1 + rng.IntN(10) {
			in.WriteString(pieces[rng.IntN(len(pieces))])
		}
		in.WriteString("\r\nDEL k\r\nPING\r\n")
		compare(in.String())
	}
}
