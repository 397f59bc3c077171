package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countd/engine"
)

// serve starts srv on a free port and stops it at the test's end.
func serve(t testing.TB, srv *Server) (addr string) {
	t.Helper()
	if err := srv.cfg.Set("port", []string{"0"}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve() }()
	select {
	case <-srv.Ready():
	case err := <-done:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		srv.Shutdown()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return srv.Addr()
}

// patience bounds what these tests wait for; nothing comes near it unless it hangs.
const patience = 4 * time.Minute

// A client is a connection whose operations fail the test after a while.
type client struct {
	t testing.TB
	*net.TCPConn
	r *bufio.Reader
}

func dial(t testing.TB, addr string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return &client{t, conn.(*net.TCPConn), bufio.NewReaderSize(conn, 64<<10)}
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Error(err)
	}
}

// want reads exactly the bytes of text.
func (c *client) want(text string) {
	c.t.Helper()
	got := make([]byte, len(text))
	n, err := io.ReadFull(c.r, got)
	if err != nil || string(got) != text {
		c.t.Fatalf("got %.200q (%v), want %.200q", got[:n], err, text)
	}
}

// wantEnd expects the connection to be closed with nothing more on it. A reset counts: it is what
// the system sends where we did not read all.
func (c *client) wantEnd() {
	c.t.Helper()
	rest, err := io.ReadAll(c.r)
	var netErr net.Error
	if len(rest) > 0 || errors.As(err, &netErr) && netErr.Timeout() {
		c.t.Errorf("the connection is not closed: %.200q, %v", rest, err)
	}
}

func bulkReply(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }

func TestServe(t *testing.T) {
	addr := serve(t, newTestServer(t, engine.FsyncEverySec))
	c := dial(t, addr)
	c.send("PING\r\n" + mixedPipeline)
	c.want("+PONG\r\n" + mixedReplies)
	c.wantEnd()

	c = dial(t, addr)
	const n = 50_000
	go c.send(strings.Repeat("INCR n\r\n", n))
	for i := 1; i <= n; i++ {
		c.want(":" + strconv.Itoa(i) + "\r\n")
	}
	c.send("QUIT\r\nPING\r\n")
	c.want("+OK\r\n")
	c.wantEnd()
}

// TestEveryNumberOnce lets many connections count one key.
func TestEveryNumberOnce(t *testing.T) {
	for _, policy := range []engine.FsyncPolicy{engine.FsyncEverySec, engine.FsyncAlways} {
		srv := newTestServer(t, policy, "io-threads", "2")
		addr := serve(t, srv)
		const clients, perClient = 24, 400
		var mu sync.Mutex
		seen := make(map[string]int)
		var wg sync.WaitGroup
		for i := range clients {
			c := dial(t, addr)
			depth := 1 + i%5*4
			wg.Add(1)
			go func() {
				defer wg.Done()
				for done := 0; done < perClient; done += depth {
					n := min(depth, perClient-done)
					c.send(strings.Repeat(incrbyCommand, n))
					for range n {
						line, err := c.r.ReadString('\n')
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						seen[line]++
						mu.Unlock()
					}
				}
			}()
		}
		wg.Wait()
		for i := 1; i <= clients*perClient; i++ {
			if n := seen[fmt.Sprintf(":%d\r\n", i)]; n != 1 {
				t.Fatalf("policy %d: %d was given out %d times", policy, i, n)
			}
		}
	}
}

// TestHalfClose: a client that ends its sending behind a pipeline gets every reply it is owed.
func TestHalfClose(t *testing.T) {
	for _, policy := range []engine.FsyncPolicy{engine.FsyncEverySec, engine.FsyncAlways} {
		srv := newTestServer(t, policy)
		addr := serve(t, srv)
		for round := range 20 {
			c := dial(t, addr)
			n := 1 + round*977
			c.send("DEL n\r\n")
			go func() {
				c.send(strings.Repeat("INCR n\r\n", n))
				_ = c.CloseWrite()
			}()
			c.want(":" + strconv.Itoa(min(round, 1)) + "\r\n")
			for i := 1; i <= n; i++ {
				c.want(":" + strconv.Itoa(i) + "\r\n")
			}
			c.wantEnd()
		}

		// More than the socket takes, for a reader that takes its time, in many turns.
		big := strings.Repeat("x", 1<<20)
		c := dial(t, addr)
		c.send("SET big " + big[:60<<10] + "\r\n*3\r\n$3\r\nSET\r\n$3\r\nbig\r\n" + bulkReply(big))
		c.want("+OK\r\n+OK\r\n")
		c.send(strings.Repeat("GET big\r\n", 40) + "PING\r\n")
		_ = c.CloseWrite()
		time.Sleep(50 * time.Millisecond)
		for range 40 {
			c.want(bulkReply(big))
		}
		c.want("+PONG\r\n")
		c.wantEnd()
		waitFor(t, "the sessions to end", func() bool { return srv.connected.Load() == 0 })
	}
}

// TestClientThatDoesNotRead: its replies do not pile up, others are served, and it gets all of them
// when it reads at last.
func TestClientThatDoesNotRead(t *testing.T) {
	srv := newTestServer(t, engine.FsyncAlways)
	addr := serve(t, srv)
	big := strings.Repeat("y", 1<<20)
	c, other := dial(t, addr), dial(t, addr)
	c.send("*3\r\n$3\r\nSET\r\n$3\r\nbig\r\n" + bulkReply(big))
	c.want("+OK\r\n")
	const n = 300
	for i := range n {
		c.send("GET big\r\nECHO " + strconv.Itoa(i) + "\r\n")
	}
	unsent := 0
	waitFor(t, "replies to wait", func() bool {
		unsent = 0
		for _, info := range srv.clients.all(nil) {
			unsent += info.unsentBytes + info.outBytes
		}
		return unsent > 0
	})
	time.Sleep(100 * time.Millisecond) // more than may wait would have come by now
	other.send("PING\r\n")
	other.want("+PONG\r\n")
	unsent = 0
	for _, info := range srv.clients.all(nil) {
		unsent += info.unsentBytes + info.outBytes
	}
	if limit := len(big) + maxTurnReplyBytes + maxPendingOutput; unsent > limit {
		t.Errorf("%d bytes of replies wait, want at most %d", unsent, limit)
	}
	for i := range n {
		c.want(bulkReply(big) + bulkReply(strconv.Itoa(i)))
	}
}

// TestDeepPipelineStarvesNobody: others get their turn while a client keeps the loop busy.
func TestDeepPipelineStarvesNobody(t *testing.T) {
	srv := newTestServer(t, engine.FsyncNo)
	addr := serve(t, srv)
	value := strings.Repeat("z", 200<<10)
	busy, other := dial(t, addr), dial(t, addr)
	busy.send("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n" + bulkReply(value))
	busy.want("+OK\r\n")
	const n = 10_000 // 2 GB of replies from one read
	go io.Copy(io.Discard, busy.r)
	busy.send(strings.Repeat("GET k\r\n", n))
	calls := func() uint64 {
		for _, row := range srv.commandStats() {
			if row.cmd.name == "get" {
				return row.calls
			}
		}
		return 0
	}
	waitFor(t, "the pipeline to begin", func() bool { return calls() > 0 })
	other.send("PING\r\n")
	other.want("+PONG\r\n")
	if calls() >= n {
		t.Error("the other waited for the whole pipeline")
	}
	for range 10 {
		other.send("PING\r\n")
		other.want("+PONG\r\n")
	}
}

func TestClientKill(t *testing.T) {
	srv := newTestServer(t, engine.FsyncNo, "io-threads", "2")
	addr := serve(t, srv)
	clients := make([]*client, 6) // on both loops
	for i := range clients {
		clients[i] = dial(t, addr)
		clients[i].send("CLIENT SETNAME c" + strconv.Itoa(i) + "\r\n")
		clients[i].want("+OK\r\n")
	}
	ids := make(map[string]int64)
	for _, info := range srv.clients.all(nil) {
		ids[info.name] = info.id
	}
	for i := 1; i < 4; i++ {
		clients[0].send(fmt.Sprintf("CLIENT KILL ID %d\r\n", ids["c"+strconv.Itoa(i)]))
		clients[0].want(":1\r\n")
		clients[i].wantEnd()
	}
	clients[0].send("CLIENT KILL TYPE normal SKIPME no\r\nPING\r\n")
	clients[0].want(":3\r\n")
	for _, i := range []int{0, 4, 5} {
		clients[i].wantEnd()
	}
	waitFor(t, "the sessions to end", func() bool { return srv.connected.Load() == 0 })
}

func TestIdleClientsAreClosed(t *testing.T) {
	srv := newTestServer(t, engine.FsyncNo, "timeout", "3600")
	var ahead atomic.Int64 // of the clock, in ms
	clock := srv.nowMs
	srv.nowMs = func() int64 { return clock() + ahead.Load() }
	addr := serve(t, srv)
	c := dial(t, addr)
	c.send("PING\r\n")
	c.want("+PONG\r\n")
	ahead.Store(3601_000)
	c.wantEnd()
}

// TestProtectedMode: who comes from elsewhere is refused, unless there is a password or the mode is off; here
// by the address that the transport tells, and over each address that the machine has.
func TestProtectedMode(t *testing.T) {
	outside := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1}
	for _, c := range []struct {
		remote  *net.TCPAddr
		options []string
		refused bool
	}{
		{outside, nil, true},
		{&net.TCPAddr{IP: net.ParseIP("2001:db8::1"), Port: 1}, nil, true},
		{outside, []string{"protected-mode", "no"}, false},
		{outside, []string{"requirepass", "secret"}, false},
		{&net.TCPAddr{IP: net.IPv4(127, 1, 2, 3), Port: 1}, nil, false},
		{&net.TCPAddr{IP: net.IPv6loopback, Port: 1}, nil, false},
		{nil, nil, false}, // a socket without a TCP address
	} {
		srv := newTestServer(t, engine.FsyncNo, c.options...)
		fake := newFakeLoop(t)
		l := srv.addLoop(fake)
		fake.do(func() {
			_, refusal := l.opened(-1, c.remote)
			if want := map[bool]string{true: deniedText}[c.refused]; refusal != want {
				t.Errorf("%v, %v: %q", c.remote, c.options, refusal)
			}
		})
	}
	for _, host := range outsideAddresses(t) {
		srv := newTestServer(t, engine.FsyncNo, "bind", host)
		addr := serve(t, srv)
		c := dial(t, addr)
		c.want(deniedText)
		c.wantEnd()
		if err := srv.cfg.SetRuntime([][2]string{{"protected-mode", "no"}}); err != nil {
			t.Fatal(err)
		}
		c = dial(t, addr)
		c.send("PING\r\n")
		c.want("+PONG\r\n")
	}
}

// outsideAddresses are the IPv4 addresses of the machine but loopback.
func outsideAddresses(t *testing.T) (hosts []string) {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() && ip.IP.To4() != nil {
			hosts = append(hosts, ip.IP.String())
		}
	}
	return hosts
}

// TestShutdown: held replies are sent, connections close, Serve returns, the port is free.
func TestShutdown(t *testing.T) {
	srv := newTestServer(t, engine.FsyncAlways)
	addr := serve(t, srv)
	c := dial(t, addr)
	c.send("INCR k\r\nSHUTDOWN\r\n")
	c.want(":1\r\n")
	c.wantEnd()
	<-srv.served
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
}

func TestListen(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	srv := newTestServer(t, engine.FsyncOff, "port", port)
	if err := srv.Serve(); err == nil || !strings.Contains(err.Error(), "--port") {
		t.Errorf("a busy port: %v", err)
	}
	srv.Shutdown()

	srv = newTestServer(t, engine.FsyncOff, "bind", "127.0.0.1 -::1 -192.0.2.1")
	serve(t, srv)
	for _, addr := range srv.Addrs() {
		c := dial(t, addr)
		c.send("PING\r\n")
		c.want("+PONG\r\n")
	}
	srv = newTestServer(t, engine.FsyncOff, "bind", "192.0.2.1")
	if err := srv.Serve(); err == nil {
		t.Error("listens on an address this machine does not have")
	}
}

// BenchmarkTCP is one client over loopback, per command.
func BenchmarkTCP(b *testing.B) {
	for _, depth := range []int{1, 16, 64} {
		b.Run("P="+strconv.Itoa(depth), func(b *testing.B) {
			c := dial(b, serve(b, newTestServer(b, engine.FsyncNo)))
			in := []byte(strings.Repeat("INCRBY counter -1\r\nINCRBY counter 1\r\n", (depth+1)/2))
			in = bytes.Join(bytes.SplitAfter(in, []byte("\n"))[:depth], nil)
			_ = c.SetDeadline(time.Time{})
			for b.Loop() {
				_, _ = c.Write(in)
				for range depth {
					if _, err := c.r.ReadSlice('\n'); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*depth), "ns/command")
		})
	}
}
