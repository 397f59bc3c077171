package server

import (
	"bytes"
	"strings"
	"testing"

	"countd/rdb"
)

// bulkOf returns what a bulk reply holds, nil where it is none.
func bulkOf(reply []byte) []byte {
	head, rest, ok := bytes.Cut(reply, []byte("\r\n"))
	if !ok || head[0] != '$' || len(rest) < 2 {
		return nil
	}
	return rest[:len(rest)-2]
}

// TestASketchIsDumpedAsTheStringItIs: RESTORE makes a HyperLogLog of it again.
func TestASketchIsDumpedAsTheStringItIs(t *testing.T) {
	c := &sessionTarget{newCommandServer(t).newSession()}
	do := func(args ...string) []byte { return c.do(t, args) }
	do("PFADD", "h", "a", "b", "c")
	payload := bulkOf(do("DUMP", "h"))
	val, _, err := rdb.Read(payload, 1<<20)
	if err != nil || !bytes.Equal(val, bulkOf(do("GET", "h"))) {
		t.Fatalf("%q, %v", val, err)
	}
	if got := do("RESTORE", "g", "0", string(payload)); string(got) != "+OK\r\n" {
		t.Fatalf("%q", got)
	}
	do("PFADD", "g", "d")
	for key, want := range map[string]string{"h": ":3\r\n", "g": ":4\r\n"} {
		if got := do("PFCOUNT", key); string(got) != want {
			t.Errorf("%s counts %q", key, got)
		}
	}
}

// TestDumpsGoFromServerToServer: what one dumps the other restores, for texts that redis-server
// compresses and ones that it does not.
func TestDumpsGoFromServerToServer(t *testing.T) {
	redis := dialRedis(t, startRedis(t, "the exchange of dumps"))
	ours := &sessionTarget{newCommandServer(t).newSession()}
	gen := newCommandGen(1)
	vals := []string{"", "7", "-40000", strings.Repeat("ab", 40_000), strings.Repeat("x", 21)}
	for range 300 {
		val := gen.value()
		for range gen.rnd.IntN(4) { // repeats something, which is what LZF looks for
			val += gen.value() + val[:gen.rnd.IntN(len(val)+1)]
		}
		vals = append(vals, val)
	}
	for _, val := range vals {
		for _, way := range [][2]target{{redis, ours}, {ours, redis}} {
			from, to := way[0], way[1]
			from.do(t, []string{"SET", "k", val})
			payload := bulkOf(from.do(t, []string{"DUMP", "k"}))
			to.do(t, []string{"DEL", "k"})
			reply := to.do(t, []string{"RESTORE", "k", "0", string(payload)})
			if got := bulkOf(to.do(t, []string{"GET", "k"})); string(got) != val {
				t.Fatalf("%.100q came as %.100q from %T: %q", val, got, from, reply)
			}
		}
	}
}
