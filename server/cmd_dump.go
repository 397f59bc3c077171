package server

import (
	"errors"
	"slices"

	"countd/engine"
	"countd/rdb"
)

func cmdDump(s *Session, args [][]byte) {
	v, err := s.srv.eng.GetNow(&s.op, args[1])
	switch {
	case err != nil:
		s.fail(err)
	case !v.Exists:
		s.null()
	case v.IsInt:
		var payload [40]byte
		s.bulk(rdb.AppendInt(payload[:0], v.Int))
	default:
		n := rdb.StringBytes(len(v.Bytes))
		s.header('$', n)
		s.out = slices.Grow(s.out, n+2)
		s.out = append(rdb.AppendString(s.out, v.Bytes), "\r\n"...)
	}
}

// restoreArgs are the options of a RESTORE as parsed. IDLETIME and FREQ are checked and have no effect:
// nothing is ever evicted.
type restoreArgs struct {
	replace, absTTL bool
	idle, freq      bool // were given
}

// cmdRestore makes a key of what DUMP replied. As in Redis, a key that is in the way is answered before
// the time to live is looked at, that before the payload.
func cmdRestore(s *Session, args [][]byte) {
	o, ok := s.restoreArgs(args[4:])
	if !ok {
		return
	}
	if !o.replace {
		switch t, err := s.srv.eng.TypeOf(&s.op, args[1]); {
		case err != nil:
			s.fail(err)
			return
		case t != engine.TypeNone:
			s.err(errBusyKey)
			return
		}
	}
	ttl, ok := s.intArg(args[2])
	if !ok {
		return
	}
	if ttl < 0 {
		s.err("ERR Invalid TTL value, must be >= 0")
		return
	}
	val, own, err := rdb.Read(args[3], engine.MaxStringLen)
	switch {
	case errors.Is(err, rdb.ErrChecksum):
		s.err("ERR DUMP payload version or checksum are wrong")
		return
	case err != nil:
		s.err("ERR Bad data format")
		return
	}
	switch {
	case ttl != 0 && o.absTTL:
		ttl = s.srv.eng.Instant(ttl)
	case ttl != 0:
		ttl += s.op.NowMs // where it overflows it is in the past, as in Redis
	}
	s.restore(args[1], val, own, ttl, o.replace)
}

// restore sets key to expire at atMs, 0 for never.
func (s *Session) restore(key, val []byte, own bool, atMs int64, replace bool) {
	done, err := true, error(nil)
	switch past := atMs != 0 && atMs <= s.op.NowMs; {
	case past && replace:
		_, err = s.srv.eng.Del(&s.op, [][]byte{key})
	case past:
	default:
		o := engine.SetOptions{ExpireAtMs: min(atMs, latestExpiry), Own: own}
		if !replace {
			o.Cond = engine.SetNX
		}
		_, done, err = s.srv.eng.Set(&s.op, key, val, o)
	}
	switch {
	case err != nil:
		s.fail(err)
	case !done: // another client was there in between
		s.err(errBusyKey)
	default:
		s.ok()
	}
}

func (s *Session) restoreArgs(opts [][]byte) (o restoreArgs, ok bool) {
	for ; len(opts) > 0; opts = opts[1:] {
		switch {
		case option(opts[0], "replace"):
			o.replace = true
		case option(opts[0], "absttl"):
			o.absTTL = true
		case option(opts[0], "idletime") && len(opts) > 1 && !o.freq:
			n, ok := s.intArg(opts[1])
			if !ok {
				return o, false
			}
			if n < 0 {
				s.err("ERR Invalid IDLETIME value, must be >= 0")
				return o, false
			}
			o.idle, opts = true, opts[1:]
		case option(opts[0], "freq") && len(opts) > 1 && !o.idle:
			n, ok := s.intArg(opts[1])
			if !ok {
				return o, false
			}
			if n < 0 || n > 255 {
				s.err("ERR Invalid FREQ value, must be >= 0 and <= 255")
				return o, false
			}
			o.freq, opts = true, opts[1:]
		default:
			s.err(errSyntax)
			return o, false
		}
	}
	return o, true
}
