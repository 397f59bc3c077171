package e2e

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
)

const exactConnections = 24

// policies are the options of each durability.
var policies = []struct {
	name string
	args []string
}{
	{"none", []string{"--appendonly", "no"}},
	{"everysec", []string{"--appendfsync", "everysec"}},
	{"always", []string{"--appendfsync", "always"}},
}

// An increment is one change of a counter and the value it answered.
type increment struct{ delta, value int64 }

// TestIncrementsAreGivenOutExactlyOnce lets 24 connections increment one key at once. Together they
// must get every number from 1 to N exactly once, each connection in rising order; with deltas the
// answers must cut 0..N into ranges of exactly these lengths.
func TestIncrementsAreGivenOutExactlyOnce(t *testing.T) {
	for _, policy := range policies {
		for _, threads := range []string{"1", "2"} {
			t.Run(policy.name+",io-threads="+threads, func(t *testing.T) {
				args := append([]string{"--io-threads", threads}, policy.args...)
				testExactlyOnce(t, args, policy.name != "none", false)
			})
		}
	}
}

// A claim is a key that connections increment count times each.
type claim struct {
	key    string
	paces  []pace
	count  int
	deltas bool // of all sizes; else 1
}

var claims = []claim{
	{"plain", []pace{oneByOne}, 500, false},
	{"pipelined", []pace{inBatches, streaming}, 20000, false},
	{"together", []pace{oneByOne, inBatches, streaming}, 1500, false},
	{"deltas", []pace{inBatches, streaming, oneByOne}, 2000, true},
}

// A stake is the connections that increment the key of a claim.
type stake struct {
	claim
	streams []*stream
	deltas  [][]int64 // of each stream
}

// stake connects to a server.
func (c claim) stake(p *process, rng *rand.Rand, connections, count int) *stake {
	s := &stake{c, make([]*stream, connections), make([][]int64, connections)}
	for i := range s.streams {
		deltaRng := fork(rng)
		s.streams[i] = newStream(p, rng, c.paces[i%len(c.paces)], func(dst []byte, n int) []byte {
			delta := int64(1)
			if c.deltas && deltaRng.IntN(4) > 0 {
				delta = deltaRng.Int64N(1000) + 1
			}
			s.deltas[i] = append(s.deltas[i], delta)
			if delta == 1 {
				return appendCommand(dst, "INCR", c.key)
			}
			return appendCommand(dst, "INCRBY", c.key, strconv.FormatInt(delta, 10))
		})
		s.streams[i].limit = count
	}
	return s
}

// runStakes runs stakes on keys that are not there, all at once, and notes in values what the keys are
// afterwards.
func runStakes(t *testing.T, values map[string]int64, stakes ...*stake) {
	t.Helper()
	var streams []*stream
	for _, s := range stakes {
		streams = append(streams, s.streams...)
	}
	runAll(t, streams)
	for _, s := range stakes {
		values[s.key] = checkTiling(t, s.key, s.streams, s.deltas)
	}
}

// testExactlyOnce stakes all claims on a server, which keeps its data or not: one after the other, or
// all at once while the counters are promoted and demoted.
func testExactlyOnce(t *testing.T, args []string, keeps, flaps bool) {
	rng, dir := newRand(t), t.TempDir()
	want := map[string]int64{}
	var p *process
	if flaps {
		p = startFlapping(t, dir, 400, args...)
		p.untilFlapped(leastFlaps, func(round int) {
			var stakes []*stake
			for _, c := range claims {
				c.key += strconv.Itoa(round)
				stakes = append(stakes, c.stake(p, rng, exactConnections/3, scaled(2000)))
			}
			runStakes(t, want, stakes...)
		})
	} else {
		p = start(t, plainServer, dir, args...)
		for _, c := range claims {
			runStakes(t, want, c.stake(p, rng, exactConnections, scaled(c.count)))
		}
	}
	reader := p.dial()
	for key, n := range want {
		if got := reader.int("GET", key); got != n {
			t.Errorf("%s is %d, want %d", key, got, n)
		}
	}
	p.stop()
	if !keeps {
		return
	}
	p = start(t, plainServer, dir, args...)
	reader = p.dial()
	for key, n := range want {
		if got := reader.int("INCR", key); got != n+1 {
			t.Errorf("after a restart INCR %s answers %d, want %d", key, got, n+1)
		}
	}
}

// TestUpsAndDownsAreEachCountedOnce mixes increments with decrements of many sizes. The answers
// form a walk from 0 to the final value: every value is entered as often as it is left, but for the
// two ends.
func TestUpsAndDownsAreEachCountedOnce(t *testing.T) {
	rng := newRand(t)
	p := start(t, plainServer, t.TempDir(), "--io-threads", "2")
	streams := make([]*stream, exactConnections)
	deltas := make([][]int64, exactConnections)
	for i := range streams {
		deltaRng := fork(rng)
		streams[i] = newStream(p, rng, pace(i%3), func(dst []byte, n int) []byte {
			delta := deltaRng.Int64N(21) - 10
			deltas[i] = append(deltas[i], delta)
			switch {
			case delta == 1:
				return appendCommand(dst, "INCR", "walk")
			case delta == -1:
				return appendCommand(dst, "DECR", "walk")
			case delta < -1:
				return appendCommand(dst, "DECRBY", "walk", strconv.FormatInt(-delta, 10))
			}
			return appendCommand(dst, "INCRBY", "walk", strconv.FormatInt(delta, 10))
		})
		streams[i].limit = scaled(2000)
	}
	runAll(t, streams)
	final := p.dial().int("GET", "walk")
	balance := map[int64]int{0: 1, final: -1}
	if final == 0 {
		balance[0] = 0
	}
	sum := int64(0)
	for i, s := range streams {
		for n, a := range s.acks {
			if a.kind != ':' {
				t.Fatalf("INCRBY answers %v", a.reply)
			}
			sum += deltas[i][n]
			balance[a.n]++
			balance[a.n-deltas[i][n]]--
		}
	}
	if sum != final {
		t.Errorf("the deltas add up to %d, the value is %d", sum, final)
	}
	for value, n := range balance {
		if n != 0 {
			t.Errorf("the value %d was entered %d times more than it was left", value, n)
		}
	}
}

// runAll runs streams to their limit.
func runAll(t *testing.T, streams []*stream) {
	t.Helper()
	var wg sync.WaitGroup
	for _, s := range streams {
		wg.Go(s.run)
	}
	wg.Wait()
	for i, s := range streams {
		if s.err != nil {
			t.Fatalf("connection %d: %v", i, s.err)
		}
	}
}

// checkTiling checks that the answers are those of increments from 0 that happened one after the
// other, and returns where they end.
func checkTiling(t *testing.T, key string, streams []*stream, deltas [][]int64) int64 {
	t.Helper()
	var all []increment
	for i, s := range streams {
		last := int64(0)
		for n, a := range s.acks {
			if a.kind != ':' || a.n <= last {
				t.Fatalf("%s: connection %d gets %v after %d", key, i, a.reply, last)
			}
			last = a.n
			all = append(all, increment{deltas[i][n], a.n})
		}
	}
	slices.SortFunc(all, func(a, b increment) int { return cmp.Compare(a.value, b.value) })
	at := int64(0)
	for _, inc := range all {
		if inc.value-inc.delta != at {
			t.Fatalf("%s: %s", key, gap(at, inc))
		}
		at = inc.value
	}
	return at
}

func gap(at int64, inc increment) string {
	what := "left out"
	if inc.value-inc.delta < at {
		what = "given out twice"
	}
	return fmt.Sprintf("+%d answers %d where %d was reached: numbers are %s", inc.delta, inc.value, at, what)
}
