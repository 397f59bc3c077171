package engine

import (
	"bytes"
	"math/big"
	"strconv"
)

// longDouble is a number of the x87 extended format, in which Redis does INCRBYFLOAT: a mantissa of
// 64 bits, rounded to nearest even (math/big at precision 64 does the same arithmetic), and an
// exponent up to 16383. Differences to the hardware: numbers below 3.4e-4932 keep full precision.
type longDouble struct{ f *big.Float }

const (
	longDoubleBits   = 64
	longDoubleMaxExp = 16384 // of a mantissa in [0.5, 1)
	longDoubleMinExp = -16445
	// longDoubleMaxText bounds the text of a number (Redis's MAX_LONG_DOUBLE_CHARS).
	longDoubleMaxText = 5 * 1024
	// longDoubleMaxDigits is what INCRBYFLOAT prints behind the point: "%.17Lf".
	longDoubleDigits = 17
)

func newLongDouble() *big.Float { return new(big.Float).SetPrec(longDoubleBits) }

func longDoubleFromInt(n int64) longDouble { return longDouble{newLongDouble().SetInt64(n)} }

// parseLongDouble reads b as Redis's string2ld does: all of it as C's strtold takes it, but neither
// leading space, nor NaN, nor a number out of range. Infinity is a number here.
func parseLongDouble(b []byte) (longDouble, bool) {
	if len(b) == 0 || len(b) >= longDoubleMaxText {
		return longDouble{}, false
	}
	body := b
	neg := b[0] == '-'
	if neg || b[0] == '+' {
		body = b[1:]
	}
	if bytes.EqualFold(body, []byte("inf")) || bytes.EqualFold(body, []byte("infinity")) {
		return longDouble{newLongDouble().SetInf(neg)}, true
	}
	base, zero, ok := checkNumber(body)
	if !ok {
		return longDouble{}, false
	}
	if zero {
		f := newLongDouble()
		if neg {
			f.Neg(f)
		}
		return longDouble{f}, true
	}
	f, _, err := big.ParseFloat(string(b), base, longDoubleBits, big.ToNearestEven)
	if err != nil || f.IsInf() || f.Sign() == 0 {
		return longDouble{}, false
	}
	if exp := f.MantExp(nil); exp > longDoubleMaxExp || exp < longDoubleMinExp {
		return longDouble{}, false
	}
	return longDouble{f}, true
}

// checkNumber checks the grammar of an unsigned decimal or hexadecimal floating point number. It
// returns the base for big.ParseFloat (0 makes it see the 0x) and whether all digits are zero. An
// exponent that no double of any kind has is refused, unless the number is zero.
func checkNumber(b []byte) (base int, zero, ok bool) {
	base, expMark, isDigit := 10, byte('e'), isDecimal
	if len(b) > 2 && b[0] == '0' && b[1]|0x20 == 'x' {
		base, expMark, isDigit, b = 0, 'p', isHex, b[2:]
	}
	digits, dots := 0, 0
	zero = true
	i := 0
	for ; i < len(b); i++ {
		c := b[i]
		if c == '.' && dots == 0 {
			dots++
		} else if isDigit(c) {
			digits++
			zero = zero && c == '0'
		} else {
			break
		}
	}
	if digits == 0 {
		return 0, false, false
	}
	if i == len(b) {
		return base, zero, true
	}
	if b[i]|0x20 != expMark {
		return 0, false, false
	}
	exp := b[i+1:]
	if len(exp) > 0 && (exp[0] == '-' || exp[0] == '+') {
		exp = exp[1:]
	}
	for _, c := range exp {
		if !isDecimal(c) {
			return 0, false, false
		}
	}
	if len(exp) == 0 {
		return 0, false, false
	}
	const maxExponent = 100_000 // beyond what longDoubleMaxText digits can bring back into range
	n, err := strconv.Atoi(string(exp))
	return base, zero, zero || (err == nil && n <= maxExponent)
}

func isDecimal(c byte) bool { return c-'0' <= 9 }
func isHex(c byte) bool     { return isDecimal(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// add returns the sum, or false where it is infinite or not a number.
func (a longDouble) add(b longDouble) (longDouble, bool) {
	if a.f.IsInf() || b.f.IsInf() {
		return longDouble{}, false
	}
	sum := newLongDouble().Add(a.f, b.f)
	return longDouble{sum}, sum.MantExp(nil) <= longDoubleMaxExp
}

// appendHuman appends the number as Redis prints it: 17 digits behind the point, trailing zeros and
// a trailing point dropped, no negative zero.
func (a longDouble) appendHuman(dst []byte) []byte {
	start := len(dst)
	dst = a.f.Append(dst, 'f', longDoubleDigits)
	dst = bytes.TrimRight(dst, "0")
	dst = bytes.TrimSuffix(dst, []byte("."))
	if string(dst[start:]) == "-0" {
		return append(dst[:start], '0')
	}
	return dst
}
