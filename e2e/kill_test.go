package e2e

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"
)

// everySecLoses is what everysec may lose: the last second. To it comes what the machine held up
// our own naps and syncs meanwhile.
const everySecLoses = time.Second

// A killTest kills one server after another, all on the same data.
type killTest struct {
	t       *testing.T
	rng     *rand.Rand
	dir     string
	policy  string
	writers []writer
	// prepare runs before the first round's load.
	prepare func(c *client)
	// weaker says that some keys may lose a second under always.
	weaker bool
	// minRun and maxRun bound how long a server runs under load.
	minRun, maxRun time.Duration
	// missing says what was not seen in the rounds so far, "" if nothing: then there are more of them.
	missing func() string
	flaps   bool     // keys are promoted and demoted all the time
	look    []string // counters of which seen tells how often they were looked at
	seen    map[string]*sights

	merges          int64
	ups, downs      int64 // promotions and demotions
	commands, acked int
	oldest          time.Duration
	lost            int
	stall           time.Duration // the longest
	late            int           // rounds that lost what was too old
}

// maxLate of ten rounds are forgiven: that the machine was busy shows in the time that others take, but not
// all of it. A server that is late by itself is so in most rounds.
const maxLate = 2

// maxRounds is how many times the rounds asked for there may be, where something is missing.
const maxRounds = 5

// TestKillAlways: with appendfsync always every acknowledged command survives kill -9, no number is
// given out again, and what comes back is the state of one instant.
func TestKillAlways(t *testing.T) {
	newKillTest(t, "always", 150*time.Millisecond, 700*time.Millisecond).run()
}

// TestKillEverySec: with appendfsync everysec all but the last second survives kill -9, and what
// comes back is the state of one instant.
func TestKillEverySec(t *testing.T) {
	newKillTest(t, "everysec", 400*time.Millisecond, 2200*time.Millisecond).run()
}

func newKillTest(t *testing.T, policy string, minRun, maxRun time.Duration) *killTest {
	return &killTest{
		t: t, rng: newRand(t), dir: t.TempDir(), policy: policy, minRun: minRun, maxRun: maxRun,
		writers: []writer{
			&hot{key: "hot", paces: []pace{streaming, inBatches, oneByOne}},
			&hot{key: "id", paces: []pace{oneByOne, oneByOne}},
			&ledger{key: "ledger", paces: []pace{streaming, inBatches, oneByOne, oneByOne}},
			&relay{},
			&wide{key: "wide", keys: 3000, pace: streaming},
			&wide{key: "broad", keys: 100, pace: inBatches},
			&mixed{db: 1, pace: oneByOne},
			&mixed{db: 2, pace: inBatches},
			&mixed{db: 3, pace: streaming},
			&pairs{writers: 2},
			&visitors{key: "visitors"},
		},
	}
}

func (k *killTest) run() {
	var p *process
	if k.missing == nil {
		k.missing = k.unmerged
	}
	rounds := 0
	for ; rounds < *roundsFlag || k.missing() != "" && rounds < maxRounds**roundsFlag; rounds++ {
		round, kind := rounds, plainServer
		if round%2 == 1 {
			kind = smallLogServer
		}
		p = k.start(round, kind)
		if round == 0 && k.prepare != nil {
			k.prepare(p.dial())
		}
		v := k.load(p, k.runTime(round))
		if k.rng.IntN(3) == 0 {
			k.killEarly(kind)
		}
		p = k.start(round, kind)
		c := p.dial()
		for _, w := range k.writers {
			w.check(c, v)
		}
		if !v.mayLose && v.lost > 0 {
			k.t.Errorf("%d acknowledged commands are lost", v.lost)
		}
		if k.t.Failed() {
			k.t.Fatalf("round %d (%s): %s", round, kind, v.note)
		}
		k.oldest, k.lost = max(k.oldest, v.oldest), k.lost+v.lost
		if v.oldest > everySecLoses {
			k.t.Logf("round %d (%s) lost what was %v old: %s", round, kind, v.oldest, v.note)
		}
		if v.oldest > everySecLoses+v.stall {
			k.late++
		}
		k.merges += infoNumber(c.do("INFO", "persistence").s, "merges") // of what the start found
		k.end(p)
		if round%3 == 0 {
			checkData(k.t, k.dir)
		}
	}
	k.t.Logf("%d rounds: %d commands, %d acknowledged, %d of them lost, the oldest %v before the kill; "+
		"%d merges; longest stall %v", rounds, k.commands, k.acked, k.lost,
		k.oldest.Round(time.Millisecond), k.merges, k.stall.Round(time.Millisecond))
	if k.flaps {
		k.t.Logf("%d promotions, %d demotions", k.ups, k.downs)
	}
	if what := k.missing(); what != "" {
		k.t.Error(what)
	}
	if k.late*10 > maxLate*rounds {
		k.t.Errorf("%d of %d rounds lost what was older than %v and what the machine held us up", k.late, rounds, everySecLoses)
	}
}

// unmerged is what is missing while no log was merged into the store.
func (k *killTest) unmerged() string {
	if *roundsFlag >= 10 && k.merges == 0 && k.policy == "always" && !k.weaker {
		return "no log was merged into the store in all rounds"
	}
	return ""
}

func (k *killTest) start(round int, kind serverKind) *process {
	k.t.Helper()
	args := []string{"--appendfsync", k.policy, "--io-threads", strconv.Itoa(1 + round%4/2)}
	if round%3 == 2 {
		args = append(args, "--maxmemory", "1300kb") // about what empty tables take: all goes to the store
	}
	if k.flaps {
		args = append(args, flapping(killShares[round%len(killShares)])...)
		return launchEnv(k.t, kind, k.dir, flappingEnv, args...).serving()
	}
	return start(k.t, kind, k.dir, args...)
}

// killEarly kills a server while it starts.
func (k *killTest) killEarly(kind serverKind) {
	p := launch(k.t, kind, k.dir, "--appendfsync", k.policy)
	time.Sleep(time.Duration(k.rng.Int64N(int64(150 * time.Millisecond))))
	p.kill()
	p.checkLog()
}

// end ends the server that was looked at: by another kill, or cleanly.
func (k *killTest) end(p *process) {
	k.t.Helper()
	if k.rng.IntN(2) == 0 && k.policy == "always" && !k.weaker { // else the checks' own increments may be lost
		p.kill()
		p.checkLog()
		return
	}
	_, _ = p.dial().try("SHUTDOWN") // it answers nothing
	p.wait()
}

// runTime is how long the server of a round runs under load: at random, but of any ten rounds in a
// row each has its tenth of the range, so that no part of the time between two flushes is left out.
// Rounds beyond those that were asked for are longer.
func (k *killTest) runTime(round int) time.Duration {
	tenth := (k.maxRun - k.minRun) / 10
	run := k.minRun + time.Duration(round*7%10)*tenth + time.Duration(k.rng.Int64N(int64(tenth)))
	if extra := round / *roundsFlag; extra > 0 { // a busy machine does too little in that for what is missing
		run *= time.Duration(4 * extra)
	}
	return run
}

// load runs all writers for a time and kills the server.
func (k *killTest) load(p *process, runTime time.Duration) *verdict {
	k.t.Helper()
	var streams []*stream
	for _, w := range k.writers {
		streams = append(streams, w.streams(p, k.rng)...)
	}
	var wg sync.WaitGroup
	for _, s := range streams {
		wg.Go(s.run)
	}
	watch := k.watchLog(p)
	machine := watchMachine(k.t)
	time.Sleep(runTime)
	v := &verdict{t: k.t, killed: now()}
	p.kill()
	nap, disk := machine()
	v.stall = max(nap, disk)
	k.stall = max(k.stall, v.stall)
	wg.Wait()
	log := watch()
	k.merges, k.ups, k.downs = k.merges+log.merges, k.ups+log.ups, k.downs+log.downs
	v.note = fmt.Sprintf("slowest flush %v, slowest sync %v; this process woke up %v late, "+
		"its own syncs took up to %v", log.slowFlush, log.slowSync, nap, disk)
	p.checkLog()
	v.mayLose = k.policy != "always" || k.weaker
	for i, s := range streams {
		k.commands += s.sent
		k.acked += len(s.acks)
		switch {
		case s.err != nil:
			k.t.Errorf("stream %d: %v", i, s.err)
		case s.ended < v.killed:
			k.t.Errorf("stream %d ended %v before the kill", i, v.killed.since(s.ended))
		}
	}
	if k.t.Failed() {
		k.t.Fatal("the server did not serve until it was killed")
	}
	return v
}

// A watched is what INFO said of a server's log and hot keys while it was under load.
type watched struct {
	merges              int64
	ups, downs          int64
	slowFlush, slowSync time.Duration
}

// watchEvery is how long watchLog waits before it looks again.
const watchEvery = 10 * time.Millisecond

// sights are how often a counter was looked at and found promoted, or not.
type sights struct{ hot, cold int }

// watchLog reads INFO until the server ends; the returned function waits for that.
func (k *killTest) watchLog(p *process) (seen func() watched) {
	c, done, w := p.dial(), make(chan struct{}), watched{}
	go func() {
		defer close(done)
		for {
			r, err := c.try("INFO", "persistence", "hotkeys")
			if err != nil {
				return
			}
			usec := func(name string) time.Duration {
				return time.Duration(infoNumber(r.s, name)) * time.Microsecond
			}
			w.merges = max(w.merges, infoNumber(r.s, "merges"))
			w.ups = infoNumber(r.s, "hotkeys_promotions")
			w.downs = infoNumber(r.s, "hotkeys_demotions")
			w.slowFlush = max(w.slowFlush, usec("last_flush_usec"))
			w.slowSync = max(w.slowSync, usec("last_sync_usec"))
			if k.lookAt(c) != nil {
				return
			}
			select {
			case <-p.done:
				return
			case <-time.After(watchEvery):
			}
		}
	}()
	return func() watched { <-done; return w }
}

// lookAt looks at the counters of k.look, which must not have drifted.
func (k *killTest) lookAt(c *client) error {
	c.buf = c.buf[:0]
	for _, key := range k.look {
		c.buf = appendCommand(c.buf, "CNT.SHARDS", key)
	}
	if _, err := c.conn.Write(c.buf); err != nil {
		return err
	}
	for _, key := range k.look {
		r, err := readReply(c.r)
		if err != nil {
			return err
		}
		s, m := k.seen[key], r.fields()
		switch {
		case m["drift"].n != 0:
			k.t.Errorf("CNT.SHARDS %.20s: %v", key, r)
		case m["promoted"].n == 1:
			s.hot++
		case m["promoted"].kind == ':':
			s.cold++
		}
	}
	return nil
}
