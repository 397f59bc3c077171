package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"countd/engine"
)

// runHere runs a subcommand in this process.
func runHere(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	code = run(args, nil, strings.NewReader(""), &out, &errOut)
	return code, out.String(), errOut.String()
}

func TestSubcommandsTeachTheirUse(t *testing.T) {
	for _, c := range subcommands() {
		code, stdout, _ := runHere(t, c.name, "x", "--help")
		if code != exitOK || stdout != c.help || !strings.HasPrefix(stdout, "countd "+c.name+" ") {
			t.Errorf("%s --help: exit code %d, %q", c.name, code, stdout)
		}
		for line := range strings.Lines(c.help) {
			if len(line) > 105 {
				t.Errorf("%s --help: a long line: %q", c.name, line)
			}
		}
	}
	if _, help, _ := runHere(t, "--help"); !strings.Contains(help, "countd check DIR [--repair]") ||
		!strings.Contains(help, "countd restore BACKUP --dir DIR") {
		t.Errorf("--help does not name the subcommands:\n%s", help)
	}
	for want, args := range map[string][]string{
		"name the directory":                 {"check"},
		"unexpected argument 'b'; only one":  {"check", "a", "b"},
		"there is no option --dir":           {"check", "a", "--dir", "b"},
		"name the new data directory with":   {"restore", "a"},
		"name the backup":                    {"restore", "--dir=x"},
		"--dir needs a value":                {"restore", "a", "--dir"},
		"Try 'countd restore --help'":        {"restore"},
		"no such file or directory":          {"check", filepath.Join(t.TempDir(), "none")},
		"not a data directory of countd, no": {"check", t.TempDir()},
	} {
		if code, stdout, stderr := runHere(t, args...); code != exitUsage || stdout != "" ||
			!strings.Contains(stderr, want) || !strings.HasPrefix(stderr, "countd "+args[0]+": ") {
			t.Errorf("%q: exit code %d, %q, %q", args, code, stdout, stderr)
		}
	}
}

// TestRepair: of a log in which bytes were overwritten. What is before them is there again.
func TestRepair(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, "--appendfsync", "always")
	for range 9 {
		s.do("INCR visits")
	}
	s.do("SHUTDOWN")
	s.wait()
	log := filepath.Join(dir, "data", "wal", "000001.log")
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	copy(b[500:], "overwritten")
	if err := os.WriteFile(log, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runToEnd(t, dir, "--port", "0"); code != exitFailed ||
		!regexp.MustCompile(`segment 000001\.log: offset \d+: .*; countd check \./data --repair`).MatchString(stderr) {
		t.Errorf("a server on a damaged directory: exit code %d, %q", code, stderr)
	}
	data := filepath.Join(dir, "data")
	code, stdout, _ := runHere(t, "check", data)
	if code != exitDamaged || !regexp.MustCompile(`(?m)^DAMAGED: wal/000001\.log: offset \d+: `).MatchString(stdout) ||
		strings.Contains(stdout, "repair: ") {
		t.Errorf("check: exit code %d, %q", code, stdout)
	}
	code, stdout, _ = runHere(t, "check", data, "--repair")
	if code != exitOK || !regexp.MustCompile(`(?m)^repair: wal/000001\.log: offset \d+: damaged: cut at offset \d+; at `+
		`least \d (flushes with (at least )?1 key are|flush with 1 key is) lost`).MatchString(stdout) || !strings.HasSuffix(stdout, "all is well\n") {
		t.Errorf("repair: exit code %d, %q", code, stdout)
	}
	kept, err := filepath.Glob(filepath.Join(data, "damaged-*", "wal", "000001.log"))
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	if k, err := os.ReadFile(kept[0]); err != nil || !bytes.Equal(k, b) {
		t.Errorf("kept otherwise than it was: %v", err)
	}
	s = startServer(t, dir)
	if n, err := strconv.Atoi(strings.TrimPrefix(s.do("INCR visits"), ":")); err != nil || n < 2 || n > 9 {
		t.Errorf("INCR answers %d, %v", n, err)
	}
	s.do("SHUTDOWN")
	s.wait()
}

// TestReportsHaveTheirGrammar: one of each, and more.
func TestReportsHaveTheirGrammar(t *testing.T) {
	r := &engine.CheckReport{Dir: "d", Segments: 1, Flushes: 2, Images: 1, Tables: 1, StoredKeys: 1, LostFlushes: 1,
		Problems: []engine.Problem{{File: "x", Offset: -1, What: "bad"}}}
	for _, want := range []string{"  store  1 table, 0 bytes, 1 key\n  log    1 segment behind the store, 0 bytes, " +
		"2 flushes, 1 image; last epoch 0\n", "\nAt least 1 flush lies behind damage of the log.\n1 problem\n"} {
		var out strings.Builder
		if printReport(&out, r); !strings.Contains(out.String(), want) {
			t.Errorf("%s\nlacks %q", out.String(), want)
		}
	}
	r.LostFlushes, r.Problems = 2, append(r.Problems, r.Problems...)
	var out strings.Builder
	if printReport(&out, r); !strings.HasSuffix(out.String(), "At least 2 flushes lie behind damage of the log.\n2 problems\n") {
		t.Error(out.String())
	}
}

// TestBackupCheckAndRestore is the way of the README: back up, check, restore, start.
func TestBackupCheckAndRestore(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir)
	s.do("INCRBY visits 5")
	if got := s.do("SAVE"); got != "+OK" {
		t.Fatalf("SAVE answers %s", got)
	}
	s.do("INCRBY visits 5")
	data := filepath.Join(dir, "data")
	code, _, stderr := runHere(t, "check", data)
	if code != exitNotChecked || !strings.Contains(stderr, "a server uses "+data+"; stop it, or check one of its backups") {
		t.Errorf("check beside a server: exit code %d, %q", code, stderr)
	}
	paths, err := filepath.Glob(filepath.Join(data, "backup-*"))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	code, stdout, _ := runHere(t, "check", paths[0])
	if code != exitOK || !regexp.MustCompile(`: backup of 2\d{3}-.*UTC\n(.*\n)+  keys   1, database 0: 1; contracts 0\n`+
		`all is well\n$`).MatchString(stdout) {
		t.Errorf("check of a backup: exit code %d, %q", code, stdout)
	}
	if code, _, stderr := runToEnd(t, dir, "--port", "0", "--dir", paths[0]); code != exitFailed ||
		!strings.Contains(stderr, "countd restore makes a data directory of it") {
		t.Errorf("a server on a backup: exit code %d, %q", code, stderr)
	}
	if code, _, stderr := runHere(t, "restore", paths[0], "--dir", data); code != exitFailed ||
		!strings.Contains(stderr, "not empty") {
		t.Errorf("restore into data: exit code %d, %q", code, stderr)
	}
	s.do("SHUTDOWN")
	s.wait()
	if code, stdout, stderr := runHere(t, "check", data); code != exitOK || !strings.Contains(stdout, "all is well") {
		t.Errorf("check: exit code %d, %q, %q", code, stdout, stderr)
	}

	restored := filepath.Join(dir, "restored")
	if code, stdout, stderr := runHere(t, "restore", paths[0], "--dir", restored); code != exitOK ||
		!strings.Contains(stdout, "Start with: countd --dir "+restored) {
		t.Errorf("restore: exit code %d, %q, %q", code, stdout, stderr)
	}
	r := startServer(t, dir, "--dir", restored)
	if got := r.do("GET visits"); got != "$1" {
		t.Errorf("restored: %s", got)
	}
	if got := r.do("INCR visits"); got != ":6" {
		t.Errorf("restored: %s", got)
	}
	r.do("SHUTDOWN")
	r.wait()

	log := filepath.Join(paths[0], "wal", "000001.log")
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(log); err != nil { // it is a link
		t.Fatal(err)
	}
	b[70] ^= 1
	if err := os.WriteFile(log, b, 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, _ = runHere(t, "check", paths[0])
	if code != exitDamaged || !regexp.MustCompile(`(?m)^DAMAGED: wal/000001\.log: `).MatchString(stdout) {
		t.Errorf("check of a damaged backup: exit code %d, %q", code, stdout)
	}
	if code, stdout, stderr := runHere(t, "check", "--repair", paths[0]); code != exitDamaged ||
		strings.Contains(stdout, "repair: ") || !strings.Contains(stderr, "a backup is not repaired") {
		t.Errorf("repair of a damaged backup: exit code %d, %q, %q", code, stdout, stderr)
	}
	again := filepath.Join(dir, "again")
	if code, _, stderr := runHere(t, "restore", paths[0], "--dir="+again); code != exitFailed ||
		!strings.Contains(stderr, "DAMAGED: wal/000001.log") {
		t.Errorf("restore of a damaged backup: exit code %d, %q", code, stderr)
	}
	if code, _, _ := runHere(t, "check", data); code != exitOK {
		t.Error("the data directory of which it was made is damaged too")
	}
}
