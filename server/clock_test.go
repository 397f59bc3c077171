package server

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"countd/engine"
)

// TestInstantsAreTheWallClocks: where the wall clock was set back by an hour, instants that a client names,
// or is told, are the wall clock's all the same, and times to live are what was asked for.
func TestInstantsAreTheWallClocks(t *testing.T) {
	const start, hour = int64(1_764_543_120_000), int64(3600_000)
	var wall, mono atomic.Int64
	wall.Store(start + hour)
	eng, _, err := engine.Open(engine.Options{Dir: "data", FS: vfs.NewMem(), Policy: engine.FsyncNo,
		WallClockMs: wall.Load, MonotonicMs: mono.Load})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	srv, err := New(Options{Engine: eng})
	if err != nil {
		t.Fatal(err)
	}
	s := srv.newSession()
	eng.NowMs()
	wall.Store(start)
	at := start + 60_000
	dump := feedAll(s, [][]byte{[]byte(pipeline("SET v 5", "DUMP v"))})
	payload := dump[strings.Index(dump, "\r\n$")+3:]
	payload = strings.TrimSuffix(payload[strings.Index(payload, "\r\n")+2:], "\r\n")
	for _, c := range []struct{ command, reply string }{
		{fmt.Sprintf("SET a 1 PXAT %d", at), "+OK\r\n"},
		{fmt.Sprintf("SET b 1 EXAT %d", at/1000), "+OK\r\n"},
		{"SET c 1 EX 60", "+OK\r\n"},
		{"SET d 1", "+OK\r\n"},
		{fmt.Sprintf("EXPIREAT d %d", at/1000), ":1\r\n"},
		{"SET e 1", "+OK\r\n"},
		{fmt.Sprintf("GETEX e PXAT %d", at), "$1\r\n1\r\n"},
		{"SETEX f 60 1", "+OK\r\n"},
		{fmt.Sprintf("RESTORE g %d %s ABSTTL", at, payload), "+OK\r\n"},
		{fmt.Sprintf("RESTORE h 60000 %s", payload), "+OK\r\n"},
		{"SET i 1", "+OK\r\n"},
		{fmt.Sprintf("PEXPIREAT i %d", at), ":1\r\n"},
		{fmt.Sprintf("PEXPIREAT i %d GT", at-1), ":0\r\n"},
		{fmt.Sprintf("PEXPIREAT v %d", start), ":1\r\n"},
		{"EXISTS v", ":0\r\n"},
	} {
		args := strings.SplitN(c.command, payload, 2)
		words := strings.Fields(args[0])
		if len(args) == 2 {
			words = append(append(words, payload), strings.Fields(args[1])...)
		}
		if reply := feedAll(s, [][]byte{encodeCommand(words)}); reply != c.reply {
			t.Errorf("%.30q replies %q, want %q", c.command, reply, c.reply)
		}
	}
	for pass := int64(0); pass <= 59_000; pass += 59_000 {
		wall.Store(start + pass)
		mono.Store(pass)
		for _, key := range strings.Fields("a b c d e f g h i") {
			for command, want := range map[string]int64{
				"PTTL": 60_000 - pass, "TTL": (60_000 - pass) / 1000, "PEXPIRETIME": at, "EXPIRETIME": at / 1000,
			} {
				reply := feedAll(s, [][]byte{[]byte(pipeline(command + " " + key))})
				if reply != fmt.Sprintf(":%d\r\n", want) {
					t.Errorf("after %d ms %s %s is %q, want %d", pass, command, key, reply, want)
				}
			}
		}
	}
	wall.Store(at + 1)
	mono.Store(60_001)
	if reply := feedAll(s, [][]byte{[]byte(pipeline("EXISTS a b c d e f g h i"))}); reply != ":0\r\n" {
		t.Errorf("of the keys that have expired there are %q", reply)
	}
	if text := infoText(t, &sessionTarget{s}, "server"); !strings.Contains(text, "clock_ahead_msec:3600000\r\n") {
		t.Errorf("INFO does not say how far the clock is ahead: %s", text)
	}
}
