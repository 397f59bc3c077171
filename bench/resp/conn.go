// Package resp is a client of servers that speak RESP2: requests are built by hand and sent together,
// replies are read one by one, without an allocation for each.
package resp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// Patience is how long a server may take for a batch of requests, or for a start.
const Patience = 60 * time.Second

// maxBulk bounds a bulk string of a reply; INFO is the longest that is asked for.
const maxBulk = 1 << 20

// Reply is a RESP2 reply: Kind is its type byte, ':' also for an integer in a bulk string, '_' for nil;
// N is an integer or the number of elements of an array, which follow as replies.
type Reply struct {
	Kind byte
	N    int64
	Text []byte // of a status, an error, another bulk string; valid until the next reply is read
}

func (r Reply) String() string {
	switch r.Kind {
	case '_':
		return "nil"
	case ':':
		return strconv.FormatInt(r.N, 10)
	case '*':
		return fmt.Sprintf("an array of %d", r.N)
	}
	return fmt.Sprintf("%c%.200q", r.Kind, r.Text)
}

// Is compares two replies.
func (r Reply) Is(o Reply) bool {
	return r.Kind == o.Kind && r.N == o.N && string(r.Text) == string(o.Text)
}

// Integer is the reply of an integer.
func Integer(n int64) Reply { return Reply{Kind: ':', N: n} }

// Replies without a number.
var (
	OK     = Reply{Kind: '+', Text: []byte("OK")}
	Absent = Reply{Kind: '_'}
)

var errNoReply = errors.New("the server sent no RESP")

// Conn is a connection; requests are collected and sent together. One goroutine at a time.
type Conn struct {
	net  net.Conn
	in   *bufio.Reader
	out  []byte // requests not yet sent
	body []byte // of the last bulk string
}

// Dial connects to a TCP address.
func Dial(address string) (*Conn, error) {
	c, err := net.DialTimeout("tcp", address, Patience)
	if err != nil {
		return nil, err
	}
	return &Conn{net: c, in: bufio.NewReaderSize(c, 64<<10)}, nil
}

// Close closes the connection.
func (c *Conn) Close() { c.net.Close() }

// Array begins a request of n words.
func (c *Conn) Array(n int) {
	c.out = strconv.AppendInt(append(c.out, '*'), int64(n), 10)
	c.out = append(c.out, "\r\n"...)
}

// Word appends a word of a request.
func (c *Conn) Word(w []byte) { c.out = appendWord(c.out, w) }

// Words appends several of them.
func (c *Conn) Words(all ...string) {
	for _, w := range all {
		c.out = appendWord(c.out, w)
	}
}

func appendWord[W []byte | string](dst []byte, w W) []byte {
	dst = strconv.AppendInt(append(dst, '$'), int64(len(w)), 10)
	return append(append(append(dst, "\r\n"...), w...), "\r\n"...)
}

// Number appends a word that is an integer.
func (c *Conn) Number(n int64) {
	var digits [20]byte
	c.Word(strconv.AppendInt(digits[:0], n, 10))
}

// Send sends what was collected.
func (c *Conn) Send() error {
	c.net.SetDeadline(time.Now().Add(Patience))
	_, err := c.net.Write(c.out)
	c.out = c.out[:0]
	return err
}

// Do sends one request and reads its reply.
func (c *Conn) Do(words ...string) (Reply, error) {
	c.Array(len(words))
	c.Words(words...)
	if err := c.Send(); err != nil {
		return Reply{}, err
	}
	return c.Read()
}

// Read reads one reply, or the header of an array.
func (c *Conn) Read() (Reply, error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return Reply{}, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return Reply{}, fmt.Errorf("%w: %.100q", errNoReply, line)
	}
	kind, text := line[0], line[1:len(line)-2]
	switch kind {
	case '+', '-':
		return Reply{Kind: kind, Text: text}, nil
	case ':', '$', '*':
	default:
		return Reply{}, fmt.Errorf("%w: %.100q", errNoReply, line)
	}
	n, numeric := parseInt(text)
	switch {
	case !numeric || kind == '$' && n > maxBulk:
		return Reply{}, fmt.Errorf("%w: %.100q", errNoReply, line)
	case kind != ':' && n < 0:
		return Absent, nil
	case kind != '$':
		return Reply{Kind: kind, N: n}, nil
	}
	c.body = append(c.body[:0], make([]byte, n+2)...)
	if _, err := io.ReadFull(c.in, c.body); err != nil {
		return Reply{}, err
	}
	body := c.body[:n]
	if v, numeric := parseInt(body); numeric {
		return Integer(v), nil
	}
	return Reply{Kind: '$', Text: body}, nil
}

// parseInt reads a decimal int64 without an allocation.
func parseInt(text []byte) (n int64, numeric bool) {
	digits := text
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	var sum uint64
	for _, d := range digits {
		if d < '0' || d > '9' {
			return 0, false
		}
		sum = sum*10 + uint64(d-'0')
	}
	if len(digits) < len(text) {
		return -int64(sum), sum <= 1<<63
	}
	return int64(sum), sum < 1<<63
}
