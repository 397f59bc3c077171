package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestContractLinesOfTheConfigFile: they are in force from the start, cannot be changed by a command, and
// go when the line goes.
func TestContractLinesOfTheConfigFile(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "countd.conf")
	text := "contract quota:* min 0 max 3\ncontract \"user *\" replies relaxed shards 4 # not a comment\n"
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(text)
	code, _, stderr := runToEnd(t, dir, conf)
	if code != exitUsage || !strings.HasPrefix(stderr, "countd: "+conf+":2: contract: expected a glob, then ") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	write(strings.Replace(text, " # not a comment", "", 1))
	s := startServer(t, dir, conf)
	for _, c := range [][2]string{
		{"INCRBY quota:a 3", ":3"},
		{"INCR quota:a", "-ERR increment would leave the range of the counter's contract"},
		{"CNT.CONTRACT LIST", "*2"},
		{"CNT.CONTRACT SET quota:* MAX 10",
			"-ERR the contract of this glob comes from the configuration: change it there"},
		{"CNT.CONTRACT SET quota:a MAX 10", "+OK"},
		{"INCR quota:a", ":4"},
		{"CONFIG SET contract x",
			"-ERR CONFIG SET failed (possibly related to argument 'contract') - can't set immutable config"},
	} {
		if got := s.do(c[0]); got != c[1] {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	s.wait()
	write("")
	s = startServer(t, dir, conf)
	if got := s.do("CNT.CONTRACT LIST"); got != "*1" { // that of quota:a, which was stored
		t.Error(got)
	}
}

// TestContractsThatCannotBeKeptStopTheStart before anything is touched.
func TestContractsThatCannotBeKeptStopTheStart(t *testing.T) {
	for line, reason := range map[string]string{
		"k min 2 max 1":           "MIN is greater than MAX",
		"k replies relaxed max 1": "REPLIES relaxed cannot keep a range",
		"k max many":              "a number is not an integer or out of range",
		"k shards 5000":           "SHARDS must be auto or a number from 1 to 1024",
		"k min":                   "expected a glob, then pairs of ",
		"k durability always":     "DURABILITY needs a log",
	} {
		dir := t.TempDir()
		args := append([]string{"--appendonly", "no", "--contract"}, strings.Fields(line)...)
		code, _, stderr := runToEnd(t, dir, args...)
		if code != exitUsage || !strings.Contains(stderr, reason) {
			t.Errorf("%s: exit code %d, %q", line, code, stderr)
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("%s: the start left %v", line, left)
		}
	}
}
