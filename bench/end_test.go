package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asBench in the environment makes the test binary the program itself.
const asBench = "COUNTD_TEST_AS_BENCH"

func TestMain(m *testing.M) {
	if os.Getenv(asBench) != "" {
		main()
	}
	os.Exit(m.Run())
}

// aComparison is a comparison that would take minutes, in a process of its own, with its first
// result printed.
type aComparison struct {
	cmd    *exec.Cmd
	out    io.ReadCloser
	errOut bytes.Buffer
	tmp    string // where the servers' directories are
}

func startComparison(t *testing.T) *aComparison {
	t.Helper()
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is not installed: nothing to compare")
	}
	c := &aComparison{tmp: t.TempDir()}
	c.cmd = exec.Command(os.Args[0], "compare", "--countd", redis, "--redis", redis, "--modes", "none",
		"--cases", strings.Repeat("hot-p1,", 999)+"hot-p1", "--rounds", "1", "--duration", "100ms",
		"--warmup", "0", "--conns", "2", "--keyspace", "100")
	c.cmd.Env = append(os.Environ(), asBench+"=1", "TMPDIR="+c.tmp)
	c.cmd.Stderr = &c.errOut
	if c.out, err = c.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.cmd.Process.Kill() })
	lines := bufio.NewScanner(c.out)
	if !lines.Scan() || !strings.Contains(lines.Text(), ", 1 round of 100ms in turn") {
		t.Errorf("the heading is %q", lines.Text())
	}
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "hot-p1 ") {
	}
	return c
}

// wait returns the exit code, -1 for a signal.
func (c *aComparison) wait(t *testing.T) int {
	t.Helper()
	late := time.AfterFunc(4*time.Minute, func() { c.cmd.Process.Kill() })
	io.Copy(io.Discard, c.out)
	c.cmd.Wait()
	if !late.Stop() {
		t.Error("the comparison does not end")
	}
	return c.cmd.ProcessState.ExitCode()
}

// servers are the addresses of its servers, from their logs.
func (c *aComparison) servers(t *testing.T) (addrs []string) {
	t.Helper()
	logs, _ := filepath.Glob(filepath.Join(c.tmp, "bench-*", "log"))
	for _, name := range logs {
		text, err := os.ReadFile(name)
		port := regexp.MustCompile(`port=(\d+)`).FindSubmatch(text)
		if err != nil || port == nil {
			t.Fatalf("%v; no port in\n%s", err, text)
		}
		addrs = append(addrs, "127.0.0.1:"+string(port[1]))
	}
	if len(addrs) != 2 {
		t.Fatalf("%d servers run", len(addrs))
	}
	return addrs
}

// gone checks that nothing listens at the addresses.
func gone(t *testing.T, addrs []string) {
	t.Helper()
	for _, addr := range addrs {
		end := time.Now().Add(2 * time.Minute)
		for {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				break
			}
			conn.Close()
			if time.Now().After(end) {
				t.Errorf("the server at %s still runs", addr)
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func TestAnEndedComparisonLeavesNothingBehind(t *testing.T) {
	for name, end := range map[string]func(*aComparison){
		"interrupted":       func(c *aComparison) { c.cmd.Process.Signal(os.Interrupt) },
		"terminated":        func(c *aComparison) { c.cmd.Process.Signal(syscall.SIGTERM) },
		"hung up":           func(c *aComparison) { c.cmd.Process.Signal(syscall.SIGHUP) },
		"not read any more": func(c *aComparison) { c.out.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			c := startComparison(t)
			addrs := c.servers(t)
			end(c)
			code := c.wait(t)
			want := "interrupted"
			if name == "not read any more" {
				want = "broken pipe"
			}
			if code != 1 || !strings.Contains(c.errOut.String(), want) {
				t.Errorf("exit code %d, %q", code, c.errOut.String())
			}
			gone(t, addrs)
			if left, _ := os.ReadDir(c.tmp); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
