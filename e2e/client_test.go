package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A reply is a RESP2 reply. kind is its first byte; a nil has kind '_'.
type reply struct {
	kind byte
	n    int64    // of an integer
	s    string   // of a status, an error or a bulk string
	list *[]reply // of an array
}

// elements are those of an array.
func (r reply) elements() []reply {
	if r.list == nil {
		return nil
	}
	return *r.list
}

func (r reply) String() string {
	switch r.kind {
	case '_':
		return "nil"
	case ':':
		return fmt.Sprintf(":%d", r.n)
	case '*':
		return fmt.Sprint(r.elements())
	case '$':
		return strconv.Quote(r.s)
	}
	return string(r.kind) + r.s
}

func intReply(n int64) reply { return reply{kind: ':', n: n} }
func bulk(s string) reply    { return reply{kind: '$', s: s} }

var (
	okReply  = reply{kind: '+', s: "OK"}
	nilReply = reply{kind: '_'}
)

// same compares two replies that are not arrays.
func (r reply) same(o reply) bool { return r.kind == o.kind && r.n == o.n && r.s == o.s }

var errNoReply = errors.New("not a reply")

// readReply reads one reply.
func readReply(r *bufio.Reader) (reply, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return reply{}, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return reply{}, fmt.Errorf("%w: %q", errNoReply, line)
	}
	kind, text := line[0], line[1:len(line)-2]
	switch kind {
	case '+', '-':
		if kind == '+' && string(text) == "OK" {
			return okReply, nil
		}
		return reply{kind: kind, s: string(text)}, nil
	case ':', '$', '*':
	default:
		return reply{}, fmt.Errorf("%w: %q", errNoReply, line)
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	switch {
	case err != nil:
		return reply{}, fmt.Errorf("%w: %q", errNoReply, line)
	case kind == ':':
		return intReply(n), nil
	case n < 0:
		return nilReply, nil
	case kind == '$':
		body := make([]byte, n+2)
		if _, err := io.ReadFull(r, body); err != nil {
			return reply{}, err
		}
		return bulk(string(body[:n])), nil
	}
	list := make([]reply, n)
	for i := range list {
		if list[i], err = readReply(r); err != nil {
			return reply{}, err
		}
	}
	return reply{kind: '*', list: &list}, nil
}

// appendCommand appends a command as clients send it.
func appendCommand(dst []byte, args ...string) []byte {
	dst = append(dst, '*')
	dst = strconv.AppendInt(dst, int64(len(args)), 10)
	for _, a := range args {
		dst = append(dst, "\r\n$"...)
		dst = strconv.AppendInt(dst, int64(len(a)), 10)
		dst = append(dst, "\r\n"...)
		dst = append(dst, a...)
	}
	return append(dst, "\r\n"...)
}

// A client is one connection.
type client struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
	buf  []byte
}

func (p *process) dial() *client {
	p.t.Helper()
	conn, err := net.DialTimeout("tcp", p.addr, patience)
	if err != nil {
		p.t.Fatalf("%v; the log:\n%s", err, &p.log)
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience)) // so that nothing hangs for ever
	return &client{t: p.t, conn: conn, r: bufio.NewReaderSize(conn, 64<<10)}
}

// try runs one command.
func (c *client) try(args ...string) (reply, error) {
	c.buf = appendCommand(c.buf[:0], args...)
	if _, err := c.conn.Write(c.buf); err != nil {
		return reply{}, err
	}
	return readReply(c.r)
}

// do runs one command that must have a reply.
func (c *client) do(args ...string) reply {
	c.t.Helper()
	r, err := c.try(args...)
	if err != nil {
		c.t.Fatalf("%.100q: %v", args, err)
	}
	return r
}

// int is the reply of a command that answers an integer, or the integer in its bulk string; an
// absent key is 0.
func (c *client) int(args ...string) int64 {
	c.t.Helper()
	return c.toInt(c.do(args...), args...)
}

func (c *client) toInt(r reply, args ...string) int64 {
	c.t.Helper()
	switch r.kind {
	case ':':
		return r.n
	case '_':
		return 0
	case '$':
		if n, err := strconv.ParseInt(r.s, 10, 64); err == nil {
			return n
		}
	}
	c.t.Fatalf("%.100q: %v is no integer", args, r)
	return 0
}

// ints is MGET of keys that hold counters.
func (c *client) ints(keys []string) []int64 {
	c.t.Helper()
	values := make([]int64, 0, len(keys))
	for _, r := range c.do(append([]string{"MGET"}, keys...)...).elements() {
		values = append(values, c.toInt(r, "MGET"))
	}
	if len(values) != len(keys) {
		c.t.Fatalf("MGET of %d keys answers %d values", len(keys), len(values))
	}
	return values
}

// infoNumber is one number of an INFO text, 0 where it is missing.
func infoNumber(text, name string) int64 {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return n
		}
	}
	return 0
}
