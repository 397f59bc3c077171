package server

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"countd/engine"
)

// TestMaxClientsBeyondTheOpenFiles: four billion clients need more files than any limit allows.
func TestMaxClientsBeyondTheOpenFiles(t *testing.T) {
	srv := newTestServer(t, engine.FsyncNo, "maxclients", "4000000000")
	s := &sessionTarget{srv.newSession()}
	most := srv.maxClients()
	if most < 1 || most >= 4000000000 {
		t.Fatalf("a start lets in %d clients", most)
	}
	set := func(n int64, want string) {
		t.Helper()
		got := s.do(t, []string{"CONFIG", "SET", "maxclients", strconv.FormatInt(n, 10)})
		if string(got) != want {
			t.Errorf("CONFIG SET maxclients %d: %q, want %q", n, got, want)
		}
	}
	refused := fmt.Sprintf("-ERR CONFIG SET failed (possibly related to argument 'maxclients') - "+
		"The operating system is not able to handle the specified number of clients, try with %d\r\n", most)
	set(4000000001, refused)
	if n := srv.maxClients(); n != most {
		t.Errorf("%d clients are let in, want %d", n, most)
	}
	set(3, "+OK\r\n")
	set(most+1, refused)
	if n, v := srv.maxClients(), srv.cfg.Value("maxclients"); n != 3 || v != "3" {
		t.Errorf("%d clients are let in, maxclients %s; want 3", n, v)
	}
	set(most, "+OK\r\n")
	if n := srv.maxClients(); n != most {
		t.Errorf("%d clients are let in, want %d", n, most)
	}
}

func TestLimitsCloseClients(t *testing.T) {
	srv := newTestServer(t, engine.FsyncNo, "client-query-buffer-limit", "1mb",
		"client-output-buffer-limit", "normal 2mb 0 0", "maxclients", "3")
	addr := serve(t, srv)
	c := dial(t, addr)
	c.send("*2\r\n$4\r\nECHO\r\n$10000000\r\n" + strings.Repeat("x", 1<<20))
	go io.WriteString(c, strings.Repeat("x", 1<<20))
	c.wantEnd()

	c = dial(t, addr)
	c.send("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n" + bulkReply(strings.Repeat("x", 1000_000)))
	c.want("+OK\r\n")
	c.send("*30\r\n$4\r\nMGET\r\n" + strings.Repeat("$1\r\nk\r\n", 29))
	waitFor(t, "the output limit", func() bool { return srv.stats().outputLimitCloses == 1 })
	if n := srv.stats().queryLimitCloses; n != 1 {
		t.Errorf("%d clients closed for the query limit", n)
	}

	waitFor(t, "the clients to leave", func() bool { return srv.connected.Load() == 0 })
	for range 3 {
		dial(t, addr).send("")
	}
	waitFor(t, "the clients to come", func() bool { return srv.connected.Load() == 3 })
	c = dial(t, addr)
	c.want(maxClientsText)
	c.wantEnd()
	if n := srv.stats().connectionsRejected; n != 1 {
		t.Errorf("%d connections rejected", n)
	}
}

// TestHostileInput throws what is wrong at the server, which must go on.
func TestHostileInput(t *testing.T) {
	srv := newTestServer(t, engine.FsyncNo)
	addr := serve(t, srv)
	for _, in := range []string{"*1\r\n$-2\r\n", "*2147483647\r\n$5\r\nhello\r\n", "*1\r\n$536870912\r\n",
		"*100\r\n", "*", "$", "\x00\x00\x00", "*1\r\n$4\r\nPI", strings.Repeat("a", 70<<10)} {
		c := dial(t, addr)
		_, _ = io.WriteString(c, in) // it may be cut off before all is sent
		_ = c.CloseWrite()
		_, _ = io.Copy(io.Discard, c)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		c := dial(t, addr)
		noise := make([]byte, rng.IntN(10000))
		for i := range noise {
			noise[i] = byte(rng.Uint32())
			if rng.IntN(5) == 0 {
				noise[i] = "*$\r\n1\"' "[rng.IntN(8)]
			}
		}
		_, _ = c.Write(noise)
		if rng.IntN(2) == 0 {
			_ = c.SetLinger(0) // a reset
		}
		_ = c.Close()
	}
	c := dial(t, addr)
	c.send("*1000001\r\n$3\r\nDEL\r\n")
	args := []byte(strings.Repeat("$1\r\nk\r\n", 1_000_000))
	for len(args) > 0 {
		n := min(1<<10, len(args))
		c.send(string(args[:n]))
		args = args[n:]
	}
	c.want(":0\r\n")
}
