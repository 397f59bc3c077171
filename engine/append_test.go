package engine

import (
	"bytes"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestACopyDoesNotShareTheRoomBehindIt: APPEND writes into the room behind a long string, which a copy
// shares with the original but for that room. What was read before stays as it was.
func TestACopyDoesNotShareTheRoomBehindIt(t *testing.T) {
	e, _, err := Open(Options{Dir: "data", FS: vfs.NewMem(), Policy: FsyncNo, FlushInterval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	op := Op{NowMs: e.NowMs()}
	add := func(key, val string) {
		t.Helper()
		if _, err := e.Append(&op, []byte(key), []byte(val)); err != nil {
			t.Fatal(err)
		}
	}
	get := func(key string) []byte {
		t.Helper()
		v, err := e.Get(&op, []byte(key))
		if err != nil {
			t.Fatal(err)
		}
		return v.Bytes
	}
	long := bytes.Repeat([]byte("x"), 1000)
	add("a", string(long))
	add("a", "0") // grows, so that there is room
	if b := get("a"); cap(b) == len(b) {
		t.Fatal("there is no room, so this tests nothing")
	}
	for _, dst := range []string{"b", "c"} {
		if done, err := e.Copy(&op, []byte("a"), 0, []byte(dst), false); !done || err != nil {
			t.Fatal(done, err)
		}
	}
	before := get("a")
	add("b", "bb")
	add("a", "aa")
	add("c", "cc")
	if done, err := e.Rename(&op, []byte("a"), []byte("d"), false); !done || err != nil {
		t.Fatal(done, err)
	}
	add("d", "dd")
	for key, tail := range map[string]string{"b": "0bb", "c": "0cc", "d": "0aadd"} {
		if got := get(key); string(got) != string(long)+tail {
			t.Errorf("%s ends with %q, want %q", key, got[len(long):], tail)
		}
	}
	if string(before) != string(long)+"0" {
		t.Errorf("what was read before ends with %q", before[len(long):])
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func TestCutRange(t *testing.T) {
	const least, most = -1 << 63, 1<<63 - 1
	for _, c := range []struct {
		start, end int64
		want       string
	}{
		{0, -1, "abcd"}, {1, 2, "bc"}, {-2, -1, "cd"}, {-1, -2, ""}, {2, 1, ""}, {least, most, "abcd"},
		{least, least, "a"}, {most, most, ""}, {3, 9, "d"}, {4, 9, ""}, {-9, -5, "a"}, {0, least, "a"},
	} {
		if got := cutRange([]byte("abcd"), c.start, c.end); string(got) != c.want {
			t.Errorf("%d to %d: %q, want %q", c.start, c.end, got, c.want)
		}
		if got := cutRange(nil, c.start, c.end); len(got) != 0 {
			t.Errorf("%d to %d of nothing: %q", c.start, c.end, got)
		}
	}
}

// BenchmarkAppend appends to one value that grows to 10 MB and begins again.
func BenchmarkAppend(b *testing.B) {
	e, _, err := Open(Options{Policy: FsyncOff})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	op, key, val := Op{NowMs: e.NowMs()}, []byte("log"), bytes.Repeat([]byte("x"), 100)
	for b.Loop() {
		if n, err := e.Append(&op, key, val); err != nil {
			b.Fatal(err)
		} else if n > 10<<20 {
			if _, err := e.Del(&op, [][]byte{key}); err != nil {
				b.Fatal(err)
			}
		}
	}
}
