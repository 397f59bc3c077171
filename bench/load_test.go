package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// tinyServer is as much of a Redis server as the generator needs: it counts requests by command and
// answers :1, after a delay where one is set.
type tinyServer struct {
	l     net.Listener
	delay atomic.Int64 // nanoseconds before each reply
	auth  string
	mu    struct {
		sync.Mutex
		commands map[string]int
		keys     map[string]int
	}
}

func newTinyServer(t *testing.T) *tinyServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &tinyServer{l: l}
	s.reset()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	t.Cleanup(func() { l.Close() })
	return s
}

func (s *tinyServer) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.commands, s.mu.keys = map[string]int{}, map[string]int{}
}

func (s *tinyServer) port() int { return s.l.Addr().(*net.TCPAddr).Port }

func (s *tinyServer) serve(conn net.Conn) {
	defer conn.Close()
	in, out := bufio.NewReader(conn), bufio.NewWriter(conn)
	for {
		words, err := readRequest(in)
		if err != nil {
			return
		}
		time.Sleep(time.Duration(s.delay.Load()))
		switch {
		case words[0] == "AUTH" && words[1] != s.auth:
			out.WriteString("-WRONGPASS invalid\r\n")
		case words[0] == "GET":
			out.WriteString("$2\r\n42\r\n")
		case words[0] == "SET":
			out.WriteString("-ERR no strings here\r\n")
		default:
			out.WriteString(":1\r\n")
		}
		s.mu.Lock()
		s.mu.commands[words[0]]++
		if len(words) > 1 {
			s.mu.keys[words[1]]++
		}
		s.mu.Unlock()
		if in.Buffered() == 0 {
			out.Flush()
		}
	}
}

func readRequest(in *bufio.Reader) (words []string, err error) {
	number := func() (int, error) {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(strings.TrimSpace(line[1:]))
	}
	n, err := number()
	for range n {
		length, err := number()
		if err != nil {
			return nil, err
		}
		word := make([]byte, length+2)
		if _, err := io.ReadFull(in, word); err != nil {
			return nil, err
		}
		words = append(words, string(word[:length]))
	}
	return words, err
}

// testOptions is a short load on s.
func testOptions(s *tinyServer) options {
	o := defaultOptions()
	o.port, o.conns, o.pipeline, o.warmup = s.port(), 4, 8, 0
	o.duration = 200 * time.Millisecond
	return o
}

func TestALoadSendsExactlyTheRequestsAskedFor(t *testing.T) {
	s := newTinyServer(t)
	o := testOptions(s)
	o.requests, o.mix, o.keys, o.keyspace = 1003, "INCRBY=3,GET=1", "uniform", 10
	r, err := load(t.Context(), o, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.mu.commands["INCRBY"] + s.mu.commands["GET"]
	if n != 1003 || r.Requests != 1003 || r.Errors != 0 {
		t.Errorf("the server saw %d requests, the report says %d with %d errors", n, r.Requests, r.Errors)
	}
	if share := float64(s.mu.commands["INCRBY"]) / 1003; share < 0.65 || share > 0.85 {
		t.Errorf("INCRBY is %.2f of the requests, want about 0.75", share)
	}
	if len(s.mu.keys) != 10 {
		t.Errorf("%d keys of 10: %v", len(s.mu.keys), s.mu.keys)
	}
	if r.Latency.P50 <= 0 || r.Latency.P50 > r.Latency.P99 || r.Latency.P99 > r.Latency.Max {
		t.Errorf("latency %+v", r.Latency)
	}
}

func TestSeqTouchesEveryKeyOnce(t *testing.T) {
	s := newTinyServer(t)
	o := testOptions(s)
	o.keys, o.keyspace, o.requests = "seq", 500, 500
	if _, err := load(t.Context(), o, io.Discard); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, n := range s.mu.keys {
		if n != 1 {
			t.Errorf("%s was touched %d times", key, n)
		}
	}
	if len(s.mu.keys) != 500 {
		t.Errorf("%d keys", len(s.mu.keys))
	}
}

func TestTheSameSeedGivesTheSameRequests(t *testing.T) {
	s := newTinyServer(t)
	var seen []map[string]int
	for range 2 {
		s.reset()
		o := testOptions(s)
		o.conns, o.keys, o.keyspace, o.requests, o.seed = 1, "zipf", 100, 400, 9
		if _, err := load(t.Context(), o, io.Discard); err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		seen = append(seen, s.mu.keys)
		s.mu.Unlock()
	}
	if fmt.Sprint(seen[0]) != fmt.Sprint(seen[1]) {
		t.Errorf("%v\n%v", seen[0], seen[1])
	}
}

func TestDurationWarmUpAndErrors(t *testing.T) {
	s := newTinyServer(t)
	o := testOptions(s)
	o.mix, o.warmup = "SET", 50*time.Millisecond
	r, err := load(t.Context(), o, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if r.Seconds < 0.2 || r.Requests == 0 {
		t.Errorf("%d requests in %v s", r.Requests, r.Seconds)
	}
	if r.Errors != r.Requests || r.FirstError != "ERR no strings here" {
		t.Errorf("%d errors in %d requests, the first %q", r.Errors, r.Requests, r.FirstError)
	}
}

// With a rate, the latency of a request counts from the instant it should have been sent: a server
// that needs 5 ms for each but is asked every millisecond falls behind, and the percentiles say so.
// A closed loop on the same server sees 5 ms.
func TestAnOpenLoopSeesTheRequestsThatASlowServerDelays(t *testing.T) {
	s := newTinyServer(t)
	s.delay.Store(int64(5 * time.Millisecond))
	o := testOptions(s)
	o.conns, o.pipeline, o.duration = 1, 1, 400*time.Millisecond
	closed, err := load(t.Context(), o, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	o.rate, o.duration = 1000, 2*time.Second // half of which is the median, unless the server needs a second, too
	open, err := load(t.Context(), o, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if open.Latency.P50 < 5*closed.Latency.P50 {
		t.Errorf("p50: open loop %v µs, closed loop %v µs", open.Latency.P50, closed.Latency.P50)
	}
}

func TestAnOpenLoopKeepsItsRate(t *testing.T) {
	s := newTinyServer(t)
	o := testOptions(s)
	o.rate, o.pipeline, o.duration = 2000, 2, 500*time.Millisecond
	for try := 1; ; try++ { // a busy machine may keep any load from its rate, but not always
		r, err := load(t.Context(), o, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if r.Requests >= 800 && r.Requests <= 1010 {
			return
		}
		if t.Logf("%d requests in half a second at 2000/s", r.Requests); r.Requests > 1010 || try == 40 {
			t.Fatal("that is not the rate")
		}
	}
}

func TestPasswords(t *testing.T) {
	s := newTinyServer(t)
	s.auth = "secret"
	o := testOptions(s)
	o.requests, o.password = 10, "secret"
	if _, err := load(t.Context(), o, io.Discard); err != nil {
		t.Error(err)
	}
	o.password = "wrong"
	if _, err := load(t.Context(), o, io.Discard); err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
		t.Errorf("got %v", err)
	}
}

func TestTheCommandLine(t *testing.T) {
	s := newTinyServer(t)
	port := fmt.Sprint(s.port())
	var out, errOut bytes.Buffer
	argv := []string{"run", "--port", port, "--requests", "100", "--conns", "2", "--json", "--quiet",
		"--warmup", "0", "--rate", "100000", "PFADD", "{key}", "{elem}"}
	if code := run(argv, &out, &errOut); code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	s.mu.Lock()
	seen := s.mu.commands["PFADD"]
	s.mu.Unlock()
	if r.Requests != 100 || r.Commands != "PFADD {key} {elem}" || seen != 100 {
		t.Errorf("%+v; the server saw %d of them", r, seen)
	}

	out.Reset()
	argv = []string{"--port", port, "--requests", "10", "--warmup", "0"}
	if code := run(argv, &out, &errOut); code != 0 ||
		!strings.Contains(out.String(), "throughput") || !strings.Contains(out.String(), "p99.9") {
		t.Errorf("exit code %d: %s", code, out.String())
	}
	for _, tc := range []struct {
		argv []string
		code int
		want string
	}{
		{[]string{"--pipeline", "0"}, 2, "--pipeline 0: must be between"},
		{[]string{"--keys", "all", "--port", port}, 2, "single, uniform, zipf or seq"},
		{[]string{"--nope"}, 2, "nope"},
		{[]string{"compare"}, 2, "--countd is missing"},
		{[]string{"compare", "--countd", "x", "--cases", "hot"}, 2, "KIND-pPIPELINE"},
		{[]string{"compare", "--countd", "no-such-program"}, 2, "make build builds bin/countd"},
		{[]string{"--port", "1"}, 1, "cannot reach a server"},
	} {
		errOut.Reset()
		code := run(tc.argv, io.Discard, &errOut)
		if code != tc.code || !strings.Contains(errOut.String(), tc.want) {
			t.Errorf("%q: exit code %d, %q", tc.argv, code, errOut.String())
		}
	}
	for _, ask := range []string{"--help", "help"} {
		out.Reset()
		code := run([]string{ask}, &out, io.Discard)
		if code != 0 || !strings.Contains(out.String(), "--zipf-s s\n") {
			t.Errorf("%s: exit code %d, %q", ask, code, out.String())
		}
		for _, name := range []string{"compare", "model", "fill", "verify", "soak"} {
			if !strings.Contains(out.String(), "\n  bench "+name+" ") {
				t.Errorf("%s does not name %s", ask, name)
			}
		}
	}
}

func TestAServerThatHangsUpIsReported(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	o := defaultOptions()
	o.port, o.conns, o.warmup, o.duration = l.Addr().(*net.TCPAddr).Port, 3, 0, time.Minute
	_, err = load(t.Context(), o, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "closed the connection") {
		t.Errorf("got %v", err)
	}
}
