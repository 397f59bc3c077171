package glob

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestMatch(t *testing.T) {
	tests := []struct {
		pattern, text string
		fold, want    bool
	}{
		{"", "", false, true},
		{"*", "", false, false},
		{"*", "a", false, true},
		{"a*", "a", false, true},
		{"a**", "a", false, true},
		{"*a*b", "xaxb", false, true},
		{"*a*b", "xaxbc", false, false},
		{"?", "", false, false},
		{"?", "\xff", false, true},
		{"h[ae]llo", "hallo", false, true},
		{"h[^e]llo", "hello", false, false},
		{"h[a-c]llo", "hbllo", false, true},
		{"h[c-a]llo", "hbllo", false, true},
		{`h\*llo`, "h*llo", false, true},
		{`h\*llo`, "hxllo", false, false},
		{`\`, `\`, false, true},
		{"[", "a", false, false},
		{"[a", "a", false, true},
		{"[^", "a", false, true},
		{"[]", "a", false, false},
		{"[^]", "a", false, true},
		{`[\]]`, "]", false, true},
		{"[a-]", "a", false, true}, // a range up to the bracket
		{"[a-]", "]", false, true},
		{"[a-", "-", false, true},
		{"HELLO", "hello", false, false},
		{"HELLO", "hello", true, true},
		{"[A-C]", "b", true, true},
		{`[\A]`, "a", true, false},
		{"[\x7f-\x80]", "a", false, true}, // signed bytes: -128 to 127
	}
	for _, test := range tests {
		got := Match([]byte(test.pattern), []byte(test.text), test.fold)
		if got != test.want {
			t.Errorf("%q matches %q (fold %v): %v", test.pattern, test.text, test.fold, got)
		}
	}
}

// The answers are those of redis-server 7.0.15-1~deb12u10's KEYS.
func TestMatchGivesUpWhereRedisDoes(t *testing.T) {
	text := bytes.Repeat([]byte("a"), 3000)
	for stars, want := range map[int]bool{1: true, 999: true, 1000: true, 1001: false, 2900: false} {
		for _, end := range []string{"", "*", "**"} {
			pattern := strings.Repeat("**a", stars) + end
			if got := Match([]byte(pattern), text, false); got != want {
				t.Errorf("%d stars and %q: %v", stars, end, got)
			}
		}
	}
}

func TestMatchTakesNoExponentialTime(t *testing.T) {
	pattern := []byte(strings.Repeat("a*", maxStars) + "b")
	text := bytes.Repeat([]byte("a"), 20000)
	start := time.Now()
	if Match(pattern, text, false) {
		t.Error("matches")
	}
	if took := time.Since(start); took > 2*time.Minute {
		t.Errorf("took %v", took)
	}
}

// plainGlob is the obvious recursion over the two texts, for short ones.
func plainGlob(pattern, text []byte, fold bool) bool {
	if len(text) == 0 {
		return len(bytes.TrimLeft(pattern, "*")) == 0
	}
	if len(pattern) == 0 {
		return false
	}
	if pattern[0] == '*' {
		return plainGlob(pattern[1:], text, fold) || plainGlob(pattern, text[1:], fold)
	}
	next, ok := matchOne(pattern, 0, text[0], fold)
	return ok && plainGlob(pattern[next:], text[1:], fold)
}

func checkMatch(t *testing.T, pattern, text []byte, fold bool) {
	t.Helper()
	want := plainGlob(pattern, text, fold)
	if len(text) == 0 {
		want = len(pattern) == 0
	}
	if got := Match(pattern, text, fold); got != want {
		t.Errorf("%q matches %q (fold %v): %v, by plain recursion %v", pattern, text, fold, got, want)
	}
}

func TestMatchAgreesWithPlainRecursion(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	draw := func(alphabet string, most int) []byte {
		b := make([]byte, rnd.IntN(most+1))
		for i := range b {
			b[i] = alphabet[rnd.IntN(len(alphabet))]
		}
		return b
	}
	for range 200_000 {
		checkMatch(t, draw(`ab*?[]^-\B`, 10), draw("abB]-", 8), rnd.IntN(2) == 0)
	}
}

func FuzzMatch(f *testing.F) {
	f.Add([]byte("h[a-c]*?"), []byte("hello"), false)
	f.Add([]byte(`*\*[^]`), []byte("a*b"), true)
	f.Fuzz(func(t *testing.T, pattern, text []byte, fold bool) {
		checkMatch(t, pattern[:min(len(pattern), 12)], text[:min(len(text), 12)], fold)
	})
}
