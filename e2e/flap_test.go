package e2e

import (
	"strconv"
	"testing"
)

// flapping are the options of a detector that looks a thousand times a second, and to which a counter
// is hot while it has had so many of a thousand commands since the last look. A share that is about the
// average of the counters under load promotes and demotes them all the time, whatever the machine.
func flapping(permille int) []string {
	return []string{"--hot-promote-rate", "1", "--hot-demote-rate", "1",
		"--hot-share-permille", strconv.Itoa(permille),
		"--hot-hold-ms", "0", "--hot-window-ms", "1", "--hot-tick-ms", "1",
		"--hot-samples", "1000000"}
}

// leastFlaps is how often counters must have been promoted, and demoted, for a test to say anything.
const leastFlaps = 20

// startFlapping starts a server with these options besides args. Its detector gets a processor when it
// is its turn, also while the event loops keep as many busy as there are.
func startFlapping(t *testing.T, dir string, permille int, args ...string) *process {
	t.Helper()
	return launchEnv(t, plainServer, dir, flappingEnv, append(args, flapping(permille)...)...).serving()
}

var flappingEnv = []string{"GOMAXPROCS=4"}

// untilFlapped calls load, with 0, 1, 2 and so on, until counters were promoted and demoted so often.
func (p *process) untilFlapped(least int64, load func(round int)) {
	p.t.Helper()
	c := p.dial()
	for round := 0; ; round++ {
		load(round)
		text := c.do("INFO", "hotkeys").s
		ups, downs := infoNumber(text, "hotkeys_promotions"), infoNumber(text, "hotkeys_demotions")
		if p.t.Failed() || min(ups, downs) >= least {
			p.t.Logf("%d promotions, %d demotions", ups, downs)
			return
		}
	}
}

// TestIncrementsOfFlappingKeysAreGivenOutExactlyOnce is TestIncrementsAreGivenOutExactlyOnce while the
// counters are promoted and demoted.
func TestIncrementsOfFlappingKeysAreGivenOutExactlyOnce(t *testing.T) {
	for _, policy := range policies {
		for _, threads := range []string{"1", "2"} {
			t.Run(policy.name+",io-threads="+threads, func(t *testing.T) {
				args := append([]string{"--io-threads", threads}, policy.args...)
				testExactlyOnce(t, args, policy.name != "none", true)
			})
		}
	}
}

// TestFlappingHistoriesAreLinearizable is TestHistoriesAreLinearizable while the counters are promoted
// and demoted.
func TestFlappingHistoriesAreLinearizable(t *testing.T) {
	for _, policy := range policies {
		for _, threads := range []string{"1", "2"} {
			t.Run(policy.name+",io-threads="+threads, func(t *testing.T) {
				args := append([]string{"--io-threads", threads}, policy.args...)
				testLinearizable(t, args, scaled(2000), true)
			})
		}
	}
}
