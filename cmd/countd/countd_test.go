package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"log/slog"
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

// patience bounds what these tests wait for; nothing comes near it unless it hangs.
const patience = 4 * time.Minute

// binary is countd, built once for all tests.
var binary string

// hangVar makes the test binary a process that never finishes its stop; see
// TestASecondInterruptEndsTheProcessAtOnce.
const hangVar = "COUNTD_TEST_HANG"

func TestMain(m *testing.M) {
	if os.Getenv(hangVar) != "" {
		stopOnSignal(slog.New(slog.DiscardHandler), func() { fmt.Println("stopping"); select {} })
		fmt.Println("ready")
		select {}
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "countd-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "countd")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// A process is a running countd.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	addr string
	log  *logBuffer
	exit chan int
}

// logBuffer collects the log and finds the line that says where the server listens.
type logBuffer struct {
	lines chan string // closed at the end of the log
	text  bytes.Buffer
}

var readyLine = regexp.MustCompile(`msg="ready to accept connections" addresses="?(\S+?)"?( |$)`)

// startServer starts countd in dir with a port of the system's choice, and returns when it serves.
func startServer(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	s := &process{t: t, cmd: exec.Command(binary, append(args, "--port", "0")...),
		log: &logBuffer{lines: make(chan string, 1000)}, exit: make(chan int, 1)}
	s.cmd.Dir = dir
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for scan := bufio.NewScanner(stderr); scan.Scan(); {
			s.log.lines <- scan.Text()
		}
		close(s.log.lines)
		s.cmd.Wait()
		s.exit <- s.cmd.ProcessState.ExitCode()
	}()
	t.Cleanup(func() { s.cmd.Process.Kill() })
	timeout := time.After(patience)
	for s.addr == "" {
		select {
		case line, ok := <-s.log.lines:
			fmt.Fprintln(&s.log.text, line)
			if m := readyLine.FindStringSubmatch(line); m != nil {
				s.addr = m[1]
			} else if !ok {
				t.Fatalf("countd ended:\n%s", s.log.text.String())
			}
		case <-timeout:
			t.Fatalf("countd does not serve:\n%s", s.log.text.String())
		}
	}
	return s
}

// do sends an inline command and returns the first line of the reply.
func (s *process) do(command string) string {
	s.t.Helper()
	conn, err := net.DialTimeout("tcp", s.addr, patience)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(conn, "%s\r\n", command)
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.TrimRight(line, "\r\n")
}

// wait returns the exit code and the whole log.
func (s *process) wait() (code int, log string) {
	s.t.Helper()
	select {
	case code = <-s.exit:
	case <-time.After(patience):
		s.t.Fatalf("countd does not end:\n%s", s.log.text.String())
	}
	for line := range s.log.lines {
		fmt.Fprintln(&s.log.text, line)
	}
	return code, s.log.text.String()
}

// runToEnd runs countd in dir until it ends by itself.
func runToEnd(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Dir = dir
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	timer := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer timer.Stop()
	cmd.Run()
	return cmd.ProcessState.ExitCode(), out.String(), errOut.String()
}

func TestStopsCleanlyAndFindsItsDataAgain(t *testing.T) {
	dir := t.TempDir()
	stops := []struct {
		name string
		stop func(s *process)
	}{
		{"SIGTERM", func(s *process) { s.cmd.Process.Signal(syscall.SIGTERM) }},
		{"SIGINT", func(s *process) { s.cmd.Process.Signal(syscall.SIGINT) }},
		{"SHUTDOWN", func(s *process) { s.do("SHUTDOWN") }},
	}
	for i, stop := range stops {
		s := startServer(t, dir)
		if got, want := s.do("INCRBY visits 5"), fmt.Sprintf(":%d", 5*(i+1)); got != want {
			t.Errorf("before %s: %s, want %s", stop.name, got, want)
		}
		stop.stop(s)
		code, log := s.wait()
		if code != exitOK || !strings.Contains(log, "countd stopped") {
			t.Errorf("%s: exit code %d, log:\n%s", stop.name, code, log)
		}
		if i > 0 && !strings.Contains(log, "keys=1") {
			t.Errorf("%s: the log does not say what was recovered:\n%s", stop.name, log)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); err != nil {
		t.Errorf("the default data directory: %v", err)
	}
}

func TestABusyPortStopsTheStartBeforeTheDataIsTouched(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := t.TempDir()
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	code, _, stderr := runToEnd(t, dir, "--port", port)
	want := "countd: 127.0.0.1:" + port + " is in use; choose another with --port\n"
	if code != exitFailed || stderr != want {
		t.Errorf("exit code %d, %q, want %q", code, stderr, want)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("the start left %v", left)
	}
}

func TestASecondProcessOnTheSameDataIsRefused(t *testing.T) {
	dir := t.TempDir()
	first := startServer(t, dir)
	code, _, stderr := runToEnd(t, dir, "--port", "0")
	if code != exitFailed || !strings.Contains(stderr, "./data is in use by another process") ||
		!strings.Contains(stderr, "--dir") {
		t.Errorf("exit code %d:\n%s", code, stderr)
	}
	if got := first.do("PING"); got != "+PONG" {
		t.Errorf("the first process answers %s", got)
	}
}

// TestAFailedStartSaysWhy: in words, on standard error and in the log file.
func TestAFailedStartSaysWhy(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	lost := filepath.Join(dir, "lost", "wal")
	if err := os.MkdirAll(lost, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(lost, "000001.log"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]string{
		"file":     "cannot open the data directory file (see --dir): file is not a directory",
		"file/a/b": "cannot open the data directory file/a/b (see --dir): file is not a directory",
		"lost": "the data directory lost is damaged: the data directory's IDENTITY file is damaged or missing: " +
			"lost/IDENTITY is not there, but lost/wal is; it is the same in every backup of this directory, copy " +
			"it from one",
	} {
		code, _, stderr := runToEnd(t, dir, "--port", "0", "--dir", data, "--logfile", "log")
		if code != exitFailed || stderr != "countd: "+want+"\n" {
			t.Errorf("%s: exit code %d, %q", data, code, stderr)
		}
		log, err := os.ReadFile(filepath.Join(dir, "log"))
		if err != nil || !strings.Contains(string(log), `level=error msg="countd failed" err="`+want+`"`) {
			t.Errorf("%s: %v, log:\n%s", data, err, log)
		}
	}
	denied := &fs.PathError{Op: "stat", Path: dir + "/BACKUP", Err: syscall.EACCES} // root is never denied
	want := "no permission to read and write it: stat " + dir + "/BACKUP: permission denied"
	if err := cannotOpen(dir, fmt.Errorf("engine: %w", denied)); !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

func TestWrongOptionsExitWith2AndASentence(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--apendfsync", "always"}, "did you mean --appendfsync?"},
		{[]string{"--port", "70000"}, "between 0 and 65535"},
		{[]string{"no-such.conf"}, "no-such.conf"},
		{[]string{"--hot-demote-rate", "20000"}, "demote rate 20000: give more than 0 and at most the"},
		{[]string{"--port", "0", "-x"}, "wrong number of arguments"},
	} {
		code, stdout, stderr := runToEnd(t, dir, tc.args...)
		if code != exitUsage || !strings.Contains(stderr, tc.want) || stdout != "" {
			t.Errorf("%q: exit code %d, %q", tc.args, code, stderr)
		}
	}
	code, _, stderr := runToEnd(t, dir, "--bind", "", "--port", "0")
	if code != exitFailed || !strings.Contains(stderr, "--bind") {
		t.Errorf("no address: exit code %d, %q", code, stderr)
	}
}

func TestHelpAndVersion(t *testing.T) {
	code, stdout, _ := runToEnd(t, t.TempDir(), "--help")
	if code != exitOK || !strings.Contains(stdout, "--appendfsync always|everysec|no") {
		t.Errorf("--help: exit code %d, %q", code, stdout)
	}
	code, stdout, _ = runToEnd(t, t.TempDir(), "--version")
	line := regexp.MustCompile(`^countd \d+\.\d+\.\d+ \(go\S+(, commit \w+\+?)?\)\n$`)
	if code != exitOK || !line.MatchString(stdout) {
		t.Errorf("--version: exit code %d, %q", code, stdout)
	}
}

func TestConfigFileLogFileAndPidFile(t *testing.T) {
	dir := t.TempDir()
	config := "dir \"my data\"\nappendfsync always\nlogfile countd.log\npidfile countd.pid\n"
	if err := os.WriteFile(filepath.Join(dir, "countd.conf"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "countd.conf", "--port", "0")
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	read := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(dir, name))
		return string(text)
	}
	for end := time.Now().Add(patience); !readyLine.MatchString(firstReady(read("countd.log"))); {
		if time.Now().After(end) {
			t.Fatalf("countd does not serve:\n%s", read("countd.log"))
		}
		time.Sleep(20 * time.Millisecond)
	}
	if got, want := read("countd.pid"), fmt.Sprintln(cmd.Process.Pid); got != want {
		t.Errorf("pid file: %q, want %q", got, want)
	}
	if _, err := os.Stat(filepath.Join(dir, "my data")); err != nil {
		t.Error(err)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "countd.pid")); !os.IsNotExist(err) {
		t.Errorf("the pid file is left: %v", err)
	}
	if log := read("countd.log"); !strings.Contains(log, "appendfsync=always") {
		t.Errorf("log:\n%s", log)
	}
}

// firstReady is the line of a log that says where the server listens, or "".
func firstReady(log string) string {
	for line := range strings.Lines(log) {
		if line = strings.TrimSpace(line); readyLine.MatchString(line) {
			return line
		}
	}
	return ""
}

func TestLogLevelFollowsConfigSet(t *testing.T) {
	s := startServer(t, t.TempDir(), "--appendonly", "no", "--loglevel", "notice")
	if got := s.do("CONFIG SET loglevel warning"); got != "+OK" {
		t.Fatalf("got %s", got)
	}
	s.do("SHUTDOWN")
	if code, log := s.wait(); code != exitOK || strings.Contains(log, "countd stopped") {
		t.Errorf("exit code %d, log:\n%s", code, log)
	}
}

func TestASecondInterruptEndsTheProcessAtOnce(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), hangVar+"=1")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer timer.Stop()
	scan := bufio.NewScanner(stdout)
	for _, want := range []string{"ready", "stopping"} {
		if !scan.Scan() || scan.Text() != want {
			t.Fatalf("got %q, want %q", scan.Text(), want)
		}
		cmd.Process.Signal(syscall.SIGINT)
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
}
