package server

import (
	"math"

	"countd/engine"
)

// The deltas of INCR, DECR, INCRBY and DECRBY; ok is false where the arguments are wrong.
func incrDelta([][]byte) (delta int64, ok bool)        { return 1, true }
func decrDelta([][]byte) (delta int64, ok bool)        { return -1, true }
func incrbyDelta(args [][]byte) (delta int64, ok bool) { return engine.ParseInt(args[2]) }

func decrbyDelta(args [][]byte) (delta int64, ok bool) {
	n, ok := engine.ParseInt(args[2])
	return -n, ok && n != math.MinInt64
}

func cmdIncr(s *Session, args [][]byte) { s.add(args[1], 1) }

func cmdDecr(s *Session, args [][]byte) { s.add(args[1], -1) }

func cmdIncrby(s *Session, args [][]byte) {
	if delta, ok := s.intArg(args[2]); ok {
		s.add(args[1], delta)
	}
}

func cmdDecrby(s *Session, args [][]byte) {
	delta, ok := s.intArg(args[2])
	switch {
	case !ok:
	case delta == math.MinInt64:
		s.err(errDecrement)
	default:
		s.add(args[1], -delta)
	}
}

// add is the body of INCR, DECR, INCRBY and DECRBY.
func (s *Session) add(key []byte, delta int64) {
	n, err := s.srv.eng.IncrBy(&s.op, key, delta)
	if err != nil {
		s.fail(err)
		return
	}
	s.int(n)
}

func cmdIncrbyfloat(s *Session, args [][]byte) {
	text, err := s.srv.eng.IncrByFloat(&s.op, args[1], args[2])
	if err != nil {
		s.fail(err)
		return
	}
	s.bulk(text)
}
