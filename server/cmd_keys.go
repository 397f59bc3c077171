package server

import (
	"bytes"
	"strconv"

	"github.com/tidwall/redcon"

	"countd/engine"
	"countd/glob"
)

func cmdKeys(s *Session, args [][]byte) {
	pattern := args[1]
	if string(pattern) == "*" { // also the empty key, which no other star matches
		pattern = nil
	}
	start, n := len(s.out), 0
	err := s.srv.eng.Keys(&s.op, func(key []byte) {
		if pattern == nil || glob.Match(pattern, key, false) {
			s.bulk(key)
			n++
		}
	})
	if err != nil {
		s.out = s.out[:start]
		s.fail(err)
		return
	}
	s.insertHeader(start, func() { s.array(n) })
}

// insertHeader moves the replies written since start behind what header writes. It serves where
// the header is known only after its elements.
func (s *Session) insertHeader(start int, header func()) {
	end := len(s.out)
	header()
	var buf [32]byte // room for a header
	head := append(buf[:0], s.out[end:]...)
	copy(s.out[start+len(head):], s.out[start:end])
	copy(s.out[start:], head)
}

// scanArgs are the options of a SCAN.
type scanArgs struct {
	count   int64
	pattern []byte // nil matches all
	typ     []byte // nil means any
}

func cmdScan(s *Session, args [][]byte) {
	cursor, ok := parseCursor(args[1])
	if !ok {
		s.err(errCursor)
		return
	}
	o, ok := s.scanArgs(args[2:])
	if !ok {
		return
	}
	const cursorMask = 1<<48 - 1 // of the cursors we give out
	o.pattern, o.typ = bytes.Clone(o.pattern), bytes.Clone(o.typ)
	var next uint64
	var found []byte // replies
	n := 0
	s.readAside(func(op *engine.Op) (err error) {
		next, err = s.srv.eng.Scan(op, cursor&cursorMask, int(o.count), func(key []byte, t engine.Type) {
			if o.match(key, t) {
				found = redcon.AppendBulk(found, key)
				n++
			}
		})
		return err
	}, func(err error) {
		if err != nil {
			s.fail(err)
			return
		}
		s.array(2)
		s.bulkString(strconv.FormatUint(next, 10))
		s.array(n)
		s.out = append(s.out, found...)
	})
}

func (s *Session) scanArgs(opts [][]byte) (o scanArgs, ok bool) {
	o.count = 10
	for ; len(opts) > 0; opts = opts[2:] {
		switch {
		case len(opts) == 1:
			s.err(errSyntax)
			return o, false
		case option(opts[0], "count"):
			if o.count, ok = s.intArg(opts[1]); !ok {
				return o, false
			}
			if o.count < 1 {
				s.err(errSyntax)
				return o, false
			}
		case option(opts[0], "match"):
			o.pattern = opts[1]
			if string(o.pattern) == "*" {
				o.pattern = nil
			}
		case option(opts[0], "type"):
			o.typ = opts[1]
		default:
			s.err(errSyntax)
			return o, false
		}
	}
	return o, true
}

func (o *scanArgs) match(key []byte, t engine.Type) bool {
	return (o.typ == nil || option(o.typ, typeName(t))) &&
		(o.pattern == nil || glob.Match(o.pattern, key, false))
}
