package e2e

import (
	"math/rand/v2"
	"testing"
	"time"
)

// alwaysGlob is what the contract of these tests says always of.
const alwaysGlob, alwaysPrefix = "always:*", "always:"

// TestKillMixedDurability: with appendfsync everysec or no, and a contract that says always of some keys,
// every acknowledged command on those survives kill -9, with all that its connection did before; the
// other keys lose a second at most; and what comes back is the state of one instant.
func TestKillMixedDurability(t *testing.T) {
	for _, policy := range []string{"everysec", "no"} {
		t.Run(policy, func(t *testing.T) {
			k := newKillTest(t, policy, 100*time.Millisecond, 600*time.Millisecond)
			k.writers = []writer{
				&inTurn{key: "first", promised: 0, pace: oneByOne},
				&inTurn{key: "first:piped", promised: 0, pace: inBatches},
				&inTurn{key: "first:streamed", promised: 0, pace: streaming},
				&inTurn{key: "second", promised: 1, pace: oneByOne},
				&inTurn{key: "second:piped", promised: 1, pace: inBatches},
				&kept{&hot{key: alwaysPrefix + "hot", paces: []pace{streaming, inBatches, oneByOne}}},
				&kept{&hot{key: alwaysPrefix + "id", paces: []pace{oneByOne, oneByOne}}},
				&hot{key: "hot", paces: []pace{streaming, inBatches, oneByOne}},
				&ledger{key: alwaysPrefix + "ledger", paces: []pace{inBatches, oneByOne}},
				&ledger{key: "ledger", paces: []pace{streaming, oneByOne}},
				&wide{key: "wide", keys: 1000, pace: streaming},
				&pairs{writers: 2},
			}
			k.prepare = func(c *client) { // the contract comes back by itself
				if r := c.do("CNT.CONTRACT", "SET", alwaysGlob, "DURABILITY", "always"); !r.same(okReply) {
					t.Fatal(r)
				}
			}
			k.run()
		})
	}
}

// TestKillMixedAlways: with appendfsync always, and a contract that says everysec of some keys, the others
// lose nothing.
func TestKillMixedAlways(t *testing.T) {
	k := newKillTest(t, "always", 100*time.Millisecond, 400*time.Millisecond)
	k.weaker = true
	k.writers = []writer{
		&inTurn{key: "first", promised: 0, pace: oneByOne, weaker: true},
		&inTurn{key: "second", promised: 1, pace: oneByOne, weaker: true},
		&inTurn{key: "second:streamed", promised: 1, pace: streaming, weaker: true},
		&kept{&hot{key: "hot", paces: []pace{streaming, oneByOne}}},
		&hot{key: weakPrefix + "hot", paces: []pace{streaming, oneByOne}},
	}
	k.prepare = func(c *client) {
		if r := c.do("CNT.CONTRACT", "SET", weakPrefix+"*", "DURABILITY", "everysec"); !r.same(okReply) {
			t.Fatal(r)
		}
	}
	k.run()
}

const weakPrefix = "weak:"

// kept is a writer whose keys must come back as acknowledged, whatever the server's policy.
type kept struct{ writer }

func (w *kept) check(c *client, v *verdict) {
	v.t.Helper()
	strict := &verdict{t: v.t, killed: v.killed, note: v.note}
	w.writer.check(c, strict)
	if strict.lost > 0 {
		v.errorf("%d acknowledged commands of a key that waits are lost", strict.lost)
	}
}

// inTurn is a connection that increments two counters in turn, one of which waits for the disk: the
// first where promised is 0, the second where it is 1.
type inTurn struct {
	key      string
	promised int
	pace     pace
	weaker   bool // the server's policy is always, and the other counter's contract everysec

	base [2]int64
	live *stream
}

// names are those of the first and the second counter.
func (w *inTurn) names() []string {
	names := []string{w.key + ":a", w.key + ":b"}
	if w.weaker {
		names[1-w.promised] = weakPrefix + names[1-w.promised]
	} else {
		names[w.promised] = alwaysPrefix + names[w.promised]
	}
	return names
}

func (w *inTurn) streams(p *process, rng *rand.Rand) []*stream {
	names := w.names()
	w.live = newStream(p, rng, w.pace, func(dst []byte, n int) []byte {
		return appendCommand(dst, "INCR", names[n%2])
	})
	return []*stream{w.live}
}

func (w *inTurn) check(c *client, v *verdict) {
	v.t.Helper()
	values := c.ints(w.names())
	na, nb := values[0]-w.base[0], values[1]-w.base[1]
	if nb < 0 || nb > na || na > nb+1 {
		v.errorf("%s: a went from %d to %d, b from %d to %d: not the state of one instant",
			w.key, w.base[0], values[0], w.base[1], values[1])
	}
	done, acks := int(na+nb), w.live.acks
	for n, a := range acks {
		if want := w.base[n%2] + int64(n/2) + 1; a.kind != ':' || a.n != want {
			v.errorf("%s: command %d answers %v, want %d", w.key, n, a.reply, want)
			break
		}
	}
	must := len(acks) // the last acknowledged command that waits, and all before it
	for must > 0 && (must-1)%2 != w.promised {
		must--
	}
	if done < must {
		v.errorf("%s: of %d acknowledged commands the first %d must be there, but only %d are",
			w.key, len(acks), must, done)
	}
	v.survived(w.key, w.live, done, done)
	w.base = [2]int64(values)
}
