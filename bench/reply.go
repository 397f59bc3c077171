package main

import (
	"bytes"
	"fmt"
)

// maxReplyLen bounds what a reply may announce, so that a broken stream is noticed.
const maxReplyLen = 1 << 40

// replyReader counts the replies of a RESP2 or RESP3 stream without decoding or keeping them. The
// stream may be cut anywhere. It allocates only for the first error reply, whose text it keeps.
//
// Nesting needs no stack: open is how many values are missing until the reply is whole. A scalar
// takes one away, an array of n takes one away and brings n.
type replyReader struct {
	state  readState
	kind   byte  // type byte of the value that is being read
	number int64 // the length in its header, as far as it was read
	minus  bool
	skip   int64 // bytes of a bulk that are still to come, with its CRLF
	open   int64

	errors     int64
	firstError []byte
}

type readState uint8

const (
	atType   readState = iota // before a type byte
	inNumber                  // in the length of a bulk or an aggregate
	inText                    // in a line whose text does not matter
	inError                   // in the text of an error
	inBulk                    // in the bytes of a bulk
)

// feed takes the next bytes of the stream and returns how many replies ended in them.
func (r *replyReader) feed(in []byte) (replies int, err error) {
	for len(in) > 0 {
		switch r.state {
		case atType:
			r.begin(in[0])
			in = in[1:]
			continue
		case inBulk:
			n := min(int64(len(in)), r.skip)
			in = in[n:]
			if r.skip -= n; r.skip > 0 {
				return replies, nil
			}
			r.state = atType
			r.open--
		default:
			end := bytes.IndexByte(in, '\n')
			line := in[:max(end, 0)]
			if end < 0 {
				line = in
			}
			if r.state == inNumber {
				if err := r.digits(line); err != nil {
					return replies, err
				}
			} else if r.state == inError {
				r.keepError(line)
			}
			if end < 0 {
				return replies, nil
			}
			in = in[end+1:]
			r.endLine()
		}
		if r.open == 0 && r.state == atType {
			replies++
		}
	}
	return replies, nil
}

// begin starts a value. At the top level it starts a reply.
func (r *replyReader) begin(kind byte) {
	if r.open == 0 {
		r.open = 1
	}
	r.kind, r.number, r.minus = kind, 0, false
	switch kind {
	case '$', '=', '!', '*', '~', '%', '>', '|':
		r.state = inNumber
	case '-':
		r.state = inError
		r.errors++
	default: // + : _ , # ( are lines; anything else shows in the count
		r.state = inText
	}
}

// endLine finishes a line: a scalar, or the header of what follows.
func (r *replyReader) endLine() {
	isHeader := r.state == inNumber
	r.state = atType
	if !isHeader || r.minus { // -1 is a null
		r.open--
		return
	}
	switch r.kind {
	case '$', '=', '!':
		r.state, r.skip = inBulk, r.number+2
		if r.kind == '!' {
			r.errors++
		}
	case '%':
		r.open += 2*r.number - 1
	case '|': // attributes come before the value they belong to
		r.open += 2 * r.number
	default:
		r.open += r.number - 1
	}
}

// digits reads a part of a header's number.
func (r *replyReader) digits(line []byte) error {
	for _, ch := range line {
		switch {
		case ch >= '0' && ch <= '9' && r.number < maxReplyLen:
			r.number = r.number*10 + int64(ch-'0')
		case ch == '-':
			r.minus = true
		case ch == '\r':
		default:
			return fmt.Errorf("the server sent no RESP: %q in the header of a '%c'", line, r.kind)
		}
	}
	return nil
}

// keepError keeps the text of the first error.
func (r *replyReader) keepError(part []byte) {
	if r.errors == 1 && len(r.firstError) < 200 {
		r.firstError = append(r.firstError, bytes.TrimRight(part, "\r")...)
	}
}
