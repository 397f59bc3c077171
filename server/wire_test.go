package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// encodeCommand is a command as clients send it.
func encodeCommand(args []string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, arg := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return b
}

// readReply reads one whole reply and returns its bytes.
func readReply(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return line, err
	}
	if len(line) < 3 {
		return nil, fmt.Errorf("no reply: %q", line)
	}
	size := strings.TrimRight(string(line[1:]), "\r\n")
	switch line[0] {
	case '+', '-', ':', ',', '#', '_', '(':
		return line, nil
	case '$', '=':
		n, err := strconv.Atoi(size)
		if err != nil || n < 0 {
			return line, err
		}
		body := make([]byte, n+2)
		_, err = io.ReadFull(r, body)
		return append(line, body...), err
	case '*', '~', '%', '>':
		n, err := strconv.Atoi(size)
		if line[0] == '%' {
			n *= 2
		}
		for i := 0; i < n && err == nil; i++ {
			var element []byte
			element, err = readReply(r)
			line = append(line, element...)
		}
		return line, err
	}
	return nil, fmt.Errorf("no reply: %q", line)
}

// replyLines splits a reply at its line ends into lines of a transcript: printable ones as they
// are, others quoted.
func replyLines(reply []byte) []string {
	lines := strings.Split(strings.TrimSuffix(string(reply), "\r\n"), "\r\n")
	for i, line := range lines {
		quoted := strconv.Quote(line)
		if line == "" || quoted != `"`+line+`"` || strings.ContainsAny(line[:1], `>#@~"`) {
			lines[i] = quoted
		}
	}
	return lines
}

// splitArgs splits a line as redis-cli does: words, "with \x00 and other escapes", 'plain'.
func splitArgs(line string) (args []string, err error) {
	for {
		line = strings.TrimLeft(line, " ")
		if line == "" {
			return args, nil
		}
		var arg string
		switch line[0] {
		case '"':
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, fmt.Errorf("%w in %s", err, line)
			}
			if arg, err = strconv.Unquote(quoted); err != nil {
				return nil, fmt.Errorf("%w in %s", err, line)
			}
			line = line[len(quoted):]
		case '\'':
			var closed bool
			if arg, line, closed = strings.Cut(line[1:], "'"); !closed {
				return nil, errors.New("a quote is not closed: " + line)
			}
		default:
			arg, line, _ = strings.Cut(line, " ")
		}
		args = append(args, arg)
	}
}

// sameShape reports whether two replies differ in nothing but the digits of numbers.
func sameShape(a, b []byte) bool {
	return bytes.Equal(withoutDigits(a), withoutDigits(b))
}

// withoutDigits replaces each run of digits with one zero.
func withoutDigits(b []byte) []byte {
	var out []byte
	for _, c := range b {
		if c >= '0' && c <= '9' {
			if len(out) > 0 && out[len(out)-1] == '0' {
				continue
			}
			c = '0'
		}
		out = append(out, c)
	}
	return out
}
