package config

import (
	"errors"
	"math"
	"reflect"
	"sync"
	"testing"
)

func TestEveryDefaultIsAcceptedAndCanonical(t *testing.T) {
	c := New()
	for i := range options {
		o := &options[i]
		args := o.words(o.Default)
		if err := c.Set(o.Name, args); err != nil {
			t.Errorf("%s: %v", o.Name, err)
		}
		if got := c.Value(o.Name); got != o.Default {
			t.Errorf("%s: default %q reads back as %q", o.Name, o.Default, got)
		}
		if o.Group != GroupCompat && (o.Help == "" || o.Arg == "") {
			t.Errorf("%s: no help", o.Name)
		}
	}
}

func TestEveryValueThatIsReadCanBeSetAgain(t *testing.T) {
	c := New()
	for i := range options {
		name, value := options[i].Name, c.Value(options[i].Name)
		err := c.SetRuntime([][2]string{{name, value}})
		var refused *Error
		if errors.As(err, &refused) && refused.Kind == ImmutableOption {
			continue
		}
		if err != nil {
			t.Errorf("%s %q: %v", name, value, err)
		}
	}
}

func TestSetRuntimeIsAllOrNothing(t *testing.T) {
	c := New()
	cases := []struct {
		pairs  [][2]string
		kind   ErrorKind
		option string
		reason string
	}{
		{[][2]string{{"maxclients", "7"}, {"Nope", "1"}}, UnknownOption, "Nope", ""},
		{[][2]string{{"maxclients", "7"}, {"Daemonize", "no"}}, ImmutableOption, "Daemonize", "can't set immutable config"},
		{[][2]string{{"maxclients", "7"}, {"maxclients", "8"}}, DuplicateOption, "maxclients", "duplicate parameter"},
		{[][2]string{{"maxclients", "7"}, {"maxmemory", "bla"}}, BadValue, "maxmemory", "argument must be a memory value"},
		{[][2]string{{"maxclients", "7"}, {"PORT", "1"}}, BadValue, "port", "countd changes this only at a restart"},
		{[][2]string{{"maxclients", "7"}, {"client-query-buffer-limit", "1kb"}}, BadValue,
			"client-query-buffer-limit", "argument must be between 1048576 and 9223372036854775807 inclusive"},
		{[][2]string{{"maxclients", "7"}, {"client-output-buffer-limit", "wrong number"}}, BadValue,
			"client-output-buffer-limit", "Wrong number of arguments in buffer limit configuration."},
		{[][2]string{{"client-output-buffer-limit", "master 10mb 10mb 60"}}, BadValue,
			"client-output-buffer-limit", "Invalid client class specified in buffer limit configuration."},
		{[][2]string{{"client-output-buffer-limit", "pubsub 10mb 10mb 60s"}}, BadValue,
			"client-output-buffer-limit", "Error in hard, soft or soft_seconds setting in buffer limit configuration."},
	}
	before := c.values.Load().clone()
	for _, tc := range cases {
		err := c.SetRuntime(tc.pairs)
		var e *Error
		if !errors.As(err, &e) || e.Kind != tc.kind || e.Option != tc.option || e.Reason != tc.reason {
			t.Errorf("%q: %#v", tc.pairs, err)
		}
		if !reflect.DeepEqual(before, c.values.Load()) {
			t.Fatalf("%q changed something", tc.pairs)
		}
	}
	if err := c.SetRuntime([][2]string{{"MaxClients", "7"}, {"appendonly", "yes"}, {"save", "60  1"}}); err != nil {
		t.Fatal(err)
	}
	if c.Int("maxclients") != 7 || c.Value("save") != "60 1" {
		t.Errorf("got %d, %q", c.Int("maxclients"), c.Value("save"))
	}
}

func TestAFailingHookUndoesTheWholeSet(t *testing.T) {
	c := New()
	var seen []int64
	c.OnChange(func() error { seen = append(seen, c.Int("maxclients")); return nil }, "maxclients")
	c.OnChange(func() error {
		if c.Value("appendfsync") == "always" {
			return errors.New("the disk says no")
		}
		return nil
	}, "appendfsync")
	err := c.SetRuntime([][2]string{{"maxclients", "7"}, {"appendfsync", "always"}})
	var e *Error
	if !errors.As(err, &e) || e.Option != "appendfsync" || e.Reason != "the disk says no" {
		t.Errorf("got %v", err)
	}
	if !reflect.DeepEqual(seen, []int64{7, 10000}) || c.Value("appendfsync") != "everysec" {
		t.Errorf("hooks saw %v; appendfsync is %s", seen, c.Value("appendfsync"))
	}
	if err := c.SetRuntime([][2]string{{"maxclients", "10000"}}); err != nil || len(seen) != 2 {
		t.Errorf("a hook ran though nothing changed: %v, %v", seen, err)
	}
}

func TestReadersSeeAllOfASetOrNothing(t *testing.T) {
	c := New()
	timeout, keepalive := mustLookup("timeout").index, mustLookup("tcp-keepalive").index
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				v := c.values.Load()
				one, two := v.text[timeout], v.text[keepalive]
				if one != two && one != "0" {
					t.Errorf("torn: %s, %s", one, two)
					return
				}
			}
		})
	}
	for i := range 2000 {
		v := string(rune('1' + i%9))
		if err := c.SetRuntime([][2]string{{"timeout", v}, {"tcp-keepalive", v}}); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
}

func TestGettersDoNotAllocate(t *testing.T) {
	c := New()
	if n := testing.AllocsPerRun(100, func() { c.Int("maxclients"); c.Bool("appendonly"); c.Value("dir") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestParseMemory(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "512": 512, "512b": 512, "1k": 1000, "1kb": 1024,
		"2M": 2e6, "2MB": 2 << 20, "1g": 1e9, "1gb": 1 << 30, "9223372036854775807": math.MaxInt64} {
		if got, ok := ParseMemory(text); !ok || got != want {
			t.Errorf("%q: %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "mb", "-1", "1tb", "1.5gb", "9223372036854775808", "9223372036gb", " 1"} {
		if got, ok := ParseMemory(text); ok {
			t.Errorf("%q gives %d", text, got)
		}
	}
}

func TestAddresses(t *testing.T) {
	c, err := parse(t, "--bind", "*", "-::1", "10.0.0.1", "::*", "localhost", "--port", "7000")
	if err != nil {
		t.Fatal(err)
	}
	want := []Address{{"0.0.0.0", 7000, false}, {"::1", 7000, true}, {"10.0.0.1", 7000, false},
		{"::", 7000, false}, {"localhost", 7000, false}}
	got := c.Addresses()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	var networks []string
	for _, a := range got {
		networks = append(networks, a.Network())
	}
	if want := []string{"tcp4", "tcp6", "tcp4", "tcp6", "tcp"}; !reflect.DeepEqual(networks, want) {
		t.Errorf("got %v", networks)
	}
	if s := got[1].String(); s != "[::1]:7000" {
		t.Errorf("got %s", s)
	}
}

func TestOutputLimit(t *testing.T) {
	c := New()
	if err := c.SetRuntime([][2]string{{"client-output-buffer-limit", "normal 1mb 2mb 60 replica 3mb 4mb 70"}}); err != nil {
		t.Fatal(err)
	}
	if got := c.OutputLimit("normal"); got != (BufferLimit{1 << 20, 2 << 20, 60}) {
		t.Errorf("normal: %v", got)
	}
	if got := c.OutputLimit("slave"); got != (BufferLimit{3 << 20, 4 << 20, 70}) {
		t.Errorf("slave: %v", got)
	}
}

// The file that Redis 7.0 ships, comments stripped, in small: one line of every kind.
func TestTheConfigFileOfRedisStartsCountd(t *testing.T) {
	file := t.TempDir() + "/redis.conf"
	writeFile(t, file, `bind 127.0.0.1 -::1
tcp-backlog 511
pidfile /var/run/redis_6379.pid
logfile ""
always-show-logo no
proc-title-template "{title} {listen-addr} {server-mode}"
stop-writes-on-bgsave-error yes
dbfilename dump.rdb
dir ./
replica-serve-stale-data yes
repl-diskless-load disabled
acllog-max-len 128
oom-score-adj no
oom-score-adj-values 0 200 800
appendonly no
auto-aof-rewrite-min-size 64mb
slowlog-log-slower-than 10000
notify-keyspace-events ""
list-max-listpack-size -2
client-output-buffer-limit normal 0 0 0
client-output-buffer-limit replica 256mb 64mb 60
jemalloc-bg-thread yes
`)
	if err := New().LoadFile(file); err != nil {
		t.Fatal(err)
	}
}
