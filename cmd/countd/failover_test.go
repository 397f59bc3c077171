package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheFailoverDirectoryIsAnOption: it must exist, serves one data directory, and a start that does not
// find it is refused.
func TestTheFailoverDirectoryIsAnOption(t *testing.T) {
	dir, away := t.TempDir(), filepath.Join(t.TempDir(), "log")
	refused := func(what, sentence string, args ...string) {
		t.Helper()
		code, _, stderr := runToEnd(t, dir, append(args, "--port", "0")...)
		if code != exitFailed || !strings.Contains(stderr, sentence) {
			t.Errorf("%s: exit code %d, %q", what, code, stderr)
		}
	}
	refused("it does not exist", "the log's failover directory, "+away, "--log-failover-dir", away)
	if err := os.Mkdir(away, 0o755); err != nil {
		t.Fatal(err)
	}
	refused("it is the data directory itself", "it is a data directory", "--log-failover-dir", "data", "--dir", "./data")
	s := startServer(t, dir, "--log-failover-dir", away, "--appendfsync", "always")
	if got := s.do("INCRBY visits 5"); got != ":5" {
		t.Error(got)
	}
	refused("another server uses it", "in use by another process", "--log-failover-dir", away, "--dir", "data2")
	s.cmd.Process.Kill()
	s.wait()
	refused("another's", "that of another data directory", "--log-failover-dir", away, "--dir", "data2")
	if err := os.Rename(away, away+"2"); err != nil {
		t.Fatal(err)
	}
	refused("it is gone", "failover directory, "+away)
	if err := os.Rename(away+"2", away); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := runHere(t, "check", filepath.Join(dir, "data")); code != exitOK {
		t.Errorf("check: exit code %d, %q, %q", code, stdout, stderr)
	}
	s = startServer(t, dir)
	if got := s.do("INCRBY visits 5"); got != ":10" {
		t.Error(got)
	}
	s.do("SHUTDOWN")
	s.wait()
}
