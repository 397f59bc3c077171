package server

import (
	"math"

	"countd/engine"
)

func cmdExpire(s *Session, args [][]byte)    { s.expire(args, inSeconds) }
func cmdPexpire(s *Session, args [][]byte)   { s.expire(args, inMillis) }
func cmdExpireat(s *Session, args [][]byte)  { s.expire(args, atSeconds) }
func cmdPexpireat(s *Session, args [][]byte) { s.expire(args, atMillis) }

// expire is the body of EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT. Times in the past are welcome:
// they delete the key.
func (s *Session) expire(args [][]byte, unit timeUnit) {
	cond, ok := s.expireCond(args[3:])
	if !ok {
		return
	}
	n, ok := s.intArg(args[2])
	if !ok {
		return
	}
	base := int64(0)
	if unit.relative {
		base = s.op.NowMs
	}
	most := math.MaxInt64 / unit.perUnitMs
	if n > most || unit.perUnitMs > 1 && n < -most || n*unit.perUnitMs > math.MaxInt64-base {
		s.errExpireTime(args)
		return
	}
	atMs := s.expiryAt(n*unit.perUnitMs+base, unit)
	set, err := s.srv.eng.Expire(&s.op, args[1], atMs, cond)
	s.bit(set, err)
}

// expireCond reads the flags NX, XX, GT and LT, or replies why they cannot be had together.
func (s *Session) expireCond(flags [][]byte) (cond engine.ExpireCond, ok bool) {
	for _, flag := range flags {
		switch {
		case option(flag, "nx"):
			cond |= engine.ExpireNX
		case option(flag, "xx"):
			cond |= engine.ExpireXX
		case option(flag, "gt"):
			cond |= engine.ExpireGT
		case option(flag, "lt"):
			cond |= engine.ExpireLT
		default:
			s.errf("ERR Unsupported option %s", cString(flag))
			return 0, false
		}
	}
	const gtlt = engine.ExpireGT | engine.ExpireLT
	if cond&engine.ExpireNX != 0 && cond != engine.ExpireNX {
		s.err("ERR NX and XX, GT or LT options at the same time are not compatible")
		return 0, false
	}
	if cond&gtlt == gtlt {
		s.err("ERR GT and LT options at the same time are not compatible")
		return 0, false
	}
	return cond, true
}

func cmdTTL(s *Session, args [][]byte)         { s.expiry(args[1], inSeconds) }
func cmdPTTL(s *Session, args [][]byte)        { s.expiry(args[1], inMillis) }
func cmdExpiretime(s *Session, args [][]byte)  { s.expiry(args[1], atSeconds) }
func cmdPexpiretime(s *Session, args [][]byte) { s.expiry(args[1], atMillis) }

// expiry is the body of TTL, PTTL, EXPIRETIME and PEXPIRETIME: -2 where there is no key, -1 where
// it does not expire. Seconds are rounded to the nearest.
func (s *Session) expiry(key []byte, unit timeUnit) {
	atMs, exists, err := s.srv.eng.ExpireAt(&s.op, key)
	switch {
	case err != nil:
		s.fail(err)
		return
	case !exists:
		s.int(-2)
		return
	case atMs == engine.NoExpiry:
		s.int(-1)
		return
	}
	switch {
	case atMs == latestExpiry && unit.relative:
		atMs = math.MaxInt64 - s.op.NowMs
	case atMs == latestExpiry:
		atMs = math.MaxInt64
	case unit.relative:
		atMs = max(atMs-s.op.NowMs, 0)
	default:
		atMs = s.srv.eng.WallMs(atMs)
	}
	if unit.perUnitMs > 1 {
		atMs = int64((uint64(atMs) + 500) / 1000) // the largest instants do not wrap around
	}
	s.int(atMs)
}

func cmdPersist(s *Session, args [][]byte) {
	done, err := s.srv.eng.Persist(&s.op, args[1])
	s.bit(done, err)
}
