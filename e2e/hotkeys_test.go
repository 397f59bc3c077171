package e2e

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// warmServer starts a server to which a few hundred commands per second are hot, also where the machine lets
// their client rest for two seconds.
func warmServer(t *testing.T) *process {
	t.Helper()
	return start(t, plainServer, t.TempDir(), "--hot-promote-rate", "50", "--hot-demote-rate", "10",
		"--hot-share-permille", "0", "--hot-tick-ms", "20", "--hot-window-ms", "500", "--hot-hold-ms", "2000",
		"--io-threads", "2")
}

// A load increments counters over and over, on a connection of its own each, until it is stopped.
type load struct {
	quit chan struct{}
	wg   sync.WaitGroup
	sent []int64 // acknowledged increments by counter; read them after stop
}

// startLoad gives times[i] increments to key names[i] in each round.
func (p *process) startLoad(names []string, times []int) *load {
	l := &load{quit: make(chan struct{}), sent: make([]int64, len(names))}
	c := p.dial()
	l.wg.Go(func() {
		for {
			for i, name := range names {
				for range times[i] {
					if r, err := c.try("INCR", name); err != nil || r.kind != ':' {
						p.t.Errorf("INCR %s: %v, %v", name, r, err)
						return
					}
					l.sent[i]++
				}
			}
			select {
			case <-l.quit:
				return
			default:
			}
		}
	})
	return l
}

func (l *load) stop() {
	close(l.quit)
	l.wg.Wait()
}

// fields are those of a map in RESP2.
func (r reply) fields() map[string]reply {
	m := map[string]reply{}
	for list := r.elements(); len(list) > 1; list = list[2:] {
		m[list[0].s] = list[1]
	}
	return m
}

// eventually waits until ok is true; text says what of, and what there is instead.
func eventually(t *testing.T, what string, ok func() (done bool, got any)) {
	t.Helper()
	for deadline := time.Now().Add(patience / 2); ; time.Sleep(5 * time.Millisecond) {
		done, got := ok()
		switch {
		case done:
			return
		case time.Now().After(deadline):
			t.Fatalf("%s: still %v", what, got)
		}
	}
}

// hotKey is what CNT.HOTKEYS says of a key of database 0; nil where it is not there.
func (c *client) hotKey(name string) map[string]reply {
	for _, k := range c.do("CNT.HOTKEYS").elements() {
		if m := k.fields(); m["key"].s == name && m["db"].n == 0 {
			return m
		}
	}
	return nil
}

// TestAHotKeyIsSeenPromotedAndDemoted follows a counter from the first increment until it has
// cooled: what the commands and INFO tell of it, and that nothing is lost.
func TestAHotKeyIsSeenPromotedAndDemoted(t *testing.T) {
	p := warmServer(t)
	c := p.dial()
	names := []string{"warm:a", "warm:b"}
	l := p.startLoad(names, []int{3, 1})
	for _, name := range names {
		eventually(t, name+" promoted", func() (bool, any) {
			k := c.hotKey(name)
			return k["promoted"].n == 1 && k["cells"].n == 2 && k["rate"].kind == '$', k
		})
	}
	var s map[string]reply
	eventually(t, "warm:a promoted", func() (bool, any) {
		s = c.do("CNT.SHARDS", "warm:a").fields()
		return s["promoted"].n == 1, s
	})
	sum := s["base"].n
	for _, cell := range s["cells"].elements() {
		sum += cell.n
	}
	if s["promoted"].n != 1 || s["mode"].s != "exact" || len(s["cells"].elements()) != 2 ||
		s["drift"].n != 0 || sum != s["total"].n || s["promoted-seconds"].kind != ':' {
		t.Errorf("CNT.SHARDS: %v", s)
	}
	eventually(t, "INFO hotkeys", func() (bool, any) {
		text := c.do("INFO", "hotkeys").s
		return infoNumber(text, "hotkeys_promoted") == 2 && infoNumber(text, "hotkeys_promotions") >= 2 &&
			infoNumber(text, "hotkeys_samples") >= 100, text
	})
	l.stop()
	for i, name := range names {
		eventually(t, name+" demoted", func() (bool, any) {
			s := c.do("CNT.SHARDS", name).fields()
			return s["promoted"].n == 0 && s["promoted-seconds"].kind == '_' && s["total"].n == l.sent[i], s
		})
	}
	if text := c.do("INFO", "hotkeys").s; infoNumber(text, "hotkeys_promoted") != 0 ||
		infoNumber(text, "hotkeys_demotions") < 2 {
		t.Errorf("INFO hotkeys:\n%s", text)
	}
	c.do("CONFIG", "RESETSTAT")
	if text := c.do("INFO", "hotkeys").s; infoNumber(text, "hotkeys_promotions") != 0 ||
		infoNumber(text, "hotkeys_demotions") != 0 || infoNumber(text, "hotkeys_samples") > 100 {
		t.Errorf("INFO hotkeys after CONFIG RESETSTAT:\n%s", text)
	}
	p.stop()
}

// TestTheDetectorIsTurnedOffAndOn by CONFIG SET, under load.
func TestTheDetectorIsTurnedOffAndOn(t *testing.T) {
	p := warmServer(t)
	c := p.dial()
	l := p.startLoad([]string{"warm"}, []int{1})
	promoted := func(want int64) {
		t.Helper()
		eventually(t, "promoted", func() (bool, any) {
			s := c.do("CNT.SHARDS", "warm").fields()
			return s["promoted"].n == want && s["drift"].n == 0, s
		})
	}
	promoted(1)
	c.do("CONFIG", "SET", "hot-keys", "no")
	promoted(0)
	if list := c.do("CNT.HOTKEYS").elements(); len(list) != 0 {
		t.Errorf("CNT.HOTKEYS of a detector that is off: %v", list)
	}
	c.do("CONFIG", "SET", "hot-keys", "yes")
	promoted(1)
	l.stop()
	if got := c.int("GET", "warm"); got != l.sent[0] {
		t.Errorf("%d after %d increments", got, l.sent[0])
	}
	p.stop()
}

// TestARelaxedHotKeyIsSeen: its cells hold all of it, and their sum is what GET returns.
func TestARelaxedHotKeyIsSeen(t *testing.T) {
	p := warmServer(t)
	c := p.dial()
	c.do("CNT.CONTRACT", "SET", "like:*", "REPLIES", "RELAXED")
	l := p.startLoad([]string{"like:1"}, []int{1})
	eventually(t, "promoted with a full cell", func() (bool, any) {
		s := c.do("CNT.SHARDS", "like:1").fields()
		sum := int64(0)
		for _, cell := range s["cells"].elements() {
			sum += cell.n
		}
		if s["drift"].n != 0 || s["base"].n+sum != s["total"].n {
			t.Fatalf("CNT.SHARDS: %v", s)
		}
		return s["promoted"].n == 1 && s["mode"].s == "relaxed" && sum > 100, s
	})
	l.stop()
	if got := c.int("GET", "like:1"); got != l.sent[0] {
		t.Errorf("%d after %d increments", got, l.sent[0])
	}
	p.stop()
}

// TestRedisCLIListsHotKeys runs redis-cli --hotkeys, which scans the keys and asks for the
// frequency of each.
func TestRedisCLIListsHotKeys(t *testing.T) {
	cli := lookTool(t, "redis-cli", "its --hotkeys")
	p := warmServer(t)
	c := p.dial()
	for _, name := range []string{"cold:1", "cold:2", "cold:3"} {
		c.do("SET", name, "1")
	}
	l := p.startLoad([]string{"warm:a", "warm:b"}, []int{8, 1})
	eventually(t, "the frequencies", func() (bool, any) {
		a, b, cold := c.int("OBJECT", "FREQ", "warm:a"), c.int("OBJECT", "FREQ", "warm:b"),
			c.int("OBJECT", "FREQ", "cold:3")
		return a > b && b > 0 && cold == 0, []int64{a, b, cold}
	})
	eventually(t, "redis-cli --hotkeys", func() (bool, any) { // what it sees are rates
		out, err := exec.Command(cli, "-p", p.port, "--hotkeys").CombinedOutput()
		_, summary, _ := strings.Cut(string(out), "summary")
		return err == nil && strings.Contains(summary, "Sampled 5 keys") &&
			regexp.MustCompile(`(?s)counter: \d+\tkeyname: "warm:a"\n.*counter: \d+\tkeyname: "warm:b"\n`).
				MatchString(summary) && !strings.Contains(summary, "cold"), fmt.Sprintf("%v\n%s", err, out)
	})
	l.stop()
	p.stop()
}
