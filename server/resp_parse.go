package server

import (
	"bytes"
	"fmt"

	"countd/engine"
)

// Limits of the protocol, as in Redis 7.0.15 (server.h, networking.c).
const (
	maxLineLen          = 64 << 10 // PROTO_INLINE_MAX_SIZE: inline commands and length lines
	maxArgs             = 1<<31 - 1
	maxUnauthedArgs     = 10
	maxUnauthedBulkLen  = 16384
	defaultMaxBulkLen   = 512 << 20
	maxKeptArgs         = 1024 // the argument slice of a larger command is not kept for the next
	maxKeptInlineBuffer = 4 << 10
)

// A parser finds commands in a stream of bytes. It is fed a buffer that begins where the present
// command begins; while that is not complete, it must be fed the same bytes again with more behind
// them (at another address, if need be), and goes on where it stopped: every byte is looked at at
// most twice, however the input is cut, and nothing is reserved for what was only announced.
//
// What it finds depends on the bytes only, not on how they are cut. Redis's limit on a line is one
// on what is buffered without a line end; here it is one on where the line end is.
//
// The zero value is ready.
type parser struct {
	args    [][]byte // of the last command; reused
	spans   []span   // arguments of the command under way
	scratch []byte   // unquoted arguments of an inline command

	left     int  // arguments to come; 0 where no multibulk header was read yet
	bulkLen  int  // length of the argument under way, -1 while its line was not read
	pos      int  // how far the command under way was read
	scanned  int  // the line that begins at pos has no end before this
	deadLine bool // the line holds a zero byte: Redis looks for its end with strchr and finds none
}

// A span is an argument's place, counted from the command's start.
type span struct{ start, end int }

// protocolError is a violation after which the connection closes. Its text follows
// "ERR Protocol error: ".
type protocolError string

func (e protocolError) Error() string { return "Protocol error: " + string(e) }

// parseLimits are what the parser believes of an announced length.
type parseLimits struct {
	maxBulkLen int
	unauthed   bool // the client must still authenticate itself: Redis believes it little
}

// next reads one command from buf, which must not be empty. n is the number of bytes it took, 0
// where it is not complete. A command of no arguments is one to pass over. The arguments are parts
// of buf or of the parser's memory and valid until the next call.
func (p *parser) next(buf []byte, lim parseLimits) (args [][]byte, n int, err error) {
	if p.idle() && !lim.unauthed {
		if args, n := commonCommand(buf, p.args[:0]); n > 0 {
			p.args = args
			return args, n, nil
		}
	}
	if buf[0] == '*' {
		return p.multibulk(buf, lim)
	}
	return p.inline(buf)
}

// idle reports whether no part of a command was read yet.
func (p *parser) idle() bool { return p.left == 0 && p.scanned == 0 }

// commonCommand reads a complete command of fewer than 100 arguments of fewer than 10000 bytes from
// the start of b, appends its arguments to args and returns how many bytes it took: 0 for everything
// else, wrong or not, which is left to multibulk. As in Redis nobody looks at the two bytes that end
// an argument, nor at the byte behind a line's '\r'.
func commonCommand(b []byte, args [][]byte) ([][]byte, int) {
	if len(b) < 4 || b[0] != '*' {
		return args, 0
	}
	argc, i := int(b[1])-'0', 2
	if argc < 1 || argc > 9 {
		return args, 0
	}
	if d := b[2] - '0'; d <= 9 {
		argc, i = argc*10+int(d), 3
	}
	if b[i] != '\r' {
		return args, 0
	}
	i += 2
	for ; argc > 0; argc-- {
		if i+3 >= len(b) || b[i] != '$' {
			return args, 0
		}
		size := int(b[i+1]) - '0'
		if size < 0 || size > 9 {
			return args, 0
		}
		i += 2
		if b[i] != '\r' {
			if size == 0 {
				return args, 0
			}
			for digits := 1; b[i] != '\r'; digits++ {
				d := b[i] - '0'
				if d > 9 || digits == 4 || i+1 == len(b) {
					return args, 0
				}
				size = size*10 + int(d)
				i++
			}
		}
		i += 2
		end := i + size
		if end+2 > len(b) {
			return args, 0
		}
		args = append(args, b[i:end:end])
		i = end + 2
	}
	return args, i
}

// multibulk reads *<n>\r\n and n times $<length>\r\n<bytes>\r\n, as far as it is there.
func (p *parser) multibulk(b []byte, lim parseLimits) ([][]byte, int, error) {
	if p.left == 0 {
		end, err := p.line(b, '\r', "too big mbulk count string")
		if end < 0 || err != nil {
			return nil, 0, err
		}
		argc, ok := engine.ParseInt(b[1:end])
		switch {
		case !ok || argc > maxArgs:
			return nil, 0, protocolError("invalid multibulk length")
		case argc > maxUnauthedArgs && lim.unauthed:
			return nil, 0, protocolError("unauthenticated multibulk length")
		case argc <= 0:
			p.reset()
			return nil, end + 2, nil
		}
		p.left, p.bulkLen = int(argc), -1
		p.goTo(end + 2)
	}
	for p.left > 0 {
		if p.bulkLen < 0 {
			end, err := p.line(b, '\r', "too big bulk count string")
			if end < 0 || err != nil {
				return nil, 0, err
			}
			if p.bulkLen, err = bulkLen(b[p.pos:end], b[p.pos], lim); err != nil {
				return nil, 0, err
			}
			p.goTo(end + 2)
		}
		end := p.pos + p.bulkLen
		if len(b) < end+2 {
			return nil, 0, nil
		}
		p.spans = append(p.spans, span{p.pos, end})
		p.left--
		p.bulkLen = -1
		p.goTo(end + 2)
	}
	n := p.pos
	p.takeArgs(b)
	p.reset()
	return p.args, n, nil
}

// bulkLen reads a line $<length>. first is its first byte, or the '\r' where it is empty.
func bulkLen(line []byte, first byte, lim parseLimits) (int, error) {
	if first != '$' {
		return -1, protocolError(fmt.Sprintf("expected '$', got '%s'", []byte{first}))
	}
	n, ok := engine.ParseInt(line[1:])
	switch {
	case !ok || n < 0 || n > int64(lim.maxBulkLen):
		return -1, protocolError("invalid bulk length")
	case n > maxUnauthedBulkLen && lim.unauthed:
		return -1, protocolError("unauthenticated bulk length")
	}
	return int(n), nil
}

// line finds the end of the line that begins at p.pos: the place of the byte end where one more
// byte follows a '\r'. It is -1 where the line is not complete.
func (p *parser) line(b []byte, end byte, tooBig protocolError) (int, error) {
	p.scanned = max(p.scanned, p.pos)
	i := -1
	if !p.deadLine {
		i = bytes.IndexByte(b[p.scanned:], end)
		seen := b[p.scanned:]
		if i >= 0 {
			seen = seen[:i]
		}
		p.deadLine = bytes.IndexByte(seen, 0) >= 0
	}
	if i < 0 || p.deadLine {
		p.scanned = len(b)
		if len(b)-p.pos > maxLineLen {
			return -1, tooBig
		}
		return -1, nil
	}
	i += p.scanned
	p.scanned = i
	switch {
	case i-p.pos > maxLineLen:
		return -1, tooBig
	case end == '\r' && i+1 == len(b):
		return -1, nil
	}
	return i, nil
}

// goTo moves on to the line or argument that begins at pos.
func (p *parser) goTo(pos int) {
	p.pos, p.scanned, p.deadLine = pos, 0, false
}

// takeArgs makes the arguments of the command under way, now complete in b.
func (p *parser) takeArgs(b []byte) {
	p.args = p.args[:0]
	for _, s := range p.spans {
		p.args = append(p.args, b[s.start:s.end:s.end])
	}
}

// reset makes the parser ready for the next command. The arguments of the last stay valid.
func (p *parser) reset() {
	p.spans = p.spans[:0]
	if cap(p.spans) > maxKeptArgs {
		p.spans = nil
	}
	p.left = 0
	p.goTo(0)
}

// trim lets go of memory that an unusual command took. The arguments of the last are void.
func (p *parser) trim() {
	if cap(p.args) > maxKeptArgs {
		p.args = nil
	}
	if cap(p.scratch) > maxKeptInlineBuffer {
		p.scratch = nil
	}
}

// wants is how many bytes, counted from the command's start, the present argument needs; 0 where
// that is not known. Only as a hint for growing a buffer that bytes really arrived for.
func (p *parser) wants() int {
	if p.left == 0 || p.bulkLen < 0 {
		return 0
	}
	return p.pos + p.bulkLen + 2
}
