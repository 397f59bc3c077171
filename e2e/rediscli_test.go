package e2e

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// lookTool finds a program of Redis's. Where there is none the test is skipped and says what it
// leaves out.
func lookTool(t *testing.T, name, leftOut string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("no %s on this machine: left out %s", name, leftOut)
	}
	return path
}

// A session is the commands of a redis-cli session and the output between its prompts.
type session struct{ commands, outputs []string }

const cliPrompt = "127.0.0.1:6379> "

// readmeSession is the session that README.md shows below a headline.
func readmeSession(t *testing.T, headline string) session {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "## "+headline+"\n")
	_, block, _ = strings.Cut(block, "```text\n")
	block, _, _ = strings.Cut(block, "```")
	var s session
	for line := range strings.Lines(block) {
		if command, ok := strings.CutPrefix(line, cliPrompt); ok {
			s.commands = append(s.commands, strings.TrimSpace(command))
			s.outputs = append(s.outputs, "")
		} else if n := len(s.outputs); n > 0 {
			s.outputs[n-1] += line
		}
	}
	if len(s.commands) < 3 {
		t.Fatalf("README.md shows no session below %s: %q", headline, s.commands)
	}
	return s
}

// TestRedisCLISessionOfTheREADME types what the README's first minutes tell the reader to, and gets
// what it shows; then the promise below it: after kill -9 the numbers are there.
func TestRedisCLISessionOfTheREADME(t *testing.T) {
	cli := lookTool(t, "redis-cli", "the README's session")
	p := start(t, plainServer, t.TempDir())
	run := func(stdin string, args ...string) string { return p.redisCLI(cli, stdin, args...) }
	readmeSession(t, "First minutes").check(p, cli)

	waitFlushed(t, p.dial())
	p.kill()
	p = start(t, plainServer, p.dir)
	for command, reply := range map[string]string{
		"GET page:42:views":        "\"11\"\n",
		"PFCOUNT page:42:visitors": "(integer) 3\n",
		"GET quota:alice":          "\"70\"\n",
	} {
		if got := run("", strings.Fields(command)...); got != reply {
			t.Errorf("after kill -9 %s prints %q, want %q", command, got, reply)
		}
	}
	if got := run("", "TTL", "quota:alice"); !strings.HasPrefix(got, "(integer) 35") &&
		got != "(integer) 3600\n" {
		t.Errorf("after kill -9 the time to live is %s", got)
	}
	p.checkQuiet()
	p.stop()
}

// TestRedisCLISessionOfContracts does the same with the session about contracts.
func TestRedisCLISessionOfContracts(t *testing.T) {
	cli := lookTool(t, "redis-cli", "the README's session about contracts")
	p := start(t, plainServer, t.TempDir())
	readmeSession(t, "Contracts").check(p, cli)
	p.stop()
}

// TestRedisCLISessionOfHotKeys does the same with the session about hot keys.
func TestRedisCLISessionOfHotKeys(t *testing.T) {
	cli := lookTool(t, "redis-cli", "the README's session about hot keys")
	p := start(t, plainServer, t.TempDir())
	readmeSession(t, "Hot keys").check(p, cli)
	p.stop()
}

// redisCLI runs redis-cli and returns what it prints.
func (p *process) redisCLI(cli, stdin string, args ...string) string {
	p.t.Helper()
	cmd := exec.Command(cli, append([]string{"-p", p.port, "--no-raw"}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("redis-cli: %v\n%s", err, out)
	}
	return string(out)
}

// anHour is a time to live of an hour on a machine that has let some of it pass.
var anHour = regexp.MustCompile(`\(integer\) 35\d\d\b`)

// check types the session's commands and compares what redis-cli prints with what it shows.
func (s session) check(p *process, cli string) {
	p.t.Helper()
	got := p.redisCLI(cli, strings.Join(s.commands, "\n")+"\n")
	got = anHour.ReplaceAllString(got, "(integer) 3600")
	if all := strings.Join(s.outputs, ""); got != all {
		p.t.Errorf("redis-cli prints\n%swant\n%s", got, all)
	}
	p.checkQuiet()
}

// waitFlushed waits until all that was written so far is on disk.
func waitFlushed(t *testing.T, c *client) {
	t.Helper()
	epoch := infoNumber(c.do("INFO", "persistence").s, "current_epoch")
	c.do("INCR", "something:to:flush")
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		text := c.do("INFO", "persistence").s
		if infoNumber(text, "durable_epoch") >= epoch {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the writes are not flushed:\n%s", text)
		}
	}
}

// TestRedisBenchmark runs redis-benchmark as its users do; it must print figures and nothing else.
func TestRedisBenchmark(t *testing.T) {
	tool := lookTool(t, "redis-benchmark", "its run")
	p := start(t, plainServer, t.TempDir())
	for _, more := range []string{"", "-P 16 -r 10000", "--threads 2 -c 20"} {
		args := append([]string{"-p", p.port, "-t", "ping,set,get,incr,mset", "-q", "-n", "20000"},
			strings.Fields(more)...)
		out, err := exec.Command(tool, args...).CombinedOutput()
		text := string(out)
		if err != nil {
			t.Errorf("redis-benchmark %s: %v\n%s", more, err, text)
		}
		for _, bad := range []string{"WARNING", "Warning", "rror", "Could not"} {
			if strings.Contains(text, bad) {
				t.Errorf("redis-benchmark %s prints %q:\n%s", more, bad, text)
			}
		}
		for _, name := range []string{"PING_INLINE", "PING_MBULK", "SET", "GET", "INCR", "MSET"} {
			if !strings.Contains(text, name) {
				t.Errorf("redis-benchmark %s has no figure of %s:\n%s", more, name, text)
			}
		}
	}
	p.checkQuiet()
	p.stop()
}
