package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait of these tests; nothing comes near it unless it hangs.
const patience = 4 * time.Minute

// A process is a running server.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	dir  string // with its data
	addr string
	port string
	log  serverLog
	done chan struct{} // closed when the process has ended and its log is complete
}

// serverLog collects what a server prints.
type serverLog struct {
	mu struct {
		sync.Mutex
		text strings.Builder
	}
	ready chan string // gets the address
}

var readyLine = regexp.MustCompile(`msg="ready to accept connections" addresses="?127\.0\.0\.1:(\d+)`)

// String is what was printed so far.
func (l *serverLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.text.String()
}

func (l *serverLog) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.text.WriteString(line + "\n")
}

// A serverKind says which executable a process runs.
type serverKind string

const (
	plainServer    serverKind = "countd"
	smallLogServer serverKind = "countd with small log segments"
)

// launch starts a server with its data in dir and does not wait for it.
func launch(t *testing.T, kind serverKind, dir string, args ...string) *process {
	t.Helper()
	return launchEnv(t, kind, dir, nil, args...)
}

// launchEnv is launch with more of an environment.
func launchEnv(t *testing.T, kind serverKind, dir string, env []string, args ...string) *process {
	t.Helper()
	args = append([]string{"--port", "0", "--dir", dir}, args...)
	p := &process{t: t, dir: dir, cmd: exec.Command(binary, args...), done: make(chan struct{})}
	p.log.ready = make(chan string, 1)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "COUNTD_") { // they are options
			p.cmd.Env = append(p.cmd.Env, v)
		}
	}
	p.cmd.Env = append(p.cmd.Env, "GORACE=atexit_sleep_ms=0") // a stop need not wait for more races
	p.cmd.Env = append(p.cmd.Env, env...)
	if kind == smallLogServer {
		p.cmd = &exec.Cmd{Path: os.Args[0], Args: append([]string{os.Args[0]}, args...),
			Env: append(p.cmd.Env, smallLogVar+"=1")}
	}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	go func() {
		defer close(p.done)
		for scan := bufio.NewScanner(stderr); scan.Scan(); {
			p.log.add(scan.Text())
			if m := readyLine.FindStringSubmatch(scan.Text()); m != nil {
				p.log.ready <- m[1]
			}
		}
		_ = p.cmd.Wait() // the exit code is in ProcessState
	}()
	return p
}

// start starts a server with its data in dir and returns when it serves.
func start(t *testing.T, kind serverKind, dir string, args ...string) *process {
	t.Helper()
	return launch(t, kind, dir, args...).serving()
}

// serving waits until p serves. One that does not come up fails the test with its log.
func (p *process) serving() *process {
	t := p.t
	t.Helper()
	select {
	case p.port = <-p.log.ready:
		p.addr = "127.0.0.1:" + p.port
	case <-p.done:
		t.Fatalf("%s ended at its start, exit code %d:\n%s", p.cmd.Path, p.cmd.ProcessState.ExitCode(), &p.log)
	case <-time.After(patience):
		t.Fatalf("%s does not serve:\n%s", p.cmd.Path, &p.log)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of process %d:\n%s", p.cmd.Process.Pid, &p.log)
		}
	})
	return p
}

// kill is kill -9; it returns when the process is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.done
}

// terminate sends SIGTERM.
func (p *process) terminate() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }

// wait waits for the end that was asked for, which must be a clean one.
func (p *process) wait() {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.t.Fatalf("the server does not stop:\n%s", &p.log)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.t.Fatalf("the server stopped with exit code %d:\n%s", code, &p.log)
	}
	p.checkLog()
}

// stop ends the server by SIGTERM.
func (p *process) stop() {
	p.t.Helper()
	p.terminate()
	p.wait()
}

var alarming = regexp.MustCompile(`level=ERROR|DATA RACE|panic:|fatal error:|SIGSEGV|goroutine \d+ \[`)

// checkLog fails the test where the server printed that something is wrong.
func (p *process) checkLog() {
	p.t.Helper()
	if bad := alarming.FindString(p.log.String()); bad != "" {
		p.t.Errorf("%q in the log of process %d:\n%s", bad, p.cmd.Process.Pid, &p.log)
	}
}

// checkQuiet fails the test where the server warned of anything.
func (p *process) checkQuiet() {
	p.t.Helper()
	p.checkLog()
	if text := p.log.String(); strings.Contains(text, "level=WARN") {
		p.t.Errorf("the server warns:\n%s", text)
	}
}
