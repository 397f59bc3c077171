package server

import (
	"math"
	"strconv"
	"testing"

	"countd/engine"
)

func TestParseInt(t *testing.T) {
	good := []int64{0, 1, -1, 10, 99, -99, math.MaxInt32, math.MaxInt64, math.MinInt64,
		math.MaxInt64 - 1, math.MinInt64 + 1, 1e18, -1e18}
	for _, want := range good {
		if n, ok := engine.ParseInt(strconv.AppendInt(nil, want, 10)); !ok || n != want {
			t.Errorf("%d is read as %d, %v", want, n, ok)
		}
	}
	bad := []string{"", "-", "+1", "-0", "00", "01", "-01", " 1", "1 ", "1\n", "1\x00", "1.0", "1e3",
		"0x10", "--1", "9223372036854775808", "-9223372036854775809", "18446744073709551616",
		"99999999999999999999", "10000000000000000000000", "a", "1a", "٣"}
	for _, text := range bad {
		if n, ok := engine.ParseInt([]byte(text)); ok {
			t.Errorf("%q is read as %d", text, n)
		}
	}
}

func FuzzParseInt(f *testing.F) {
	for _, seed := range []string{"0", "-1", "-0", "+5", "9223372036854775807"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want, err := strconv.ParseInt(string(text), 10, 64)
		canonical := err == nil && strconv.FormatInt(want, 10) == string(text)
		if n, ok := engine.ParseInt(text); ok != canonical || ok && n != want {
			t.Errorf("%q is read as %d, %v", text, n, ok)
		}
	})
}

func TestParseCursor(t *testing.T) {
	good := map[string]uint64{"": 0, "0": 0, "007": 7, "+5": 5, "-1": math.MaxUint64, "5\x00x": 5,
		"\x00": 0, "18446744073709551615": math.MaxUint64}
	for text, want := range good {
		if n, ok := parseCursor([]byte(text)); !ok || n != want {
			t.Errorf("%q is read as %d, %v", text, n, ok)
		}
	}
	for _, text := range []string{" 1", "1 ", "-", "+", "x", "0x1", "18446744073709551616", "\t1"} {
		if n, ok := parseCursor([]byte(text)); ok {
			t.Errorf("%q is read as %d", text, n)
		}
	}
}
