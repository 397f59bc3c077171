package e2e

import (
	"context"
	"os"
	"testing"
	"time"

	"countd/bench/soak"
)

// A short soak, whose log segments are small so that keys are evicted within it.
func shortSoak(t *testing.T, policy string, killEvery time.Duration) soak.Config {
	t.Helper()
	t.Setenv(smallLogVar, "1") // makes this executable a server
	c := soak.Defaults()
	c.Binary, c.Checker, c.Dir = os.Args[0], binary, t.TempDir()
	c.Seed = newRand(t).Uint64()
	c.Fsync, c.KillEvery, c.Duration = policy, killEvery, 2*killEvery
	c.Keys, c.Writers, c.MaxMemory = scaled(20_000), 4, "2mb" // empty tables take 1.6
	c.MaxTTL = 2 * time.Second
	if raceDetector {
		c.MaxMemory = "1600kb" // there are fewer keys
	}
	return c
}

// testLog prints to the test's log.
type testLog struct{ t *testing.T }

func (l testLog) Write(text []byte) (int, error) {
	l.t.Logf("%s", text)
	return len(text), nil
}

// TestSoak: under load with expiry, eviction and kill -9 every reply and afterwards every value is right.
func TestSoak(t *testing.T) {
	for policy, killEvery := range map[string]time.Duration{
		"always": time.Second, "everysec": 6 * time.Second,
	} {
		t.Run(policy, func(t *testing.T) {
			for ; ; killEvery *= 2 { // how far it gets in a time is the machine's affair
				c := shortSoak(t, policy, killEvery)
				c.LoseSlack = 4 * time.Second // a flush may be late, too
				r, err := soak.Run(context.Background(), c, testLog{t})
				if err != nil {
					t.Fatal(err)
				}
				if r.Kills > 0 && r.Compared >= int64(2*c.Keys) && r.Commands > 0 && r.Expired > 0 && r.Evicted > 0 &&
					r.ReadBack > 0 {
					return
				}
				if killEvery > time.Minute {
					t.Fatalf("not all has happened: %+v", r)
				}
			}
		})
	}
}

// TestASoakNoticesLostWrites: what is acknowledged before it is written is lost, and the soak says so.
func TestASoakNoticesLostWrites(t *testing.T) {
	for killEvery := 500 * time.Millisecond; ; killEvery *= 2 { // until it was killed, and not right behind a flush
		c := shortSoak(t, "always", killEvery)
		c.Args = []string{"--appendfsync", "no"} // the last one counts
		r, err := soak.Run(context.Background(), c, testLog{t})
		if err != nil && r.Wrong > 0 {
			return
		}
		if err != nil || killEvery > time.Minute {
			t.Fatalf("%v; %+v", err, r)
		}
	}
}
