package resp

import (
	"bufio"
	"math"
	"net"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadReplies(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Reply
	}{
		{":12\r\n", Integer(12)}, {":-9223372036854775808\r\n", Integer(math.MinInt64)},
		{"$2\r\n-7\r\n", Integer(-7)}, {"$19\r\n9223372036854775807\r\n", Integer(math.MaxInt64)},
		{"$19\r\n9223372036854775808\r\n", Reply{Kind: '$', Text: []byte("9223372036854775808")}},
		{"$0\r\n\r\n", Reply{Kind: '$'}}, {"$2\r\n\r\n\r\n", Reply{Kind: '$', Text: []byte("\r\n")}},
		{"$-1\r\n", Absent}, {"*-1\r\n", Absent}, {"+OK\r\n", OK}, {"*3\r\n", Reply{Kind: '*', N: 3}},
		{"-ERR no\r\n", Reply{Kind: '-', Text: []byte("ERR no")}},
	} {
		conn := &Conn{in: bufio.NewReader(iotest.OneByteReader(strings.NewReader(c.in + ":5\r\n")))}
		if r, err := conn.Read(); err != nil || !r.Is(c.want) {
			t.Errorf("%q: %v, %v", c.in, r, err)
		}
		if r, err := conn.Read(); err != nil || !r.Is(Integer(5)) {
			t.Errorf("after %q: %v, %v", c.in, r, err)
		}
	}
	for _, in := range []string{"", ":1", ":\r\n", ":1x\r\n", ":9223372036854775808\r\n", "hello\r\n", "\r\n",
		"$x\r\n", "$1048577\r\n", "$5\r\nab\r\n", ":1\n"} {
		conn := &Conn{in: bufio.NewReader(strings.NewReader(in))}
		if r, err := conn.Read(); err == nil {
			t.Errorf("%q is read as %v", in, r)
		}
	}
}

func TestRequests(t *testing.T) {
	client, server := net.Pipe()
	defer server.Close()
	conn := &Conn{net: client, in: bufio.NewReader(client)}
	defer conn.Close()
	got := make(chan string)
	go func() {
		buf := make([]byte, 100)
		n, _ := server.Read(buf)
		got <- string(buf[:n])
		server.Write([]byte(":1\r\n"))
	}()
	conn.Array(3)
	conn.Words("INCRBY")
	conn.Word([]byte("key"))
	conn.Number(-12)
	if err := conn.Send(); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "*3\r\n$6\r\nINCRBY\r\n$3\r\nkey\r\n$3\r\n-12\r\n" {
		t.Errorf("sent %q", text)
	}
	if r, err := conn.Read(); err != nil || !r.Is(Integer(1)) {
		t.Errorf("%v, %v", r, err)
	}
}
