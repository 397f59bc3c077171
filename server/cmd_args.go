package server

import (
	"math"

	"countd/engine"
)

// equalFold reports whether arg is the lower-case name in any case. ASCII letters only.
func equalFold(arg []byte, name string) bool {
	if len(arg) != len(name) {
		return false
	}
	for i := range arg {
		b := arg[i]
		if 'A' <= b && b <= 'Z' {
			b |= 0x20
		}
		if b != name[i] {
			return false
		}
	}
	return true
}

// option reports whether arg is the option name, given in lower case. As in Redis, what follows a
// zero byte does not count.
func option(arg []byte, name string) bool {
	return len(arg) >= len(name) && equalFold(cString(arg), name)
}

// intArg reads an integer argument or replies with the error.
func (s *Session) intArg(arg []byte) (int64, bool) {
	n, ok := engine.ParseInt(arg)
	if !ok {
		s.err(errNotInteger)
	}
	return n, ok
}

// parseCursor reads an unsigned integer as C's strtoul does where the whole string must be used:
// a sign is allowed, a minus wraps around, the empty string is 0, leading space is not allowed.
func parseCursor(arg []byte) (cursor uint64, ok bool) {
	digits := cString(arg)
	if len(digits) == 0 {
		return 0, true
	}
	negative := digits[0] == '-'
	if negative || digits[0] == '+' {
		digits = digits[1:]
	}
	if len(digits) == 0 {
		return 0, false
	}
	for _, d := range digits {
		if d -= '0'; d > 9 {
			return 0, false
		}
		if cursor > math.MaxUint64/10 || cursor*10 > math.MaxUint64-uint64(d) {
			return 0, false
		}
		cursor = cursor*10 + uint64(d)
	}
	if negative {
		cursor = -cursor
	}
	return cursor, true
}
