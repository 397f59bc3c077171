package server

import (
	"regexp"
	"strings"
	"testing"
)

// infoText is the text of INFO with these arguments.
func infoText(t *testing.T, s *sessionTarget, args ...string) string {
	t.Helper()
	reply := string(s.do(t, append([]string{"INFO"}, args...)))
	_, text, _ := strings.Cut(reply, "\r\n")
	return strings.TrimSuffix(text, "\r\n")
}

func sectionTitles(text string) string {
	var titles []string
	for _, m := range regexp.MustCompile(`(?m)^# (\w+)`).FindAllStringSubmatch(text, -1) {
		titles = append(titles, m[1])
	}
	return strings.Join(titles, " ")
}

func TestInfoPrintsTheSectionsAskedFor(t *testing.T) {
	s := &sessionTarget{newCommandServer(t).newSession()}
	const usual = "Server Clients Memory Persistence Stats Hotkeys Replication CPU Modules " +
		"Cluster Keyspace"
	const all = "Server Clients Memory Persistence Stats Hotkeys Replication CPU Modules " +
		"Commandstats Cluster Keyspace"
	tests := map[string]string{
		"":                         usual,
		"default":                  usual,
		"all":                      all,
		"EVERYTHING":               all,
		"keyspace server":          "Server Keyspace",
		"Memory memory":            "Memory",
		"HotKeys":                  "Hotkeys",
		"default commandstats":     all,
		"nonsense":                 "",
		"commandstats nonsense":    "Commandstats",
		"stats clients server foo": "Server Clients Stats",
	}
	for args, want := range tests {
		if got := sectionTitles(infoText(t, s, strings.Fields(args)...)); got != want {
			t.Errorf("INFO %s prints %s\nwant %s", args, got, want)
		}
	}
}

func TestInfoLinesAreFields(t *testing.T) {
	s := &sessionTarget{newCommandServer(t).newSession()}
	s.do(t, []string{"SET", "k", "v"})
	line := regexp.MustCompile(`^(# \w+|[a-z0-9_|]+:.*|)$`)
	for _, l := range strings.Split(infoText(t, s, "everything"), "\r\n") {
		if !line.MatchString(l) {
			t.Errorf("line %q", l)
		}
	}
}

func TestInfoCountsCommandsAndKeys(t *testing.T) {
	s := &sessionTarget{newCommandServer(t).newSession()}
	for _, line := range []string{"SET a 1", "SET b 2 EX 1000", "INCR a", "INCR a", "INCR", "SET a x",
		"INCR a", "CLIENT ID", "nonsense"} {
		s.do(t, strings.Fields(line))
	}
	text := infoText(t, s, "everything")
	for _, want := range []string{
		`cmdstat_incr:calls=3,usec=\d+,usec_per_call=\d+\.\d\d,rejected_calls=1,failed_calls=1`,
		`cmdstat_client\|id:calls=1,`,
		`db0:keys=2,expires=1,avg_ttl=\d+`,
		`total_error_replies:3`,
		`redis_version:7\.0\.15`,
		`countd_version:\d`,
		`aof_enabled:1`,
		`used_memory:[1-9]`,
		`hotkeys_promoted:0`,
		`hotkeys_promote_rate:10000`,
	} {
		if !regexp.MustCompile("(?m)^" + want).MatchString(text) {
			t.Errorf("INFO has no line %s:\n%s", want, text)
		}
	}
	s.do(t, []string{"CONFIG", "RESETSTAT"})
	if text := infoText(t, s, "commandstats"); strings.Contains(text, "cmdstat_incr") {
		t.Errorf("after CONFIG RESETSTAT: %s", text)
	}
}

func TestHumanBytes(t *testing.T) {
	tests := map[int64]string{0: "0B", 1023: "1023B", 1024: "1.00K", 990288: "967.08K",
		1103120: "1.05M", 25276510208: "23.54G", 1 << 50: "1024.00T"}
	for n, want := range tests {
		if got := humanBytes(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}
