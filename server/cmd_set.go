package server

import (
	"math"

	"countd/engine"
)

// timeUnit is the unit of a time argument and whether it counts from now.
type timeUnit struct {
	perUnitMs int64
	relative  bool
}

var (
	inSeconds = timeUnit{1000, true}
	inMillis  = timeUnit{1, true}
	atSeconds = timeUnit{1000, false}
	atMillis  = timeUnit{1, false}
)

// setArgs are the options of a SET as parsed: expire is nil where there is none.
type setArgs struct {
	engine.SetOptions
	expire []byte
	unit   timeUnit
}

func cmdSet(s *Session, args [][]byte) {
	var o setArgs
	if len(args) > 3 && !o.parse(args[3:]) {
		s.err(errSyntax)
		return
	}
	if o.expire != nil {
		var ok bool
		if o.ExpireAtMs, ok = s.setExpiry(args, o.expire, o.unit); !ok {
			return
		}
	}
	old, done, err := s.srv.eng.Set(&s.op, args[1], args[2], o.SetOptions)
	switch {
	case err != nil:
		s.fail(err)
	case o.WantOld:
		s.value(old)
	case done:
		s.ok()
	default:
		s.null()
	}
}

// parse reads the options of SET. An option may be repeated; the last expire time counts.
func (o *setArgs) parse(opts [][]byte) bool {
	for i := 0; i < len(opts); i++ {
		unit, isTime := setTimeUnit(opts[i])
		switch {
		case option(opts[i], "nx") && o.Cond != engine.SetXX:
			o.Cond = engine.SetNX
		case option(opts[i], "xx") && o.Cond != engine.SetNX:
			o.Cond = engine.SetXX
		case option(opts[i], "get"):
			o.WantOld = true
		case option(opts[i], "keepttl") && o.expire == nil:
			o.KeepTTL = true
		case isTime && !o.KeepTTL && i+1 < len(opts) && (o.expire == nil || o.unit == unit):
			o.expire, o.unit = opts[i+1], unit
			i++
		default:
			return false
		}
	}
	return true
}

func setTimeUnit(opt []byte) (unit timeUnit, ok bool) {
	switch {
	case option(opt, "ex"):
		return inSeconds, true
	case option(opt, "px"):
		return inMillis, true
	case option(opt, "exat"):
		return atSeconds, true
	case option(opt, "pxat"):
		return atMillis, true
	}
	return timeUnit{}, false
}

// setExpiry is the instant in Unix milliseconds that a time argument of a SET means; where it is
// not positive or does not fit it replies with the error.
func (s *Session) setExpiry(args [][]byte, arg []byte, unit timeUnit) (atMs int64, ok bool) {
	n, ok := s.intArg(arg)
	if !ok {
		return 0, false
	}
	base := int64(0)
	if unit.relative {
		base = s.op.NowMs
	}
	if n <= 0 || n > math.MaxInt64/unit.perUnitMs || n*unit.perUnitMs > math.MaxInt64-base {
		s.errExpireTime(args)
		return 0, false
	}
	return s.expiryAt(n*unit.perUnitMs+base, unit), true
}

// latestExpiry stands for the largest instant that clients can name, which is the engine's for none. The one
// before it is taken for that, too.
const latestExpiry = engine.NoExpiry - 1

// expiryAt is the expiry instant that a time argument means: at the engine's clock already where it
// counted from now, else at the wall clock.
func (s *Session) expiryAt(ms int64, unit timeUnit) int64 {
	if !unit.relative {
		ms = s.srv.eng.Instant(ms)
	}
	return min(ms, latestExpiry)
}

func cmdSetnx(s *Session, args [][]byte) {
	o := engine.SetOptions{Cond: engine.SetNX}
	_, done, err := s.srv.eng.Set(&s.op, args[1], args[2], o)
	s.bit(done, err)
}

func cmdSetex(s *Session, args [][]byte) { s.setFor(args, inSeconds) }

func cmdPsetex(s *Session, args [][]byte) { s.setFor(args, inMillis) }

// setFor is the body of SETEX and PSETEX.
func (s *Session) setFor(args [][]byte, unit timeUnit) {
	atMs, ok := s.setExpiry(args, args[2], unit)
	if !ok {
		return
	}
	o := engine.SetOptions{ExpireAtMs: atMs}
	if _, _, err := s.srv.eng.Set(&s.op, args[1], args[3], o); err != nil {
		s.fail(err)
		return
	}
	s.ok()
}

func cmdMset(s *Session, args [][]byte) {
	if len(args)%2 == 0 {
		s.err(lookup(args[0]).arityError())
		return
	}
	if _, err := s.srv.eng.MSet(&s.op, args[1:], false); err != nil {
		s.fail(err)
		return
	}
	s.ok()
}

func cmdMsetnx(s *Session, args [][]byte) {
	if len(args)%2 == 0 {
		s.err(lookup(args[0]).arityError())
		return
	}
	done, err := s.srv.eng.MSet(&s.op, args[1:], true)
	s.bit(done, err)
}

// bit replies 1 where something was done, 0 where not.
func (s *Session) bit(done bool, err error) {
	switch {
	case err != nil:
		s.fail(err)
	case done:
		s.int(1)
	default:
		s.int(0)
	}
}

// count replies with a number of things done or found.
func (s *Session) count(n int64, err error) {
	if err != nil {
		s.fail(err)
		return
	}
	s.int(n)
}

func cmdSetrange(s *Session, args [][]byte) {
	offset, ok := s.intArg(args[2])
	if !ok {
		return
	}
	if offset < 0 {
		s.err("ERR offset is out of range")
		return
	}
	n, err := s.srv.eng.SetRange(&s.op, args[1], offset, args[3])
	if err != nil {
		s.fail(err)
		return
	}
	s.int(n)
}

func cmdAppend(s *Session, args [][]byte) {
	s.count(s.srv.eng.Append(&s.op, args[1], args[2]))
}
