package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// killShares are the parts of a thousand commands with which the kill tests' counters are hot, by
// round: about what a busy one gets, and none, with which every one is that has any.
var killShares = []int{10, 0, 4}

// TestKillFlappingAlways: kill -9 while counters are promoted and demoted, under appendfsync always.
func TestKillFlappingAlways(t *testing.T) { newFlapKillTest(t, "always").run() }

// TestKillFlappingEverySec: the same under appendfsync everysec.
func TestKillFlappingEverySec(t *testing.T) { newFlapKillTest(t, "everysec").run() }

// flapKillTest is a killTest whose counters flap.
type flapKillTest struct {
	*killTest
	chases []*chase
}

// newFlapKillTest makes a test in which some counters are relaxed, some have a durability of their own,
// and some are never promoted, since their names are too long for that.
func newFlapKillTest(t *testing.T, policy string) *flapKillTest {
	long := strings.Repeat("x", maxHotName)
	k := &flapKillTest{
		killTest: &killTest{
			t: t, rng: newRand(t), dir: t.TempDir(), policy: policy, flaps: true,
			minRun: 100 * time.Millisecond, maxRun: 500 * time.Millisecond,
			prepare: prepareContracts, seen: map[string]*sights{},
			writers: []writer{
				&hot{key: "hot", paces: []pace{inBatches, oneByOne, oneByOne}},
				&ledger{key: "ledger", paces: []pace{inBatches, oneByOne}},
				&ledger{key: "relaxed:ledger", paces: []pace{oneByOne, oneByOne}},
				&mixed{db: 1, pace: oneByOne},
			},
		},
		chases: []*chase{
			{a: "hot:a", b: "hot:b", clients: 3},
			{a: "hot:c", b: long + "c", clients: 2},
			{a: long + "d", b: "hot:d", clients: 2},
			{a: "always:a", b: "everysec:a", clients: 8},
			{a: "everysec:b", b: "always:b", clients: 8},
			{a: "relaxed:a", b: "relaxed:b", clients: 3},
			{a: "relaxed:c", b: "relaxed always:c", clients: 8},
		},
	}
	for _, c := range k.chases {
		k.writers = append(k.writers, c)
		for _, key := range []string{c.a, c.b} {
			k.look = append(k.look, key)
			k.seen[key] = &sights{}
		}
	}
	return k
}

// prepareContracts makes the contracts of the keys of flapKillTests.
func prepareContracts(c *client) {
	for glob, contract := range map[string][]string{
		"always:*":         {"DURABILITY", "ALWAYS"},
		"everysec:*":       {"DURABILITY", "EVERYSEC"},
		"relaxed:*":        {"REPLIES", "RELAXED"},
		"relaxed always:*": {"REPLIES", "RELAXED", "DURABILITY", "ALWAYS"},
	} {
		if r := c.do(append([]string{"CNT.CONTRACT", "SET", glob}, contract...)...); !r.same(okReply) {
			c.t.Fatalf("a contract for %s: %v", glob, r)
		}
	}
}

// run is killTest.run, until each counter was seen in each form that it can have.
func (k *flapKillTest) run() {
	k.t.Helper()
	k.missing = k.unseen
	k.killTest.run()
	for key, s := range k.seen {
		k.t.Logf("%.20s was seen %d times promoted and %d times not", key, s.hot, s.cold)
		if len(key) > maxHotName && s.hot > 0 {
			k.t.Errorf("%.20s was promoted", key)
		}
	}
}

// unseen says what was not seen yet, "" if nothing.
func (k *flapKillTest) unseen() string {
	if what := k.unmerged(); what != "" {
		return what
	}
	if least := int64(*roundsFlag); min(k.ups, k.downs) < least {
		return fmt.Sprintf("counters were promoted or demoted less often than %d times", least)
	}
	for key, s := range k.seen {
		if *roundsFlag >= 10 && (s.cold == 0 || s.hot == 0 && len(key) <= maxHotName) {
			return fmt.Sprintf("%.20s was never seen in one of its forms", key)
		}
	}
	return ""
}

// maxHotName is the length of the longest name that a key may have to be promoted.
const maxHotName = 1020

// chase is clients of which each increments a and, when it has the answer, increments b over another
// connection. As of any instant b is not ahead of a, nor a of b by more than there are clients. The
// names begin with those of the contracts that apply to them, as newFlapKillTest makes them.
type chase struct {
	a, b    string
	clients int
	na, nb  int64 // as of the last crash
	as, bs  []*stream
}

func (w *chase) streams(p *process, rng *rand.Rand) []*stream {
	w.as, w.bs = nil, nil
	for range w.clients {
		first := newStream(p, rng, oneByOne, func(dst []byte, _ int) []byte {
			return appendCommand(dst, "INCR", w.a)
		})
		second := newStream(p, rng, oneByOne, nil)
		first.after = func(reply) error {
			second.sent++
			r, err := second.c.try("INCR", w.b)
			if err == nil {
				second.acks = append(second.acks, ack{r, now()})
			}
			return err
		}
		w.as, w.bs = append(w.as, first), append(w.bs, second)
	}
	return w.as
}

func (w *chase) check(c *client, v *verdict) {
	v.t.Helper()
	values := c.ints([]string{w.a, w.b})
	a, b := values[0]-w.na, values[1]-w.nb
	if b < 0 || b > a || a > b+int64(w.clients) {
		v.errorf("%.20s went from %d to %d, %.20s from %d to %d: not the state of one instant",
			w.a, w.na, values[0], w.b, w.nb, values[1])
	}
	checkCount(v, w.a, w.na, a, w.as)
	checkCount(v, w.b, w.nb, b, w.bs)
	w.na, w.nb = values[0], values[1]
}

// checkCount checks what came back of a counter, n increments more than its base, against the streams
// that incremented it.
func checkCount(v *verdict, key string, base, n int64, streams []*stream) {
	v.t.Helper()
	mayLose := v.mayLose
	switch {
	case strings.Contains(key, "always:"):
		mayLose = false
	case strings.HasPrefix(key, "everysec:"):
		mayLose = true
	}
	sent, must := 0, 0
	var numbers []int64
	var times []moment // of all acknowledgements
	for _, s := range streams {
		sent += s.sent
		if !mayLose {
			must += len(s.acks)
		}
		for _, a := range s.acks {
			numbers, times = append(numbers, a.n), append(times, a.at)
			if a.kind != ':' {
				v.errorf("%.20s: INCR answers %v", key, a.reply)
				return
			}
		}
	}
	slices.Sort(numbers)
	if last := len(numbers) - 1; last >= 0 && (numbers[0] <= base || numbers[last] > base+int64(sent)) {
		v.errorf("%.20s: INCR answers %d to %d, where %d were sent after %d",
			key, numbers[0], numbers[last], sent, base)
	}
	if n < int64(must) || n > int64(sent) {
		v.errorf("%.20s: %d increments came back, of %d that were sent and %d that must be there",
			key, n, sent, must)
	}
	if slices.Sort(times); mayLose && n >= 0 && n < int64(len(times)) {
		v.age(times[n]) // or an older one
	}
	if strings.HasPrefix(key, "relaxed") {
		return
	}
	if unique := slices.Compact(slices.Clone(numbers)); len(unique) != len(numbers) {
		v.errorf("%.20s: %d numbers were given out twice", key, len(numbers)-len(unique))
	}
}
