package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestMediansAndRatios(t *testing.T) {
	a := []measured{{Throughput: 30, P50: 1, CPU: 10}, {Throughput: 10, P50: 3, CPU: 10},
		{Throughput: 20, P50: 2}}
	b := []measured{{Throughput: 10, P50: 2, CPU: 20}, {Throughput: 10, P50: 2, CPU: 5},
		{Throughput: 10, P50: 2}}
	if m := medians(a); m.Throughput != 20 || m.P50 != 2 || m.CPU != 10 {
		t.Errorf("medians %+v", m)
	}
	if m := medians(ratios(a, b)); m.Throughput != 2 || m.P50 != 1 || m.CPU != 0.5 {
		t.Errorf("ratios %+v", m)
	}
	if m := median([]float64{4, 1}); m != 2.5 {
		t.Errorf("median %v", m)
	}
}

func TestCases(t *testing.T) {
	for _, name := range strings.Split(defaultCases, ",") {
		if _, err := caseOptions(name, defaultOptions()); err != nil {
			t.Error(err)
		}
	}
	o, err := caseOptions("mixed-p512", defaultOptions())
	if err != nil || o.pipeline != 512 || o.keys != "zipf" {
		t.Errorf("%+v, %v", o, err)
	}
	for _, name := range []string{"", "hot", "hot-p", "hot-p0", "cold-p1"} {
		if _, err := caseOptions(name, defaultOptions()); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
}

// compare runs on anything that takes redis-server's options: here redis-server beside itself.
func TestCompareRunsServersInTurn(t *testing.T) {
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is not installed: not comparing it with itself")
	}
	argv := []string{"compare", "--countd", redis, "--cases", "hot-p16,get-p4", "--rounds", "2",
		"--duration", "100ms", "--warmup", "0", "--conns", "4", "--keyspace", "1000",
		"--modes", "none,always", "--json"}
	var out, errOut bytes.Buffer
	if code := run(argv, &out, &errOut); code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	var results []result
	if err := json.Unmarshal(out.Bytes(), &results); err != nil {
		t.Fatal(err)
	}
	if len(results) != 4 {
		t.Fatalf("%d results", len(results))
	}
	for _, r := range results {
		if r.Redis == nil || r.Ratio == nil || r.Countd.Throughput <= 0 || r.Redis.Throughput <= 0 ||
			r.Ratio.Throughput <= 0 || r.Countd.Errors != 0 {
			t.Errorf("%s %s: %+v", r.Mode, r.Case, r)
		}
	}

	out.Reset()
	errOut.Reset()
	argv = append(argv[:len(argv)-1], "--redis", "no-such-server", "--cases", "hot-p16", "--modes", "none")
	if code := run(argv, &out, &errOut); code != 0 || !strings.Contains(errOut.String(), "measured alone") {
		t.Errorf("exit code %d: %s", code, errOut.String())
	}
	if !strings.Contains(out.String(), "hot-p16") || strings.Contains(out.String(), "ratio") {
		t.Errorf("got %s", out.String())
	}
}

func TestAServerThatDoesNotStartIsReportedWithItsLog(t *testing.T) {
	var errOut bytes.Buffer
	// This test's own program ends at once: it knows no such options.
	argv := []string{"compare", "--countd", os.Args[0], "--redis", "no-such-server", "--cases", "hot-p16"}
	code := run(argv, io.Discard, &errOut)
	if code != 1 || !strings.Contains(errOut.String(), "stopped at its start") {
		t.Errorf("exit code %d: %s", code, errOut.String())
	}
}
