package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"countd/bench/process"
)

// A server that was filled is right, also where a load went over it in steps; one counter more, less or
// other than it was is noticed.
func TestAFilledServerIsVerified(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "countd")
	if out, err := exec.Command("go", "build", "-o", binary, "countd/cmd/countd").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p, err := process.Start(t.Context(), "countd", binary, t.TempDir(), []string{"--maxmemory", "2mb"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	bench := func(want int, saying string, args ...string) {
		t.Helper()
		var out, errOut bytes.Buffer
		args = append([]string{args[0], "--port", strconv.Itoa(p.Port)}, args[1:]...)
		if code := run(args, &out, &errOut); code != want {
			t.Fatalf("%q: exit code %d, want %d: %s%s", args, code, want, &out, &errOut)
		}
		if text := out.String() + errOut.String(); !strings.Contains(text, saying) {
			t.Fatalf("%q says %s", args, text)
		}
	}
	verify := []string{"verify", "--keys", "10000", "--sample", "20000"}
	bench(0, "10,000 keys filled", "fill", "--keys", "10000")
	bench(0, "DBSIZE is 10,000\n20,000 values right", verify...)
	bench(1, "DBSIZE is 10000, expected 0", "fill", "--keys", "10")
	bench(0, "", "run", "--quiet", "--requests", "10", "--conns", "1", "INCRBY", "key:000000000077", "1000000")
	bench(0, "values right", append(verify, "--stepped")...)
	bench(1, "key:000000000077 is ", verify...)
	bench(0, "", "run", "--quiet", "--requests", "1", "--conns", "1", "--pipeline", "1", "SET", "other", "1")
	bench(1, "DBSIZE is 10001, expected 10000", append(verify, "--stepped")...)
	bench(0, "values right", append(verify, "--stepped", "--dbsize", "10001")...)
	bench(0, "", "run", "--quiet", "--requests", "1", "--conns", "1", "--pipeline", "1", "DEL", "key:000000000099")
	bench(1, "key:000000000099 is nil, expected", append(verify, "--stepped")...)
	// Every connection writes of what it finds wrong at once.
	bench(0, "", "run", "--quiet", "--requests", "10000", "--keys", "uniform", "--keyspace", "10000", "INCRBY", "{key}", "1")
	bench(1, "values are wrong", append(verify, "--dbsize", "10001", "--pipeline", "4")...)
	bench(2, "must be between", "verify", "--keys", "0")
}
