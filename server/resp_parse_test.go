package server

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/redcon"
)

var testLimits = parseLimits{maxBulkLen: defaultMaxBulkLen}

// parseChunks feeds chunks as a session does and returns the commands and the error that ended it.
func parseChunks(chunks [][]byte, lim parseLimits) (commands [][]string, failure string) {
	var p parser
	var buf []byte
	for _, chunk := range chunks {
		buf = append(bytes.Clone(buf), chunk...) // at another address each time
		for len(buf) > 0 {
			args, n, err := p.next(buf, lim)
			if err != nil {
				return commands, err.Error()
			}
			if n == 0 {
				break
			}
			if len(args) > 0 {
				commands = append(commands, toStrings(args))
			}
			buf = buf[n:]
		}
	}
	return commands, ""
}

func toStrings(args [][]byte) []string {
	s := make([]string, len(args))
	for i, arg := range args {
		s[i] = string(arg)
	}
	return s
}

// parseSlowly is the specification: it reads commands from the whole input at once.
func parseSlowly(in string, lim parseLimits) (commands [][]string, failure string) {
	fail := func(text string) ([][]string, string) { return commands, "Protocol error: " + text }
	// line cuts a line off at end. more is set where it is not complete.
	line := func(s string, end byte) (text, rest string, more, long bool) {
		i := strings.IndexByte(s, end)
		zero := strings.IndexByte(s, 0)
		if i < 0 || zero >= 0 && zero < i {
			return "", "", true, len(s) > maxLineLen
		}
		if i > maxLineLen {
			return "", "", true, true
		}
		if end == '\n' {
			return s[:i], s[i+1:], false, false
		}
		if i+1 == len(s) {
			return "", "", true, false
		}
		return s[:i], s[i+2:], false, false
	}
	number := func(s string) (int64, bool) {
		n, err := strconv.ParseInt(s, 10, 64)
		return n, err == nil && strconv.FormatInt(n, 10) == s
	}
	for in != "" {
		if in[0] != '*' {
			text, rest, more, long := line(in, '\n')
			if long {
				return fail("too big inline request")
			}
			if more {
				return commands, ""
			}
			words, ok := slowWords(strings.TrimSuffix(text, "\r"))
			if !ok {
				return fail("unbalanced quotes in request")
			}
			if len(words) > 0 {
				commands = append(commands, words)
			}
			in = rest
			continue
		}
		text, rest, more, long := line(in, '\r')
		if long {
			return fail("too big mbulk count string")
		}
		if more {
			return commands, ""
		}
		argc, ok := number(text[1:])
		if !ok || argc > 1<<31-1 {
			return fail("invalid multibulk length")
		}
		if lim.unauthed && argc > 10 {
			return fail("unauthenticated multibulk length")
		}
		in = rest
		var args []string
		for ; argc > 0; argc-- {
			text, rest, more, long := line(in, '\r')
			if long {
				return fail("too big bulk count string")
			}
			if more {
				return commands, ""
			}
			if !strings.HasPrefix(text, "$") {
				return fail("expected '$', got '" + in[:1] + "'")
			}
			size, ok := number(text[1:])
			if !ok || size < 0 || size > int64(lim.maxBulkLen) {
				return fail("invalid bulk length")
			}
			if lim.unauthed && size > 16384 {
				return fail("unauthenticated bulk length")
			}
			if int64(len(rest)) < size+2 {
				return commands, ""
			}
			args = append(args, rest[:size])
			in = rest[size+2:]
		}
		if len(args) > 0 {
			commands = append(commands, args)
		}
	}
	return commands, ""
}

// slowWords splits an inline command, one rune of state at a time.
func slowWords(line string) (words []string, ok bool) {
	for {
		line = strings.TrimLeft(line, " \t\n\v\f\r")
		if line == "" {
			return words, true
		}
		var word strings.Builder
		for line != "" && !strings.ContainsAny(line[:1], " \t\n\r") {
			q := line[0]
			line = line[1:]
			if q != '"' && q != '\'' {
				word.WriteByte(q)
				continue
			}
			for {
				switch {
				case line == "":
					return nil, false
				case line[0] == q:
					line = line[1:]
					if line != "" && !strings.ContainsAny(line[:1], " \t\n\v\f\r") {
						return nil, false
					}
					goto closed
				case q == '\'' && strings.HasPrefix(line, `\'`):
					word.WriteByte('\'')
					line = line[2:]
				case q == '"' && len(line) >= 4 && line[:2] == `\x` && slowHex(line[2:4]) >= 0:
					word.WriteByte(byte(slowHex(line[2:4])))
					line = line[4:]
				case q == '"' && line[0] == '\\' && len(line) > 1:
					escapes := map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'a': '\a'}
					c, ok := escapes[line[1]]
					if !ok {
						c = line[1]
					}
					word.WriteByte(c)
					line = line[2:]
				default:
					word.WriteByte(line[0])
					line = line[1:]
				}
			}
		closed:
			break
		}
		words = append(words, word.String())
	}
}

func slowHex(s string) int {
	n, err := strconv.ParseUint(s, 16, 8)
	if err != nil || s[0] == '+' || s[0] == '_' || s[1] == '_' {
		return -1
	}
	return int(n)
}

func TestParser(t *testing.T) {
	long := strings.Repeat("x", maxLineLen+1)
	unauthed := parseLimits{maxBulkLen: defaultMaxBulkLen, unauthed: true}
	tests := []struct {
		in       string
		lim      parseLimits
		commands [][]string
		failure  string
	}{
		{"*1\r\n$4\r\nPING\r\n", testLimits, [][]string{{"PING"}}, ""},
		{"*3\r\n$6\r\nINCRBY\r\n$1\r\nk\r\n$2\r\n10\r\n*1\r\n$4\r\nPING\r\n", testLimits,
			[][]string{{"INCRBY", "k", "10"}, {"PING"}}, ""},
		{"*2\r\n$3\r\nGET\r\n$0\r\n\r\n", testLimits, [][]string{{"GET", ""}}, ""},
		{"*0\r\n*-1\r\n*-10\r\n*1\r\n$4\r\nPING\r\n", testLimits, [][]string{{"PING"}}, ""},
		// Nobody looks at what ends an argument.
		{"*1\r\n$4\r\nPINGxy*1\rz$4\r!PONG\r\n", testLimits, [][]string{{"PING"}, {"PONG"}}, ""},
		{"*1\r\n$4\r\nPIN", testLimits, nil, ""},
		{"*11\r\n" + strings.Repeat("$1\r\na\r\n", 11), testLimits,
			[][]string{strings.Split(strings.Repeat("a", 11), "")}, ""},

		{"*a\r\n", testLimits, nil, "invalid multibulk length"},
		{"*\r\n", testLimits, nil, "invalid multibulk length"},
		{"*01\r\n", testLimits, nil, "invalid multibulk length"},
		{"*+1\r\n", testLimits, nil, "invalid multibulk length"},
		{"*2147483648\r\n", testLimits, nil, "invalid multibulk length"},
		{"*99999999999999999999\r\n", testLimits, nil, "invalid multibulk length"},
		{"*1\r\n$-2\r\n", testLimits, nil, "invalid bulk length"},
		{"*1\r\n$-1\r\n", testLimits, nil, "invalid bulk length"},
		{"*1\r\n$\r\n", testLimits, nil, "invalid bulk length"},
		{"*1\r\n$04\r\nPING\r\n", testLimits, nil, "invalid bulk length"},
		{"*1\r\n$536870913\r\n", testLimits, nil, "invalid bulk length"},
		{"*1\r\n$536870912\r\n", testLimits, nil, ""},
		{"*1\r\nPING\r\n", testLimits, nil, "expected '$', got 'P'"},
		{"*1\r\n\r\n", testLimits, nil, "expected '$', got '\r'"},
		{"*1\r\nP", testLimits, nil, ""}, // the line may still come
		{"*" + long, testLimits, nil, "too big mbulk count string"},
		{"*1\r\n$" + long, testLimits, nil, "too big bulk count string"},
		{long, testLimits, nil, "too big inline request"},
		{long[1:], testLimits, nil, ""},
		{"*1\x00\r\n$4\r\nPING\r\n", testLimits, nil, ""}, // strchr ends at the zero byte
		{"PING\x00\r\nPING\r\n", testLimits, nil, ""},

		{"*10\r\n", unauthed, nil, ""},
		{"*11\r\n", unauthed, nil, "unauthenticated multibulk length"},
		{"*1\r\n$16384\r\n", unauthed, nil, ""},
		{"*1\r\n$16385\r\n", unauthed, nil, "unauthenticated bulk length"},

		{"PING\r\nPING\n\r\n\n  \t \n", testLimits, [][]string{{"PING"}, {"PING"}}, ""},
		{"SET  k\t'a b' \r\n", testLimits, [][]string{{"SET", "k", "a b"}}, ""},
		{`ECHO "a\x41\xzz\n\t\"\\" 'it\'s \n' ""` + "\n", testLimits,
			[][]string{{"ECHO", "aAxzz\n\t\"\\", `it's \n`, ""}}, ""},
		{`ECHO a"b c" d` + "\n", testLimits, [][]string{{"ECHO", "ab c", "d"}}, ""},
		{"ECHO \"abc\r\n", testLimits, nil, "unbalanced quotes in request"},
		{`ECHO "a"b` + "\n", testLimits, nil, "unbalanced quotes in request"},
		{"ECHO 'abc\n", testLimits, nil, "unbalanced quotes in request"},
		{"ECHO \"abc\\\n", testLimits, nil, "unbalanced quotes in request"},
		{"$4\r\nPING\r\n", testLimits, [][]string{{"$4"}, {"PING"}}, ""}, // not Tile38's form
	}
	for _, test := range tests {
		if test.failure != "" {
			test.failure = "Protocol error: " + test.failure
		}
		sizes := []int{len(test.in), 1, 3, 7}
		if len(test.in) > 1000 {
			sizes = []int{len(test.in), 999}
		}
		for _, size := range sizes {
			commands, failure := parseChunks(cut(test.in, size), test.lim)
			if !reflect.DeepEqual(commands, test.commands) || failure != test.failure {
				t.Errorf("%.60q in pieces of %d: %q, %q; want %q, %q", test.in, size,
					commands, failure, test.commands, test.failure)
			}
		}
		commands, failure := parseSlowly(test.in, test.lim)
		if !reflect.DeepEqual(commands, test.commands) || failure != test.failure {
			t.Errorf("the slow parser: %.60q: %q, %q", test.in, commands, failure)
		}
	}
}

// cut splits s into pieces of size bytes.
func cut(s string, size int) (chunks [][]byte) {
	for size > 0 && len(s) > size {
		chunks = append(chunks, []byte(s[:size]))
		s = s[size:]
	}
	return append(chunks, []byte(s))
}

// FuzzParser checks that any bytes, cut anywhere, give what the slow parser finds in all of them.
func FuzzParser(f *testing.F) {
	for _, c := range commands().all {
		args := strings.Split(strings.ReplaceAll(c.name, "|", " "), " ")
		for len(args) < max(c.arity, -c.arity) {
			args = append(args, "1")
		}
		f.Add(encodeCommand(args), uint64(1), false)
		f.Add([]byte(strings.Join(args, " ")+"\r\n"), uint64(2), true)
	}
	f.Add([]byte("*1\r\n$-2\r\n"), uint64(3), false)
	f.Add([]byte("*2147483647\r\n$536870912\r\n"), uint64(4), false)
	f.Add([]byte("a \"\\x4\\x41\" '\\'' \"\"\n*0\r\n"), uint64(5), true)
	f.Fuzz(func(t *testing.T, in []byte, seed uint64, unauthed bool) {
		lim := parseLimits{maxBulkLen: 1 << 20, unauthed: unauthed}
		rng := rand.New(rand.NewPCG(seed, 0))
		var chunks [][]byte
		for rest := in; len(rest) > 0; {
			n := min(len(rest), 1+rng.IntN(1+rng.IntN(64)))
			chunks = append(chunks, rest[:n])
			rest = rest[n:]
		}
		commands, failure := parseChunks(chunks, lim)
		want, wantFailure := parseSlowly(string(in), lim)
		if !reflect.DeepEqual(commands, want) || failure != wantFailure {
			t.Errorf("%q in pieces: %q, %q\nwant %q, %q", in, commands, failure, want, wantFailure)
		}
	})
}

// TestParserAgainstSlowParser makes input that is nearly right, which random bytes are not.
func TestParserAgainstSlowParser(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	pieces := []string{"*1\r\n", "*2\r\n", "*3\r\n", "*12\r\n", "*0\r\n", "*-1\r\n", "$1\r\na\r\n",
		"$0\r\n\r\n", "$3\r\nabc\r\n", "$10\r\n0123456789\r\n", "\r\n", "\n", "\r", "*", "$", "1", "0",
		"PING\r\n", " ", "\"", "'", "\\x41", "\\", "\x00", "$5\r\na\r\nbc\r\n", "$-1\r\n", "$07\r\n"}
	for range 10000 {
		var in strings.Builder
		for range 1 + rng.IntN(12) {
			in.WriteString(pieces[rng.IntN(len(pieces))])
		}
		lim := parseLimits{maxBulkLen: 1 << 20, unauthed: rng.IntN(4) == 0}
		commands, failure := parseChunks(cut(in.String(), 1+rng.IntN(20)), lim)
		want, wantFailure := parseSlowly(in.String(), lim)
		if !reflect.DeepEqual(commands, want) || failure != wantFailure {
			t.Fatalf("seed %d: %q: %q, %q; want %q, %q", seed, in.String(), commands, failure,
				want, wantFailure)
		}
	}
}

const incrbyCommand = "*3\r\n$6\r\nINCRBY\r\n$7\r\ncounter\r\n$1\r\n1\r\n"

// The baseline is redcon's parser, which has no limits and no memory of where it stopped.
func BenchmarkParser(b *testing.B) {
	pipeline := []byte(strings.Repeat(incrbyCommand, 64))
	b.Run("countd", func(b *testing.B) {
		var p parser
		buf := pipeline
		for b.Loop() {
			_, n, err := p.next(buf, testLimits)
			if err != nil || n == 0 {
				b.Fatal(n, err)
			}
			if buf = buf[n:]; len(buf) == 0 {
				buf = pipeline
			}
		}
	})
	b.Run("redcon", func(b *testing.B) {
		buf := pipeline
		var args [][]byte
		for b.Loop() {
			_, a, _, rest, err := redcon.ReadNextCommand(buf, args[:0])
			if err != nil {
				b.Fatal(err)
			}
			if args, buf = a, rest; len(buf) == 0 {
				buf = pipeline
			}
		}
	})
	for _, size := range []int{100, 1 << 20} {
		b.Run(fmt.Sprintf("bulk=%d", size), func(b *testing.B) {
			in := encodeCommand([]string{"SET", "k", strings.Repeat("x", size)})
			b.SetBytes(int64(len(in)))
			var p parser
			for b.Loop() {
				if _, n, err := p.next(in, testLimits); n == 0 || err != nil {
					b.Fatal(n, err)
				}
			}
		})
	}
}
