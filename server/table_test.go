package server

import (
	"bytes"
	"strings"
	"testing"
)

func TestLookupFindsEveryCommandInAnyCase(t *testing.T) {
	for i := range commands().rows {
		c := &commands().rows[i]
		mixed := strings.ToUpper(c.name[:1]) + c.name[1:]
		for _, name := range []string{c.name, strings.ToUpper(c.name), mixed} {
			if lookup([]byte(name)) != c {
				t.Errorf("%q is not found", name)
			}
		}
		for _, name := range []string{c.name + "\x00", c.name + "x", c.name[1:], "\x00" + c.name} {
			if found := lookup([]byte(name)); found == c {
				t.Errorf("%q is found as %s", name, found.name)
			}
		}
	}
	for _, name := range []string{"", "\x00", strings.Repeat("get", 100), "client|id", "@ET",
		"\xe7et"} {
		if c := lookup([]byte(name)); c != nil {
			t.Errorf("%q is found as %s", name, c.name)
		}
	}
}

func TestFoldWordIsToLowerOfEachByte(t *testing.T) {
	for b := 0; b < 256; b++ {
		name := []byte{byte(b), 'Z', byte(b), '@', byte(b), '[', byte(b), byte(b)}
		want := bytes.Clone(name)
		for i, c := range want {
			if 'A' <= c && c <= 'Z' {
				want[i] = c | 0x20
			}
		}
		got, _ := foldName(name)
		if lower, _ := foldName(want); got != lower {
			t.Errorf("%q folds to %x, not %x", name, got, lower)
		}
	}
}

func TestSubcommandsAreFoundBelowTheirContainer(t *testing.T) {
	if c := resolve([][]byte{[]byte("CLIENT"), []byte("Kill")}); c == nil || c.name != "client|kill" {
		t.Errorf("CLIENT Kill is %v", c)
	}
	if c := resolve([][]byte{[]byte("CLIENT"), []byte("\u212Aill")}); c != nil { // the Kelvin sign
		t.Errorf("found as %s", c.name)
	}
	if c := lookupFull([]byte("config|SET")); c == nil || c.name != "config|set" {
		t.Errorf("config|SET is %v", c)
	}
	if c := lookupFull([]byte("get|x")); c != nil {
		t.Errorf("get|x is %s", c.name)
	}
}

func TestLookupDoesNotAllocate(t *testing.T) {
	name := []byte("INCRBY")
	if n := allocations(100, func() { lookup(name) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestRowsAreComplete(t *testing.T) {
	for i, c := range commands().all {
		if c.id != i || c.summary == "" || c.group == "" || c.since == "" || c.arity == 0 {
			t.Errorf("row %q: %+v", c.name, c)
		}
		if c.handler == nil && len(c.sub) == 0 {
			t.Errorf("%s has neither handler nor subcommands", c.name)
		}
		for _, sub := range c.sub {
			if !strings.HasPrefix(sub.name, c.name+"|") {
				t.Errorf("%s is below %s", sub.name, c.name)
			}
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	names := [][]byte{[]byte("INCRBY"), []byte("get"), []byte("PEXPIRETIME")}
	for _, name := range names {
		b.Run(string(name), func(b *testing.B) {
			for b.Loop() {
				lookup(name)
			}
		})
	}
}
