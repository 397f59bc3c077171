package server

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"countd/config"
	"countd/engine"
)

func TestTheDefaultsOfTheOptionsAreTheDetectors(t *testing.T) {
	got, err := HotConfig(config.New())
	if err != nil {
		t.Fatal(err)
	}
	eng, _, err := engine.Open(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	if want := eng.HotStats().Config; got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestConfigSetChangesTheDetector(t *testing.T) {
	srv := newCommandServer(t)
	s := &sessionTarget{srv.newSession()}
	for _, tc := range []struct{ line, want string }{
		{"hot-promote-rate 50 hot-demote-rate 20", "+OK"}, // each alone would do, but not in this order
		{"hot-demote-rate 100 hot-promote-rate 200", "+OK"},
		{"hot-share-permille 5 hot-hold-ms 0 hot-window-ms 64 hot-tick-ms 1", "+OK"},
		{"hot-samples 2048 hot-entries 64 hot-max 3", "+OK"},
		{"hot-demote-rate 201", "-ERR CONFIG SET failed (possibly related to argument " +
			"'hot-demote-rate') - demote rate 201: give more than 0 and at most the promote rate, 200; " +
			"a quarter of it keeps keys from flapping"},
		{"hot-hold-ms 7 hot-window-ms 65", "-ERR CONFIG SET failed (possibly related to argument " +
			"'hot-hold-ms') - window 65ms has more than 64 ticks of 1ms: make the tick longer"},
		{"hot-max 0", "-ERR CONFIG SET failed (possibly related to argument 'hot-max') - " +
			"argument must be between 1 and 65536 inclusive"},
		{"hot-keys no", "+OK"},
	} {
		got := s.do(t, append([]string{"CONFIG", "SET"}, strings.Fields(tc.line)...))
		if string(got) != tc.want+"\r\n" {
			t.Errorf("CONFIG SET %s: %q, want %q", tc.line, got, tc.want)
		}
	}
	want := engine.HotConfig{Off: true, PromoteRate: 200, DemoteRate: 100, Share: 0.005,
		Window: 64 * time.Millisecond, Tick: time.Millisecond, Samples: 2048, Entries: 64, MaxHot: 3}
	if got := srv.eng.HotStats().Config; got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := srv.cfg.Value("hot-demote-rate") + srv.cfg.Value("hot-hold-ms"); got != "1000" {
		t.Errorf("what was refused is kept: %s", got)
	}
}

// TestTheDetectorTakesTheEndsOfTheRanges: what the option table allows the detector must take,
// beside other values that fit.
func TestTheDetectorTakesTheEndsOfTheRanges(t *testing.T) {
	beside := map[string]string{ // what must change with an option
		"hot-promote-rate 1":            "hot-demote-rate 1",
		"hot-demote-rate 1000000000000": "hot-promote-rate 1000000000000",
		"hot-window-ms 1":               "hot-tick-ms 1",
		"hot-window-ms 3600000":         "hot-tick-ms 60000",
		"hot-tick-ms 1":                 "hot-window-ms 64",
		"hot-tick-ms 3600000":           "hot-window-ms 3600000",
	}
	ends := 0
	table := config.Table()
	for i := range table {
		o := &table[i]
		if o.Group != config.GroupHotKeys || o.Kind != config.KindInt {
			continue
		}
		for _, value := range []int64{o.Min, o.Max} {
			line := o.Name + " " + strconv.FormatInt(value, 10)
			pair := strings.Fields(line + " " + beside[line])
			cfg := config.New()
			for ; len(pair) > 0; pair = pair[2:] {
				if err := cfg.Set(pair[0], pair[1:2]); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := HotConfig(cfg); err != nil {
				t.Errorf("%s: %v", line, err)
			}
			ends++
		}
	}
	if ends != 2*(len(hotOptions)-1) {
		t.Errorf("%d ends of %d options", ends, len(hotOptions))
	}
}
