package e2e

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A poll is a counter that some connections increment and others read, while it is promoted and
// demoted.
type poll struct {
	key       string
	contracts [][]string // one of them applies, now this, now that; none: it has none
	staleness time.Duration
	exact     bool // its contracts are

	sent, acked atomic.Int64
	// answers are what the increments of an exact counter answered.
	mu struct {
		sync.Mutex
		answers []int64
	}
}

// TestReadersPollThroughFlapping: readers of counters that are promoted and demoted, and whose
// contracts change meanwhile: every value lies between the increments that were acknowledged before
// the read, or before what it may be stale, and those that were sent by its end; on one connection it
// never falls.
func TestReadersPollThroughFlapping(t *testing.T) {
	const staleMs = 20
	stale := []string{"STALENESS", strconv.Itoa(staleMs)}
	relaxed := []string{"REPLIES", "RELAXED"}
	for _, threads := range []string{"1", "2"} {
		t.Run("io-threads="+threads, func(t *testing.T) {
			rng := newRand(t)
			p := startFlapping(t, t.TempDir(), 200, "--io-threads", threads)
			polls := []*poll{
				{key: "exact", exact: true},
				{key: "striped", exact: true, contracts: [][]string{{"SHARDS", "1"}, {"SHARDS", "2"},
					{"DURABILITY", "ALWAYS"}, {"DURABILITY", "NO"}}},
				{key: "relaxed", contracts: [][]string{relaxed}},
				{key: "stale", contracts: [][]string{append(stale, relaxed...)},
					staleness: staleMs * time.Millisecond},
				{key: "changing", contracts: [][]string{relaxed, {"REPLIES", "EXACT"}, append(stale, relaxed...),
					{"SHARDS", "1", "REPLIES", "RELAXED"}}, staleness: staleMs * time.Millisecond},
			}
			setter := p.dial()
			for _, l := range polls {
				if l.contracts != nil {
					setContract(setter, l.key, l.contracts[0])
				}
				setter.do("INCRBY", l.key, "0")
			}
			quit := make(chan struct{})
			var wg sync.WaitGroup
			for _, l := range polls {
				for i := range 2 {
					writer, writerRng := p.dial(), fork(rng)
					wg.Go(func() { l.increment(writer, writerRng, quit, i == 1) })
					reader, readerRng := p.dial(), fork(rng)
					wg.Go(func() { l.read(reader, readerRng, quit, i == 1) })
				}
			}
			p.untilFlapped(int64(100**roundsFlag), func(int) {
				time.Sleep(2 * time.Millisecond)
				if l := polls[rng.IntN(len(polls))]; len(l.contracts) > 1 {
					setContract(setter, l.key, l.contracts[rng.IntN(len(l.contracts))])
				}
			})
			close(quit)
			wg.Wait()
			for _, l := range polls {
				l.checkEnd(setter)
			}
			p.stop()
		})
	}
}

// setContract sets the contract of a key.
func setContract(c *client, key string, contract []string) {
	c.t.Helper()
	if r := c.do(append([]string{"CNT.CONTRACT", "SET", key}, contract...)...); !r.same(okReply) {
		c.t.Errorf("CNT.CONTRACT SET %s %q: %v", key, contract, r)
	}
}

// maxPolls is the depth of the pipelines of a poll; from 4 on equal commands are done at one time.
const maxPolls = 8

// increment adds 1 over and over, in pipelines or one by one.
func (l *poll) increment(c *client, rng *rand.Rand, quit chan struct{}, pipelines bool) {
	for !closed(quit) {
		n := 1
		if pipelines {
			n += rng.IntN(maxPolls)
		}
		l.sent.Add(int64(n))
		replies, err := c.repeat(n, "INCR", l.key)
		if err != nil {
			c.t.Errorf("INCR %s: %v", l.key, err)
			return
		}
		l.acked.Add(int64(n))
		if l.exact {
			l.mu.Lock()
			l.mu.answers = append(l.mu.answers, replies...)
			l.mu.Unlock()
		}
	}
}

// A sample is how many increments were acknowledged at a time.
type sample struct {
	at    moment
	acked int64
}

// read polls until quit, in pipelines or one by one.
func (l *poll) read(c *client, rng *rand.Rand, quit chan struct{}, pipelines bool) {
	last := int64(0)
	var samples []sample // as old as a read may be, and newer; the first is the bound
	for !closed(quit) {
		n := 1
		if pipelines {
			n += rng.IntN(maxPolls)
		}
		at := now()
		samples = append(samples, sample{at, l.acked.Load()})
		for len(samples) > 1 && samples[1].at <= at-moment(l.staleness) {
			samples = samples[1:]
		}
		low := samples[0].acked
		if samples[0].at > at-moment(l.staleness) {
			low = 0
		}
		values, err := c.repeat(n, "GET", l.key)
		high := l.sent.Load()
		if err != nil {
			c.t.Errorf("GET %s: %v", l.key, err)
			return
		}
		for _, v := range values {
			if v < low || v > high {
				c.t.Errorf("GET %s: %d, while between %d and %d were counted", l.key, v, low, high)
				return
			}
			if v < last {
				c.t.Errorf("GET %s: %d after %d", l.key, v, last)
				return
			}
			last = v
		}
	}
}

// checkEnd checks the counter once no one increments it.
func (l *poll) checkEnd(c *client) {
	n := l.acked.Load()
	c.t.Logf("%s: %d increments", l.key, n)
	eventually(c.t, l.key, func() (bool, any) { // what is stale comes right
		got := c.int("GET", l.key)
		return got == n, [2]int64{got, n}
	})
	slices.Sort(l.mu.answers)
	for i, a := range l.mu.answers {
		if a != int64(i+1) {
			c.t.Errorf("%s: answer number %d in order is %d", l.key, i+1, a)
			return
		}
	}
}

// repeat sends a command n times at once and returns what it answered, integers all.
func (c *client) repeat(n int, args ...string) (values []int64, err error) {
	c.buf = c.buf[:0]
	for range n {
		c.buf = appendCommand(c.buf, args...)
	}
	if _, err := c.conn.Write(c.buf); err != nil {
		return nil, err
	}
	for range n {
		r, err := readReply(c.r)
		if err != nil {
			return nil, err
		}
		v := r.n
		if r.kind == '$' {
			v, err = strconv.ParseInt(r.s, 10, 64)
		}
		if err != nil || r.kind != ':' && r.kind != '$' {
			return nil, errors.New(r.String())
		}
		values = append(values, v)
	}
	return values, nil
}

// closed reports whether a channel is closed.
func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
