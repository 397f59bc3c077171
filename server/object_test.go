package server

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// TestObjectRepliesAsRedisDoesUnderLFU compares with a redis-server that tracks frequencies, as
// countd always does. The frequency itself only has the same form.
func TestObjectRepliesAsRedisDoesUnderLFU(t *testing.T) {
	addr := startRedis(t, "the comparison of OBJECT under allkeys-lfu")
	redis, ours := dialRedis(t, addr), &sessionTarget{newCommandServer(t).newSession()}
	redis.do(t, []string{"CONFIG", "SET", "maxmemory-policy", "allkeys-lfu"})
	freq := regexp.MustCompile(`^:(\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])\r\n$`)
	for _, line := range []string{"HELLO 2", "SET n 7", "SET big 10000", "SET s abc", "PFADD h a",
		"OBJECT FREQ none", "OBJECT IDLETIME none", "OBJECT ENCODING none", "OBJECT REFCOUNT none",
		"OBJECT FREQ n", "OBJECT FREQ s", "object freq h", "OBJECT IDLETIME n", "OBJECT idletime s",
		"OBJECT REFCOUNT n", "OBJECT REFCOUNT big", "OBJECT REFCOUNT s", "OBJECT REFCOUNT h",
		"OBJECT ENCODING n", "OBJECT ENCODING s", "OBJECT ENCODING h", "OBJECT FREQ", "OBJECT FREQ a b",
		"OBJECT HELP", "OBJECT HELP x", "OBJECT", "OBJECT nonsense", "OBJECT Nonsense x",
		"HELLO 3", "OBJECT FREQ none", "OBJECT FREQ n", "OBJECT IDLETIME none"} {
		args := strings.Fields(line)
		want, got := redis.do(t, args), ours.do(t, args)
		both := freq.Match(want) && freq.Match(got) && strings.Contains(strings.ToUpper(line), "FREQ")
		if !both && args[0] != "HELLO" && !bytes.Equal(want, got) {
			t.Errorf("%s\nredis-server %q\ncountd       %q", line, want, got)
		}
	}
}

func TestFrequencyIsLogarithmic(t *testing.T) {
	for rate, want := range map[float64]int64{-1: 0, 0: 0, 1: 10, 10: 35, 100: 67, 1000: 100,
		10_000: 133, 100_000: 166, 1e6: 199, 1e7: 233, 45e6: 254, 48e6: 255, 1e12: 255} {
		if got := frequency(rate); got != want {
			t.Errorf("%v commands per second: %d, want %d", rate, got, want)
		}
	}
}

// TestLookingIsNotUsing checks that what asks about a key does not make it hot.
func TestLookingIsNotUsing(t *testing.T) {
	srv := newCommandServer(t)
	s := &sessionTarget{srv.newSession()}
	s.s.op.Writer = srv.eng.NewWriter()
	s.do(t, []string{"SET", "n", "1"})
	before := srv.eng.HotStats().Detector.Commands
	for range 100 {
		for _, line := range []string{"OBJECT FREQ n", "OBJECT ENCODING n", "OBJECT REFCOUNT n",
			"OBJECT IDLETIME n", "CNT.SHARDS n"} {
			s.do(t, strings.Fields(line))
		}
	}
	if after := srv.eng.HotStats().Detector.Commands; after != before {
		t.Errorf("the detector heard of %d commands", after-before)
	}
	s.do(t, []string{"GET", "n"})
	if after := srv.eng.HotStats().Detector.Commands; after != before+1 {
		t.Errorf("a GET is %d commands", after-before)
	}
}
