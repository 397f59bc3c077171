package server

import (
	"bytes"
	"math"

	"countd/engine"
)

func cmdRename(s *Session, args [][]byte) {
	if _, err := s.srv.eng.Rename(&s.op, args[1], args[2], false); err != nil {
		s.fail(err)
		return
	}
	s.ok()
}

func cmdRenamenx(s *Session, args [][]byte) {
	done, err := s.srv.eng.Rename(&s.op, args[1], args[2], true)
	s.bit(done, err)
}

// cmdCopy copies a key. An option may be repeated; the last database counts.
func cmdCopy(s *Session, args [][]byte) {
	db, replace := s.op.DB, false
	for opts := args[3:]; len(opts) > 0; opts = opts[1:] {
		switch {
		case option(opts[0], "replace"):
			replace = true
		case option(opts[0], "db") && len(opts) > 1:
			var ok bool
			if db, ok = s.dbArg(opts[1]); !ok {
				return
			}
			opts = opts[1:]
		default:
			s.err(errSyntax)
			return
		}
	}
	if db == s.op.DB && bytes.Equal(args[1], args[2]) {
		s.err(errSameObject)
		return
	}
	done, err := s.srv.eng.Copy(&s.op, args[1], db, args[2], replace)
	s.bit(done, err)
}

func cmdMove(s *Session, args [][]byte) {
	db, ok := s.dbArg(args[2])
	if !ok {
		return
	}
	if db == s.op.DB {
		s.err(errSameObject)
		return
	}
	done, err := s.srv.eng.Move(&s.op, args[1], db)
	s.bit(done, err)
}

// dbArg reads the number of a database or replies with the error.
func (s *Session) dbArg(arg []byte) (db int, ok bool) {
	n, ok := s.intArg(arg)
	switch {
	case !ok:
		return 0, false
	case n < math.MinInt32 || n > math.MaxInt32:
		s.err("ERR value is out of range, value must between -2147483648 and 2147483647")
		return 0, false
	case n < 0 || n >= engine.Databases:
		s.err(errDBIndex)
		return 0, false
	}
	return int(n), true
}
