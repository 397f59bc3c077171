// Package process starts servers and ends them, also by kill -9.
package process

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	startTimeout = 2 * time.Minute
	stopTimeout  = 2 * time.Minute
)

// Process is a server with a directory of its own. One goroutine at a time starts, ends and asks it.
type Process struct {
	Port int

	name string
	cmd  *exec.Cmd
	log  *os.File
	gone chan struct{} // closed when the process ended
}

// Launch starts a server that takes redis-server's options on a free port of the loopback and does
// not wait for it. Its data are in dir/data, what it prints is appended to dir/log; dir must be there.
func Launch(name, path, dir string, args []string) (*Process, error) {
	p := &Process{name: name, gone: make(chan struct{})}
	data := filepath.Join(dir, "data") // beside the log: what is in it is the server's
	err := os.MkdirAll(data, 0o755)
	if err == nil {
		p.Port, err = FreePort()
	}
	if err == nil {
		p.log, err = os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	}
	if err != nil {
		return nil, err
	}
	own := []string{"--bind", "127.0.0.1", "--port", strconv.Itoa(p.Port), "--dir", data}
	p.cmd = exec.Command(path, append(own, args...)...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = dieWithParent()
	if err := p.run(); err != nil {
		p.log.Close()
		return nil, fmt.Errorf("cannot start %s: %w", name, err)
	}
	return p, nil
}

// Start is Launch, and returns when the server answers PING; ctx ends the waiting.
func Start(ctx context.Context, name, path, dir string, args []string) (*Process, error) {
	p, err := Launch(name, path, dir, args)
	if err != nil {
		return nil, err
	}
	if err := p.awaitPong(ctx); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

// run starts the command. A thread starts it and stays until it ended: to Linux that thread, not the
// process, is the parent that dieWithParent means.
func (p *Process) run() error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.cmd.Wait()
			close(p.gone)
		}
	}()
	return <-started
}

// The ports that FreePort looks at are below those that systems give out by themselves, to clients and to
// who listens on port 0: else one of these might take it before the server does.
const (
	firstPort = 15_000
	lastPort  = 31_999
)

// FreePort is a port of the loopback that was free a moment ago.
func FreePort() (port int, err error) {
	for range 1000 {
		port = firstPort + rand.IntN(lastPort-firstPort+1)
		var l net.Listener
		if l, err = net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, err
}

func (p *Process) awaitPong(ctx context.Context) error {
	for end := time.Now().Add(startTimeout); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.gone:
			return fmt.Errorf("%s stopped at its start; its log ends with\n%s", p.name, p.LogTail())
		case <-time.After(20 * time.Millisecond):
		}
		if p.pongs() {
			return nil
		}
	}
	return fmt.Errorf("%s has not answered PING in %v; its log ends with\n%s", p.name, startTimeout,
		p.LogTail())
}

func (p *Process) pongs() bool {
	conn, err := net.DialTimeout("tcp", p.Address(), time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	reply := make([]byte, 16)
	n, _ := conn.Read(reply)
	return bytes.HasPrefix(reply[:n], []byte("+PONG"))
}

// LogTail is the last 2000 bytes that the server printed.
func (p *Process) LogTail() string {
	text, _ := os.ReadFile(p.log.Name())
	return strings.TrimSpace(string(text[max(0, len(text)-2000):]))
}

// Address is where the server listens.
func (p *Process) Address() string { return "127.0.0.1:" + strconv.Itoa(p.Port) }

// Gone is closed when the process has ended.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Stop asks the process to end, and kills it where it does not.
func (p *Process) Stop() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.gone:
		p.log.Close()
	case <-time.After(stopTimeout):
		p.Kill()
	}
}

// Kill is kill -9; it returns when the process is gone.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	<-p.gone
	p.log.Close()
}

// PeakRSS is the most resident memory the process has had, in bytes; 0 where the system has no /proc.
func (p *Process) PeakRSS() int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(fields[0], 10, 64)
	return kib << 10
}

// ticksPerSecond is the unit of /proc/PID/stat: USER_HZ, which is 100 on every architecture Go runs
// on (proc_pid_stat(5), sysconf(_SC_CLK_TCK)).
const ticksPerSecond = 100

// CPU is the processor time that the process has used, user and system; ok is false where the
// system has no /proc.
func (p *Process) CPU() (used time.Duration, ok bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, false
	}
	// The second field is the name in parentheses, which may hold blanks.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return 0, false
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * time.Second / ticksPerSecond, err1 == nil && err2 == nil
}
