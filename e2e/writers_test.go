package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A writer owns some keys. In each round of a kill test it makes streams, and after the crash it
// checks what came back. Between rounds it keeps what its keys were after the last crash.
type writer interface {
	// streams opens the connections of a round; the base is what check found last.
	streams(p *process, rng *rand.Rand) []*stream
	// check compares what came back with what was sent and acknowledged, and makes it the base.
	check(c *client, v *verdict)
}

// A verdict is what is known of a crash, and collects what was lost.
type verdict struct {
	t      *testing.T
	killed moment
	// mayLose says that the last of what was acknowledged need not be there. How old it may be is for killTest
	// to judge, by oldest.
	mayLose bool
	stall   time.Duration // how long the machine held up what has to be on disk by then
	oldest  time.Duration // age of the oldest acknowledged write that is not there
	lost    int           // acknowledged commands that are not there
	note    string        // what else is known of the round
}

func (v *verdict) errorf(format string, args ...any) {
	v.t.Helper()
	v.t.Errorf(format, args...)
}

// must is how many commands of a stream have to be there, however old they are.
func (v *verdict) must(s *stream) int {
	if v.mayLose {
		return 0
	}
	return len(s.acks)
}

// survived checks that a stream's first n commands are what came back, n between lo and hi.
func (v *verdict) survived(who string, s *stream, lo, hi int) {
	v.t.Helper()
	if hi < 0 {
		v.errorf("%s: %d commands that the crash before had left are gone", who, -hi)
		return
	}
	if must := v.must(s); hi < must {
		v.errorf("%s: of %d sent and %d acknowledged commands the first %d must be there, but only %d are; "+
			"command %d was acknowledged %v before the kill", who, s.sent, len(s.acks), must, hi,
			hi, v.killed.since(s.acks[hi].at))
	}
	if lo > s.sent {
		v.errorf("%s: %d commands are there, but only %d were sent", who, lo, s.sent)
	}
	v.lose(s, hi)
}

// lose notes that a stream's commands from n on are not there.
func (v *verdict) lose(s *stream, n int) {
	if n < len(s.acks) {
		v.age(s.acks[n].at)
		v.lost += len(s.acks) - n
	}
}

// age notes that a write that was acknowledged at a time is not there.
func (v *verdict) age(at moment) { v.oldest = max(v.oldest, v.killed.since(at)) }

// hot is a counter that several connections increment as fast as they can.
type hot struct {
	key   string
	paces []pace
	base  int64
	live  []*stream
}

func (w *hot) streams(p *process, rng *rand.Rand) []*stream {
	w.live = nil
	for _, pace := range w.paces {
		w.live = append(w.live, newStream(p, rng, pace, func(dst []byte, _ int) []byte {
			return appendCommand(dst, "INCR", w.key)
		}))
	}
	return w.live
}

func (w *hot) check(c *client, v *verdict) {
	v.t.Helper()
	got := c.int("GET", w.key)
	var numbers []int64
	sent, must := 0, w.base
	for i, s := range w.live {
		sent += s.sent
		last := w.base
		for n, a := range s.acks {
			if a.kind != ':' || a.n <= last {
				v.errorf("%s: connection %d gets %v after %d", w.key, i, a.reply, last)
				return
			}
			last = a.n
			numbers = append(numbers, a.n)
			if n == v.must(s)-1 {
				must = max(must, a.n)
			}
		}
		n, _ := slices.BinarySearchFunc(s.acks, got+1, func(a ack, n int64) int { return int(a.n - n) })
		v.lose(s, n)
	}
	slices.Sort(numbers)
	for i := 1; i < len(numbers); i++ {
		if numbers[i] == numbers[i-1] {
			v.errorf("%s: the number %d was given out twice", w.key, numbers[i])
		}
	}
	if got < must {
		v.errorf("%s is %d, but %d was acknowledged in time", w.key, got, must)
	}
	if top := w.base + int64(sent); got > top {
		v.errorf("%s is %d, but no more than %d was sent", w.key, got, top)
	}
	next := c.int("INCR", w.key)
	if next != got+1 || !v.mayLose && len(numbers) > 0 && next <= numbers[len(numbers)-1] {
		v.errorf("%s: %d is given out after %d, with %v acknowledged", w.key, next, got,
			numbers[max(0, len(numbers)-1):])
	}
	w.base = next
}

// ledger is a counter that several connections increment, each between two increments of its own:
// own a, shared, own b. As of any instant no b is ahead of its a, and the shared counter is between
// the sum of the bs and the sum of the as.
type ledger struct {
	key    string
	paces  []pace
	shared int64
	as, bs []int64
	live   []*stream
}

func (w *ledger) own(which string, i int) string { return fmt.Sprintf("%s:%s:%d", w.key, which, i) }

func (w *ledger) streams(p *process, rng *rand.Rand) []*stream {
	if w.as == nil {
		w.as, w.bs = make([]int64, len(w.paces)), make([]int64, len(w.paces))
	}
	w.live = nil
	for i, pace := range w.paces {
		keys := []string{w.own("a", i), w.key, w.own("b", i)}
		w.live = append(w.live, newStream(p, rng, pace, func(dst []byte, n int) []byte {
			return appendCommand(dst, "INCR", keys[n%3])
		}))
	}
	return w.live
}

func (w *ledger) check(c *client, v *verdict) {
	v.t.Helper()
	keys := []string{w.key}
	for i := range w.paces {
		keys = append(keys, w.own("a", i), w.own("b", i))
	}
	values := c.ints(keys)
	var low, high int64
	for i, s := range w.live {
		who := fmt.Sprintf("%s, connection %d", w.key, i)
		a, b := values[1+2*i], values[2+2*i]
		na, nb := a-w.as[i], b-w.bs[i]
		if nb < 0 || nb > na || na > nb+1 {
			v.errorf("%s: a went from %d to %d, b from %d to %d: not the state of one instant",
				who, w.as[i], a, w.bs[i], b)
		}
		low, high = low+nb, high+na
		if na == nb {
			v.survived(who, s, int(3*nb), int(3*nb))
		} else {
			v.survived(who, s, int(3*nb+1), int(3*nb+2))
		}
		for n, ack := range s.acks {
			want := w.as[i] + int64(n/3) + 1
			if n%3 == 2 {
				want = w.bs[i] + int64(n/3) + 1
			}
			if ack.kind != ':' || n%3 != 1 && ack.n != want {
				v.errorf("%s: command %d answers %v, want %d", who, n, ack.reply, want)
				break
			}
		}
		w.as[i], w.bs[i] = a, b
	}
	if n := values[0] - w.shared; n < low || n > high {
		v.errorf("%s went from %d to %d, but its writers say that they did %d to %d increments: "+
			"not the state of one instant", w.key, w.shared, values[0], low, high)
	}
	w.shared = values[0]
}

// relay is a client that increments a and, when it has the answer, has another client increment b.
type relay struct {
	a, b int64
	live []*stream
}

const relayA, relayB = "relay:a", "relay:b"

func (w *relay) streams(p *process, rng *rand.Rand) []*stream {
	first := newStream(p, rng, oneByOne, func(dst []byte, _ int) []byte {
		return appendCommand(dst, "INCR", relayA)
	})
	second := newStream(p, rng, oneByOne, nil)
	first.after = func(reply) error { // the other client's turn
		second.sent++
		r, err := second.c.try("INCR", relayB)
		if err == nil {
			second.acks = append(second.acks, ack{r, now()})
		}
		return err
	}
	w.live = []*stream{first, second}
	return w.live[:1]
}

func (w *relay) check(c *client, v *verdict) {
	v.t.Helper()
	values := c.ints([]string{relayA, relayB})
	na, nb := values[0]-w.a, values[1]-w.b
	if nb < 0 || nb > na || na > nb+1 {
		v.errorf("relay: a went from %d to %d, b from %d to %d: a later write survived an earlier one",
			w.a, values[0], w.b, values[1])
	}
	v.survived(relayA, w.live[0], int(na), int(na))
	v.survived(relayB, w.live[1], int(nb), int(nb))
	w.a, w.b = values[0], values[1]
}

// wide is one connection that increments many counters in turn: the first of them are one ahead of
// the others.
type wide struct {
	key  string
	keys int
	pace pace
	done int64 // commands that are in the base
	live *stream
}

func (w *wide) nth(i int64) string { return w.key + ":" + strconv.FormatInt(i%int64(w.keys), 10) }

func (w *wide) streams(p *process, rng *rand.Rand) []*stream {
	base := w.done
	w.live = newStream(p, rng, w.pace, func(dst []byte, n int) []byte {
		return appendCommand(dst, "INCR", w.nth(base+int64(n)))
	})
	return []*stream{w.live}
}

func (w *wide) check(c *client, v *verdict) {
	v.t.Helper()
	keys := make([]string, w.keys)
	for i := range keys {
		keys[i] = w.nth(int64(i))
	}
	values := c.ints(keys)
	total := int64(0)
	for _, n := range values {
		total += n
	}
	for i, n := range values {
		want := total / int64(w.keys)
		if int64(i) < total%int64(w.keys) {
			want++
		}
		if n != want {
			v.errorf("%s: after %d commands counter %d must be %d and is %d: not the state of one instant",
				w.key, total, i, want, n)
			break
		}
	}
	for n, a := range w.live.acks {
		if want := (w.done+int64(n))/int64(w.keys) + 1; a.kind != ':' || a.n != want {
			v.errorf("%s: command %d answers %v, want %d", w.key, n, a.reply, want)
			break
		}
	}
	v.survived(w.key, w.live, int(total-w.done), int(total-w.done))
	w.done = total
}

// pairs are connections that MSET the same keys, and now and then DEL them all, each to values of
// its own. One more connection looks on.
type pairs struct {
	writers int
	live    []*stream
	rounds  int
}

var pairKeys = []string{"pair:x", "pair:y", "pair:z"}

func (w *pairs) value(writer, n int) string { return fmt.Sprintf("%d:%d:%d", w.rounds, writer, n) }

func (w *pairs) streams(p *process, rng *rand.Rand) []*stream {
	w.live = nil
	w.rounds++
	for i := range w.writers {
		w.live = append(w.live, newStream(p, rng, inBatches, func(dst []byte, n int) []byte {
			if n%50 == 49 {
				return appendCommand(dst, append([]string{"DEL"}, pairKeys...)...)
			}
			args := []string{"MSET"}
			for _, key := range pairKeys {
				args = append(args, key, w.value(i, n))
			}
			return appendCommand(dst, args...)
		}))
	}
	w.live = append(w.live, newStream(p, rng, oneByOne, func(dst []byte, _ int) []byte {
		return appendCommand(dst, append([]string{"MGET"}, pairKeys...)...)
	}))
	return w.live
}

func torn(values []reply) bool {
	return len(values) != len(pairKeys) || !values[0].same(values[1]) || !values[0].same(values[2])
}

func (w *pairs) check(c *client, v *verdict) {
	v.t.Helper()
	for _, a := range w.live[w.writers].acks {
		if torn(a.elements()) {
			v.errorf("pairs: a reader sees a torn MSET: %v", a.reply)
			break
		}
	}
	values := c.do(append([]string{"MGET"}, pairKeys...)...).elements()
	if torn(values) {
		v.errorf("pairs: a torn MSET came back: %v", values)
		return
	}
	var round, writer, n int
	fmt.Sscanf(strings.ReplaceAll(values[0].s, ":", " "), "%d %d %d", &round, &writer, &n)
	if values[0].kind == '_' {
		return // a DEL, or nothing yet
	}
	if round != w.rounds {
		for i, s := range w.live[:w.writers] {
			v.lose(s, 0)
			if must := v.must(s); must > 0 {
				v.errorf("pairs: round %d's value is there, but connection %d has %d acknowledged "+
					"writes of round %d", round, i, must, w.rounds)
			}
		}
		return
	}
	s := w.live[writer]
	v.survived("pairs", s, n+1, len(s.acks)) // a later one may be a DEL of the other connection
	v.lose(s, n+1)
	if must := v.must(s); n < must-1 {
		v.errorf("pairs: write %d of connection %d is there, its write %d was acknowledged in time",
			n, writer, must-1)
	}
}

// visitors counts distinct elements in a sketch, and beside it in a counter.
type visitors struct {
	key  string
	base int64
	live *stream
}

func (w *visitors) streams(p *process, rng *rand.Rand) []*stream {
	base := w.base
	w.live = newStream(p, rng, inBatches, func(dst []byte, n int) []byte {
		if n%2 == 0 {
			return appendCommand(dst, "PFADD", w.key, "element:"+strconv.FormatInt(base+int64(n/2), 10))
		}
		return appendCommand(dst, "INCR", w.key+":n")
	})
	return []*stream{w.live}
}

// The sketch is exact up to exactElements; above, no estimate here is off by sketchError.
const (
	exactElements = 2048
	sketchError   = 0.05
)

func (w *visitors) check(c *client, v *verdict) {
	v.t.Helper()
	n := c.int("GET", w.key+":n")
	count := c.int("PFCOUNT", w.key)
	low, high := n, n+1
	if high > exactElements {
		slack := int64(float64(n) * sketchError)
		low, high = n-slack, n+slack
	}
	if count < low || count > high {
		v.errorf("%s: PFCOUNT is %d where %d elements were counted", w.key, count, n)
	}
	done := 2 * (n - w.base) // and perhaps a PFADD, which the next round repeats
	v.survived(w.key, w.live, int(done), int(done)+1)
	w.base = n
}
