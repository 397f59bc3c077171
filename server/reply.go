package server

import (
	"strconv"

	"github.com/tidwall/redcon"
)

// The reply builders append one reply, or the header of one, to the session's output. Where RESP2
// and RESP3 differ they follow the protocol the client chose with HELLO.

func (s *Session) ok()                  { s.out = redcon.AppendOK(s.out) }
func (s *Session) simple(text string)   { s.out = redcon.AppendString(s.out, text) }
func (s *Session) int(n int64)          { s.out = redcon.AppendInt(s.out, n) }
func (s *Session) bulk(b []byte)        { s.out = redcon.AppendBulk(s.out, b) }
func (s *Session) bulkString(t string)  { s.out = redcon.AppendBulkString(s.out, t) }
func (s *Session) array(n int)          { s.out = redcon.AppendArray(s.out, n) }
func (s *Session) header(c byte, n int) { s.out = appendHeader(s.out, c, n) }

// err replies with an error. text has no leading '-'; line ends in it become spaces. The command
// counts as failed.
func (s *Session) err(text string) {
	s.out = redcon.AppendError(s.out, text)
	s.errs++
}

// bulkInt replies with an integer as a bulk string, as GET does.
func (s *Session) bulkInt(n int64) {
	var digits [20]byte
	s.out = redcon.AppendBulk(s.out, strconv.AppendInt(digits[:0], n, 10))
}

func (s *Session) null() {
	if s.resp3 {
		s.out = append(s.out, "_\r\n"...)
		return
	}
	s.out = redcon.AppendNull(s.out)
}

// mapHeader begins a map of n pairs, in RESP2 an array of 2n.
func (s *Session) mapHeader(n int) {
	if s.resp3 {
		s.header('%', n)
		return
	}
	s.array(2 * n)
}

// setHeader begins a set of n members, in RESP2 an array.
func (s *Session) setHeader(n int) {
	if s.resp3 {
		s.header('~', n)
		return
	}
	s.array(n)
}

// verbatim replies with a text whose format ("txt", "mkd") is named, in RESP2 with a bulk string.
func (s *Session) verbatim(text, format string) {
	if !s.resp3 {
		s.bulkString(text)
		return
	}
	s.header('=', len(text)+4)
	s.out = append(append(s.out, format[:3]...), ':')
	s.out = append(append(s.out, text...), "\r\n"...)
}

// double replies with a number, in RESP2 as a bulk string, as Redis does.
func (s *Session) double(f float64) {
	var digits [32]byte
	text := strconv.AppendFloat(digits[:0], f, 'f', -1, 64)
	if !s.resp3 {
		s.bulk(text)
		return
	}
	s.out = append(append(append(s.out, ','), text...), "\r\n"...)
}

// boolean replies with true or false, in RESP2 with 1 or 0, as Redis does.
func (s *Session) boolean(b bool) {
	switch {
	case !s.resp3 && b:
		s.int(1)
	case !s.resp3:
		s.int(0)
	case b:
		s.out = append(s.out, "#t\r\n"...)
	default:
		s.out = append(s.out, "#f\r\n"...)
	}
}

func appendHeader(b []byte, kind byte, n int) []byte {
	b = append(b, kind)
	b = strconv.AppendInt(b, int64(n), 10)
	return append(b, "\r\n"...)
}
