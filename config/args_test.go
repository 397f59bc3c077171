package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// parse runs ParseArgs on a command line with an empty environment and standard input.
func parse(t *testing.T, argv ...string) (*Config, error) {
	t.Helper()
	c := New()
	_, err := c.ParseArgs(argv, nil, strings.NewReader(""))
	return c, err
}

func TestTheCommandLineIsRedisServers(t *testing.T) {
	cases := []struct {
		argv []string
		want map[string]string
	}{
		{nil, map[string]string{"port": "6379", "bind": "127.0.0.1", "appendfsync": "everysec"}},
		{[]string{"--port", "7000", "--appendfsync", "always"},
			map[string]string{"port": "7000", "appendfsync": "always"}},
		{[]string{"--bind", "127.0.0.1", "-::1", "--port", "0"},
			map[string]string{"bind": "127.0.0.1 -::1", "port": "0"}},
		{[]string{"--port=7001", "--bind=10.0.0.1 ::1"},
			map[string]string{"port": "7001", "bind": "10.0.0.1 ::1"}},
		{[]string{"--port 7002", "--LogLevel", "Debug"},
			map[string]string{"port": "7002", "loglevel": "debug"}},
		{[]string{"--save", "", "--appendonly", "no"}, map[string]string{"save": "", "appendonly": "no"}},
		{[]string{"--save", "--port", "7003"}, map[string]string{"save": "", "port": "7003"}},
		{[]string{"--save"}, map[string]string{"save": ""}},
		{[]string{"--save", "3600", "1", "--save", "60", "100"},
			map[string]string{"save": "3600 1 60 100"}},
		{[]string{"--requirepass", "--secret word"}, map[string]string{"requirepass": "--secret word"}},
		{[]string{"--maxmemory", "1gb"}, map[string]string{"maxmemory": "1073741824"}},
		{[]string{"--client-output-buffer-limit", "normal", "1mb", "2mb", "60"}, map[string]string{
			"client-output-buffer-limit": "normal 1048576 2097152 60 slave 268435456 67108864 60 " +
				"pubsub 33554432 8388608 60"}},
	}
	for _, tc := range cases {
		c, err := parse(t, tc.argv...)
		if err != nil {
			t.Errorf("%q: %v", tc.argv, err)
			continue
		}
		for name, want := range tc.want {
			if got := c.Value(name); got != want {
				t.Errorf("%q: %s is %q, want %q", tc.argv, name, got, want)
			}
		}
	}
}

func TestErrorsSayWhatIsWrongAndWhere(t *testing.T) {
	cases := []struct {
		argv []string
		want []string // parts of the sentence
	}{
		{[]string{"--apendfsync", "always"}, []string{"command line", "unknown option 'apendfsync'",
			"did you mean --appendfsync?"}},
		{[]string{"--prot", "1"}, []string{"did you mean --port or"}},
		{[]string{"--max", "1"}, []string{"--maxclients or --maxmemory"}},
		{[]string{"--tls-port", "1"}, []string{"does not speak TLS"}},
		{[]string{"--appendfsync", "sometimes"}, []string{"appendfsync", "everysec, always, no", "'sometimes'"}},
		{[]string{"--port", "65536"}, []string{"port", "between 0 and 65535", "'65536'"}},
		{[]string{"--port", "http"}, []string{"integer"}},
		{[]string{"--port"}, []string{"port", "missing"}},
		{[]string{"--port", "1", "2"}, []string{"wrong number of arguments"}},
		{[]string{"--appendonly", "maybe"}, []string{"'yes' or 'no'"}},
		{[]string{"--daemonize", "yes"}, []string{"daemonize: countd stays in the foreground",
			"set it to no and let a service manager run it (got 'yes')"}},
		{[]string{"--databases", "32"}, []string{"databases: is always 16 (got '32')"}},
		{[]string{"--dir", ""}, []string{"dir: must not be empty"}},
		{[]string{"--dir="}, []string{"dir: must not be empty"}},
		{[]string{"--bind", "127.0.0.1:6379"}, []string{"not an address"}},
		{[]string{"--maxmemory", "1tb"}, []string{"memory value"}},
		{[]string{"--save", "1"}, []string{"Invalid save parameters"}},
		{[]string{"-p", "7000"}, []string{"unexpected argument '-p'", "two dashes"}},
		{[]string{"/nonexistent/countd.conf"}, []string{"/nonexistent/countd.conf", "no such file"}},
	}
	for _, tc := range cases {
		_, err := parse(t, tc.argv...)
		if err == nil {
			t.Errorf("%q: no error", tc.argv)
			continue
		}
		for _, part := range tc.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q: %q does not say %q", tc.argv, err, part)
			}
		}
	}
}

func TestErrorsKeepThePassword(t *testing.T) {
	_, err := parse(t, "--requirepass", "hunter2", "hunter3")
	if err == nil || strings.Contains(err.Error(), "hunter") {
		t.Errorf("got %v", err)
	}
}

func TestLaterSourcesWin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "countd.conf")
	writeFile(t, file, "port 1\nloglevel debug\ntimeout 10\nmaxclients 5\n")
	c := New()
	env := []string{"COUNTD_LOGLEVEL=verbose", "COUNTD_TIMEOUT=20", "COUNTD_IO_THREADS=3", "HOME=/",
		"COUNTD_MAXCLIENTS=", "COUNTD_BIND=127.0.0.1 ::1"}
	stdin := strings.NewReader("maxclients 6\n")
	if _, err := c.ParseArgs([]string{file, "--timeout", "30", "-"}, env, stdin); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"port": "1", "loglevel": "verbose", "timeout": "30",
		"io-threads": "3", "maxclients": "6", "bind": "127.0.0.1 ::1"} {
		if got := c.Value(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestTheEnvironmentOfAServiceNamedCountdIsLeftAlone(t *testing.T) {
	c := New()
	env := []string{"COUNTD_PORT=tcp://10.0.0.11:6379", "COUNTD_SERVICE_HOST=10.0.0.11",
		"COUNTD_PORT_6379_TCP=tcp://10.0.0.11:6379"}
	if _, err := c.ParseArgs(nil, env, nil); err != nil {
		t.Fatal(err)
	}
	if got := c.Int("port"); got != 6379 {
		t.Errorf("port is %d", got)
	}
	_, err := New().ParseArgs(nil, []string{"COUNTD_APENDONLY=no"}, nil)
	if err == nil || !strings.Contains(err.Error(), "environment variable COUNTD_APENDONLY") {
		t.Errorf("got %v", err)
	}
}

func TestHelpAndVersionAreAskedFor(t *testing.T) {
	for arg, want := range map[string]Ask{"--help": AskHelp, "-h": AskHelp, "--version": AskVersion, "-v": AskVersion} {
		if ask, err := New().ParseArgs([]string{arg}, nil, nil); ask != want || err != nil {
			t.Errorf("%s: %v, %v", arg, ask, err)
		}
	}
	help := Help()
	for i := range options {
		if !strings.Contains(help, options[i].Name) {
			t.Errorf("--help does not name %s", options[i].Name)
		}
	}
	for _, line := range strings.Split(help, "\n") {
		if len([]rune(line)) > 120 {
			t.Errorf("line of %d characters: %s", len(line), line)
		}
	}
}

func TestSplitWordsReadsQuotesAsRedisDoes(t *testing.T) {
	cases := []struct {
		line string
		want []string
	}{
		{``, nil},
		{`  port   7000  `, []string{"port", "7000"}},
		{`logfile ""`, []string{"logfile", ""}},
		{`requirepass "a\"b\x41\n\q"`, []string{"requirepass", "a\"bA\nq"}},
		{`requirepass 'it\'s \n'`, []string{"requirepass", `it's \n`}},
		{`ab"c d"`, []string{"abc d"}},
		{"a\tb\r", []string{"a", "b"}},
		{`"\x4"`, []string{"x4"}},
	}
	for _, tc := range cases {
		got, ok := splitWords(tc.line)
		if !ok || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%q: %q, %v, want %q", tc.line, got, ok, tc.want)
		}
	}
	for _, line := range []string{`"`, `'`, `"a`, `"a"b`, `'a'b`, `"a\"`} {
		if got, ok := splitWords(line); ok {
			t.Errorf("%q gives %q, want unbalanced", line, got)
		}
	}
}

func FuzzSplitWords(f *testing.F) {
	for _, s := range []string{`port 7000`, `a "b\x41" 'c\'d'`, `"`, `"a"b`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words, ok := splitWords(line)
		if !ok && words != nil {
			t.Fatalf("%q: words with an error", line)
		}
		total := 0
		for _, w := range words {
			total += len(w)
		}
		if total > len(line) {
			t.Fatalf("%q: more bytes out than in", line)
		}
	})
}

func TestFilesIncludeFiles(t *testing.T) {
	dir := t.TempDir()
	main := filepath.Join(dir, "main.conf")
	writeFile(t, filepath.Join(dir, "d-one.conf"), "timeout 7\n")
	writeFile(t, main, "# comment\n\n\tport 7000\ninclude "+dir+"/d-*.conf\ninclude "+dir+"/none-*.conf\n"+
		"save 60 1\nsave 30 2\n")
	c := New()
	if err := c.LoadFile(main); err != nil {
		t.Fatal(err)
	}
	if c.Int("timeout") != 7 || c.Int("port") != 7000 || c.Value("save") != "60 1 30 2" {
		t.Errorf("got %q", c.Value("save"))
	}

	writeFile(t, filepath.Join(dir, "d-one.conf"), "timeout 7\nfoo bar\n")
	if err := New().LoadFile(main); err == nil || !strings.Contains(err.Error(), "d-one.conf:2: unknown") {
		t.Errorf("got %v", err)
	}
	loop := filepath.Join(dir, "loop.conf")
	writeFile(t, loop, "include "+loop+"\n")
	if err := New().LoadFile(loop); err == nil || !strings.Contains(err.Error(), "include itself") {
		t.Errorf("got %v", err)
	}
	writeFile(t, loop, "port \"7000\n")
	if err := New().LoadFile(loop); err == nil || !strings.Contains(err.Error(), "loop.conf:1: unbalanced") {
		t.Errorf("got %v", err)
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
