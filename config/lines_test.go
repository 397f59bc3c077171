package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestLinesAddUpWithinOneSource: the lines of a later source stand in for those of an earlier one.
func TestLinesAddUpWithinOneSource(t *testing.T) {
	file := filepath.Join(t.TempDir(), "countd.conf")
	text := "contract user:* max 5\nport 1\nContract \"a b\" \"\\x00\\n\"\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	inFile := [][]string{{"user:*", "max", "5"}, {"a b", "\x00\n"}}
	for _, tc := range []struct {
		env, argv []string
		want      [][]string
	}{
		{nil, []string{file}, inFile},
		{[]string{"COUNTD_CONTRACT=k min 1\n\n  'l m' tally yes\n"}, []string{file},
			[][]string{{"k", "min", "1"}, {"l m", "tally", "yes"}}},
		{[]string{"COUNTD_CONTRACT=k"}, []string{file, "--contract", "x", "max", "1", "--contract", "y"},
			[][]string{{"x", "max", "1"}, {"y"}}},
		{nil, []string{file, "--contract=x max 1", "--contract 'a b' min 2"},
			[][]string{{"x", "max", "1"}, {"a b", "min", "2"}}},
		{nil, []string{file, "--contract", ""}, nil},
		{nil, nil, nil},
	} {
		c := New()
		if _, err := c.ParseArgs(tc.argv, tc.env, strings.NewReader("")); err != nil {
			t.Errorf("%q %q: %v", tc.env, tc.argv, err)
		}
		if got := c.Lines("contract"); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%q %q: %q, want %q", tc.env, tc.argv, got, tc.want)
		}
	}
}

// TestALineThatIsRefusedIsNamed with its place.
func TestALineThatIsRefusedIsNamed(t *testing.T) {
	c := New()
	c.CheckLine("contract", func(words []string) error {
		if words[0] == "bad" {
			return errors.New("no good")
		}
		return nil
	})
	err := c.LoadReader("x.conf", strings.NewReader("contract good 1\ncontract bad 2\n"))
	if err == nil || err.Error() != "x.conf:2: contract: no good (got 'bad 2')" {
		t.Error(err)
	}
	if got := c.Value("contract"); got != "good 1" {
		t.Errorf("%q", got)
	}
	err = c.LoadReader("y.conf", strings.NewReader(strings.Repeat("contract k\n", maxLines+1)))
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("y.conf:%d: ", maxLines+1)) {
		t.Error(err)
	}
	if err := c.Set("contract", nil); err == nil {
		t.Error("a line without words")
	}
}

// FuzzWords: what joinWords writes, in one line, splitWords reads back.
func FuzzWords(f *testing.F) {
	f.Add("user:*\xffmax\xff5")
	f.Add("a b\xff\"'\\\xff\xff\x00\n\t#")
	f.Fuzz(func(t *testing.T, text string) {
		words := strings.Split(text, "\xff")
		line := joinWords(words)
		got, ok := splitWords(line)
		if !ok || !reflect.DeepEqual(got, words) || strings.ContainsAny(line, "\r\n") {
			t.Errorf("%q is written as %q and read as %q", words, line, got)
		}
	})
}
