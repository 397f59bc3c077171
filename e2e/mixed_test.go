package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mixed is one connection that is alone in its database and does everything there: SET in many
// forms, DEL, INCR, EXPIRE, PFADD, MSET, FLUSHDB. After a crash the whole database must be what the
// first n of its commands made, for one n.
type mixed struct {
	db    int
	pace  pace
	base  mixedState
	asked []mixedCommand
	live  *stream
}

type mixedCommand struct {
	args []string
	at   time.Time // when it was made, a little before it was sent
}

// A mixedValue is what a key holds.
type mixedValue struct {
	str string
	set map[string]bool // of a sketch, which is exact at these sizes; else nil
	// The key expires between these, in Unix milliseconds; 0 is never.
	expireMin, expireMax int64
}

type mixedState map[string]*mixedValue

func (s mixedState) clone() mixedState {
	c := mixedState{}
	for key, v := range s {
		w := *v
		w.set = maps.Clone(v.set)
		c[key] = &w
	}
	return c
}

var mixedKeys = []string{"seq", "alpha", "beta", "gamma", "delta", "epsilon"}

// mixedElements is the number of different elements of the sketches.
const mixedElements = 400

// A mixedGen makes the commands.
type mixedGen struct{ rng *rand.Rand }

func (g mixedGen) key() string { return mixedKeys[1+g.rng.IntN(len(mixedKeys)-1)] }

func (g mixedGen) value() string {
	switch g.rng.IntN(8) {
	case 0, 1:
		return "word" + strconv.Itoa(g.rng.IntN(1000))
	case 2:
		return strings.Repeat(string(rune('a'+g.rng.IntN(26))), 1+g.rng.IntN(300))
	case 3:
		if g.rng.IntN(20) == 0 {
			return strings.Repeat(string(rune('A'+g.rng.IntN(26))), 1+g.rng.IntN(40_000))
		}
	}
	return strconv.Itoa(g.rng.IntN(2_000_000) - 1_000_000)
}

func (g mixedGen) element() string { return "e" + strconv.Itoa(g.rng.IntN(mixedElements)) }

// longSeconds is a time to live that outlasts every test.
func (g mixedGen) longSeconds() string { return strconv.Itoa(100_000 + g.rng.IntN(1_000_000)) }

func (g mixedGen) command() []string {
	k := g.key()
	switch g.rng.IntN(27) {
	case 0, 1, 2, 3:
		return []string{"INCR", "seq"}
	case 4, 5:
		return []string{"SET", k, g.value()}
	case 6:
		return []string{"SET", k, g.value(), "EX", g.longSeconds()}
	case 7:
		return []string{"SET", k, g.value(), "KEEPTTL"}
	case 8:
		return []string{"SET", k, g.value(), [...]string{"NX", "XX"}[g.rng.IntN(2)]}
	case 9:
		return []string{"GETSET", k, g.value()}
	case 10:
		return []string{"DEL", k}
	case 11:
		return []string{"DEL", k, g.key(), g.key()}
	case 12, 13:
		return []string{"INCR", k}
	case 14:
		return []string{"DECRBY", k, strconv.Itoa(g.rng.IntN(1000))}
	case 15, 16:
		return []string{"EXPIRE", k, g.longSeconds()}
	case 17:
		at := time.Now().Add(30 * time.Hour).UnixMilli()
		return []string{"PEXPIREAT", k, strconv.FormatInt(at+g.rng.Int64N(1<<30), 10)}
	case 18:
		return []string{"PERSIST", k}
	case 19:
		return []string{"PEXPIREAT", k, "1"} // long ago: deletes it
	case 20, 21, 22:
		args := []string{"PFADD", k}
		for range 1 + g.rng.IntN(6) {
			args = append(args, g.element())
		}
		return args
	case 23:
		return []string{"PFMERGE", k, g.key()}
	case 24:
		return []string{"MSET", k, g.value(), g.key(), g.value(), "seq", strconv.Itoa(g.rng.IntN(1000))}
	case 25:
		return []string{[...]string{"GETDEL", "GET"}[g.rng.IntN(2)], k}
	default:
		if g.rng.IntN(30) == 0 {
			return []string{"FLUSHDB"}
		}
		return []string{"GET", k}
	}
}

const notASketch = "WRONGTYPE Key is not a valid HyperLogLog string value."

// anyBulk stands for the bytes of a sketch.
var anyBulk = reply{kind: '?'}

func (r reply) matches(want reply) bool { return r.same(want) || want.kind == '?' && r.kind == '$' }

func failed(text string) reply { return reply{kind: '-', s: text} }

func truth(b bool) reply {
	if b {
		return intReply(1)
	}
	return intReply(0)
}

func (s mixedState) get(key string) reply {
	v := s[key]
	switch {
	case v == nil:
		return nilReply
	case v.set != nil:
		return anyBulk
	}
	return bulk(v.str)
}

// expire sets when a key expires, unless there is none.
func (s mixedState) expire(key string, from, to int64) reply {
	if v := s[key]; v != nil {
		v.expireMin, v.expireMax = from, to
	}
	return truth(s[key] != nil)
}

// clockSlack is how much a server's idea of a command's instant may differ from ours: it looks at its clock, and
// a busy machine may let it wait before it reads the command. Times to live differ by more.
const clockSlack = 10 * time.Second

// apply does a command that was executed between its making and the time before, and predicts its
// reply.
func (s mixedState) apply(c mixedCommand, before time.Time) reply {
	args := c.args
	key := ""
	if len(args) > 1 {
		key = args[1]
	}
	after := func(seconds string) (int64, int64) {
		n, _ := strconv.Atoi(seconds)
		ttl := time.Duration(n) * time.Second
		return c.at.Add(ttl - clockSlack).UnixMilli(), before.Add(ttl + clockSlack).UnixMilli()
	}
	old := s[key]
	switch args[0] {
	case "GET":
		return s.get(key)
	case "GETDEL":
		r := s.get(key)
		delete(s, key)
		return r
	case "GETSET":
		r := s.get(key)
		s[key] = &mixedValue{str: args[2]}
		return r
	case "SET":
		return s.set(args, after)
	case "MSET":
		for i := 1; i < len(args); i += 2 {
			s[args[i]] = &mixedValue{str: args[i+1]}
		}
		return okReply
	case "DEL":
		n := len(s)
		for _, key := range args[1:] {
			delete(s, key)
		}
		return intReply(int64(n - len(s)))
	case "FLUSHDB":
		clear(s)
		return okReply
	case "INCR":
		return s.incrBy(key, 1)
	case "DECRBY":
		n, _ := strconv.ParseInt(args[2], 10, 64)
		return s.incrBy(key, -n)
	case "EXPIRE":
		from, to := after(args[2])
		return s.expire(key, from, to)
	case "PEXPIREAT":
		if args[2] == "1" {
			delete(s, key)
			return truth(old != nil)
		}
		at, _ := strconv.ParseInt(args[2], 10, 64)
		return s.expire(key, at, at)
	case "PERSIST":
		had := old != nil && old.expireMax != 0
		s.expire(key, 0, 0)
		return truth(had)
	case "PFADD":
		return s.pfAdd(key, args[2:])
	case "PFMERGE":
		return s.pfMerge(key, args[2])
	}
	panic(args[0])
}

func (s mixedState) set(args []string, after func(string) (int64, int64)) reply {
	key, v := args[1], &mixedValue{str: args[2]}
	old := s[key]
	if len(args) > 3 {
		switch args[3] {
		case "NX":
			if old != nil {
				return nilReply
			}
		case "XX":
			if old == nil {
				return nilReply
			}
		case "KEEPTTL":
			if old != nil {
				v.expireMin, v.expireMax = old.expireMin, old.expireMax
			}
		case "EX":
			v.expireMin, v.expireMax = after(args[4])
		}
	}
	s[key] = v
	return okReply
}

func (s mixedState) incrBy(key string, delta int64) reply {
	v := s[key]
	if v == nil {
		v = &mixedValue{str: "0"}
	}
	n, err := strconv.ParseInt(v.str, 10, 64)
	if err != nil || v.set != nil {
		return failed(notAnInteger)
	}
	v.str = strconv.FormatInt(n+delta, 10)
	s[key] = v
	return intReply(n + delta)
}

func (s mixedState) pfAdd(key string, elements []string) reply {
	v := s[key]
	if v != nil && v.set == nil {
		return failed(notASketch)
	}
	if v == nil {
		v = &mixedValue{set: map[string]bool{}}
		s[key] = v
	}
	n := len(v.set)
	for _, e := range elements {
		v.set[e] = true
	}
	return truth(len(v.set) > n)
}

func (s mixedState) pfMerge(key, from string) reply {
	v, source := s[key], s[from]
	if v != nil && v.set == nil || source != nil && source.set == nil {
		return failed(notASketch)
	}
	if v == nil {
		v = &mixedValue{set: map[string]bool{}}
		s[key] = v
	}
	if source != nil {
		maps.Copy(v.set, source.set)
	}
	return okReply
}

// A mixedSight is what a client sees of a key.
type mixedSight struct {
	get, count reply
	expireAt   int64 // -1 is never, -2 no key
}

func (s mixedState) matches(seen map[string]mixedSight) bool {
	for _, key := range mixedKeys {
		v, sight := s[key], seen[key]
		if !sight.get.matches(s.get(key)) {
			return false
		}
		if v == nil {
			continue
		}
		if v.set != nil && !sight.count.same(intReply(int64(len(v.set)))) ||
			v.set == nil && sight.count.kind != '-' {
			return false
		}
		if v.expireMax == 0 && sight.expireAt != -1 ||
			v.expireMax != 0 && (sight.expireAt < v.expireMin || sight.expireAt > v.expireMax) {
			return false
		}
	}
	return true
}

func (s mixedState) String() string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(s)) {
		v := s[key]
		fmt.Fprintf(&b, "%s=%.60q", key, v.str)
		if v.set != nil {
			fmt.Fprintf(&b, " of %d elements", len(v.set))
		}
		if v.expireMax != 0 {
			fmt.Fprintf(&b, " until %d..%d", v.expireMin, v.expireMax)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (w *mixed) name() string { return fmt.Sprintf("mixed:%d", w.db) }

func (w *mixed) streams(p *process, rng *rand.Rand) []*stream {
	if w.base == nil {
		w.base = mixedState{}
	}
	w.asked = nil
	g := mixedGen{fork(rng)}
	w.live = newStream(p, rng, w.pace, func(dst []byte, _ int) []byte {
		w.asked = append(w.asked, mixedCommand{g.command(), time.Now()})
		return appendCommand(dst, w.asked[len(w.asked)-1].args...)
	})
	w.live.c.do("SELECT", strconv.Itoa(w.db))
	return []*stream{w.live}
}

// before is when command i was executed at the latest.
func (w *mixed) before(i int, v *verdict) time.Time {
	if i < len(w.live.acks) {
		return w.live.acks[i].at.wall()
	}
	return v.killed.wall()
}

func (w *mixed) check(c *client, v *verdict) {
	v.t.Helper()
	state := w.base.clone()
	for i, a := range w.live.acks {
		if want := state.apply(w.asked[i], w.before(i, v)); !a.matches(want) {
			v.errorf("%s: command %d, %.80q, answers %.80s, want %.80s",
				w.name(), i, w.asked[i].args, a.reply, want)
			return
		}
	}
	seen := w.look(c)
	must, n := v.must(w.live), -1
	var expected mixedState
	state = w.base.clone()
	for i := 0; ; i++ { // the last match: an empty database, for one, is like many others
		if i == must {
			expected = state.clone()
		}
		if i >= must && state.matches(seen) {
			n = i
		}
		if i == w.live.sent {
			break
		}
		state.apply(w.asked[i], w.before(i, v))
	}
	if n < 0 {
		v.errorf("%s: what came back is the state after none of the commands %d..%d (%d acknowledged, "+
			"%d sent)\nseen: %v\nafter command %d:\n%v%s", w.name(), must, w.live.sent, len(w.live.acks),
			w.live.sent, seen, must, expected, w.around(must))
		return
	}
	v.survived(w.name(), w.live, n, n)
	for i := range n {
		w.base.apply(w.asked[i], w.before(i, v))
	}
	for key, value := range w.base {
		if value.expireMax != 0 {
			value.expireMin, value.expireMax = seen[key].expireAt, seen[key].expireAt
		}
	}
}

// around lists the commands around number n.
func (w *mixed) around(n int) string {
	from := max(0, n-20)
	to := min(len(w.asked), n+20)
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "%d: %.80q\n", i, w.asked[i].args)
	}
	return b.String()
}

func (w *mixed) look(c *client) map[string]mixedSight {
	c.t.Helper()
	c.do("SELECT", strconv.Itoa(w.db))
	seen := map[string]mixedSight{}
	there := int64(0)
	for _, key := range mixedKeys {
		seen[key] = mixedSight{c.do("GET", key), c.do("PFCOUNT", key), c.int("PEXPIRETIME", key)}
		there += c.int("EXISTS", key)
	}
	if n := c.int("DBSIZE"); n != there {
		c.t.Errorf("%s: DBSIZE is %d, but %d keys are there", w.name(), n, there)
	}
	c.do("SELECT", "0")
	return seen
}
