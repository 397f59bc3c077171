package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// An input is a command on one key.
type input struct {
	name, key string
	value     string // of SET and GETSET
	delta     int64  // of INCRBY
}

func (in input) args() []string {
	switch in.name {
	case "SET":
		return []string{"SET", in.key, in.value}
	case "SETNX":
		return []string{"SET", in.key, in.value, "NX"}
	case "SETGET":
		return []string{"SET", in.key, in.value, "GET"}
	case "GETSET":
		return []string{"GETSET", in.key, in.value}
	case "INCRBY":
		return []string{"INCRBY", in.key, strconv.FormatInt(in.delta, 10)}
	case "EXPIRE":
		return []string{"EXPIRE", in.key, "100000"} // longer than any test
	case "EXPIRE NOW":
		return []string{"EXPIRE", in.key, "-1"}
	}
	return []string{in.name, in.key}
}

// An output is the part of a reply that the model predicts; comparable.
type output struct {
	Kind byte
	N    int64
	S    string
}

// A cell is the state of a key.
type cell struct {
	there   bool
	value   string
	expires bool
}

func (c cell) get() output {
	if !c.there {
		return output{Kind: '_'}
	}
	return output{Kind: '$', S: c.value}
}

const notAnInteger = "ERR value is not an integer or out of range"

// step is Redis's rule for one command on one key.
func (c cell) step(in input) (output, cell) {
	ok := output{Kind: '+', S: "OK"}
	yes := func(b bool) output {
		if b {
			return output{Kind: ':', N: 1}
		}
		return output{Kind: ':'}
	}
	switch in.name {
	case "GET":
		return c.get(), c
	case "SET":
		return ok, cell{there: true, value: in.value}
	case "SETGET", "GETSET":
		return c.get(), cell{there: true, value: in.value}
	case "SETNX":
		if c.there {
			return output{Kind: '_'}, c
		}
		return ok, cell{there: true, value: in.value}
	case "EXISTS":
		return yes(c.there), c
	case "DEL", "EXPIRE NOW":
		return yes(c.there), cell{}
	case "EXPIRE":
		next := c
		next.expires = c.there
		return yes(c.there), next
	case "PERSIST":
		next := c
		next.expires = false
		return yes(c.expires), next
	case "STRLEN":
		return output{Kind: ':', N: int64(len(c.value))}, c
	case "GETDEL":
		return c.get(), cell{}
	case "INCR", "INCRBY":
		n := int64(0)
		if c.there {
			var err error
			if n, err = strconv.ParseInt(c.value, 10, 64); err != nil {
				return output{Kind: '-', S: notAnInteger}, c
			}
		}
		n += max(in.delta, 1)
		return output{Kind: ':', N: n}, cell{true, strconv.FormatInt(n, 10), c.expires}
	}
	panic(in.name)
}

// redisKeys is the specification: each key is a cell of its own.
var redisKeys = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[string][]porcupine.Operation{}
		for _, op := range history {
			key := op.Input.(input).key
			byKey[key] = append(byKey[key], op)
		}
		var parts [][]porcupine.Operation
		for _, ops := range byKey {
			parts = append(parts, ops)
		}
		return parts
	},
	Init: func() any { return cell{} },
	Step: func(state, in, out any) (bool, any) {
		want, next := state.(cell).step(in.(input))
		return want == out.(output), next
	},
	DescribeOperation: func(in, out any) string {
		return fmt.Sprintf("%v -> %v", in.(input).args(), out.(output))
	},
}

const checkTimeout = 2 * time.Minute

// TestHistoriesAreLinearizable records what concurrent connections ask and are answered, on few
// keys, and looks for an order that explains it (porcupine).
func TestHistoriesAreLinearizable(t *testing.T) {
	for _, policy := range policies {
		t.Run(policy.name, func(t *testing.T) {
			testLinearizable(t, append([]string{"--io-threads", "2"}, policy.args...), scaled(4000), false)
		})
	}
}

// testLinearizable records and checks a history of so many commands of each connection; or, where flaps
// is set, histories while the counters are promoted and demoted.
func testLinearizable(t *testing.T, args []string, commands int, flaps bool) {
	rng := newRand(t)
	if !flaps {
		p := start(t, plainServer, t.TempDir(), args...)
		checkHistory(p, rng, "cell", commands, linearCommands)
		p.stop()
		return
	}
	p := startFlapping(t, t.TempDir(), 350, args...)
	p.untilFlapped(leastFlaps, func(round int) {
		checkHistory(p, rng, fmt.Sprint("cell:", round), commands, hotCommands)
	})
	p.stop()
}

// checkHistory records a history of keys whose names begin with prefix, and checks it. Where many commands
// were under way at one time for long, as on a machine that stalls, there may be more orders than can be tried:
// then it takes another history.
func checkHistory(p *process, rng *rand.Rand, prefix string, commands int, names []string) {
	p.t.Helper()
	for try := 1; ; try++ {
		began := time.Now()
		history := recordHistory(p, rng, 10, commands, fmt.Sprintf("%s:try %d", prefix, try), names)
		recorded := time.Since(began)
		began = time.Now()
		result := porcupine.CheckOperationsTimeout(redisKeys, history, checkTimeout)
		p.t.Logf("%d operations in %v, checked in %v: %v", len(history), recorded.Round(time.Millisecond),
			time.Since(began).Round(time.Millisecond), result)
		if result == porcupine.Ok {
			return
		}
		if result != porcupine.Unknown || try == 3 {
			p.t.Fatalf("the history is %v:\n%s", result, describe(history))
		}
	}
}

// recordHistory lets connections run random commands on three keys. Every third connection
// pipelines a few at a time, now and then one command several times: these overlap, so nothing is said
// about their order among each other that the times do not say.
func recordHistory(p *process, rng *rand.Rand, connections, commands int, prefix string,
	names []string) []porcupine.Operation {
	histories := make([][]porcupine.Operation, connections)
	began := time.Now()
	var wg sync.WaitGroup
	for id := range connections {
		c, rng := p.dial(), fork(rng)
		wg.Go(func() {
			for len(histories[id]) < commands {
				inputs := []input{randomInput(rng, id, prefix, names)}
				if id%3 == 2 {
					for range rng.IntN(3) {
						inputs = append(inputs, randomInput(rng, id, prefix, names))
					}
					if rng.IntN(8) == 0 {
						inputs = slices.Repeat(inputs[:1], 4+rng.IntN(3))
					}
				}
				ops, err := c.pipeline(id, began, inputs)
				if err != nil {
					p.t.Errorf("connection %d: %v", id, err)
					return
				}
				histories[id] = append(histories[id], ops...)
			}
		})
	}
	wg.Wait()
	var all []porcupine.Operation
	for _, h := range histories {
		all = append(all, h...)
	}
	return all
}

// pipeline runs commands and returns them with their times.
func (c *client) pipeline(id int, began time.Time, inputs []input) ([]porcupine.Operation, error) {
	c.buf = c.buf[:0]
	for _, in := range inputs {
		c.buf = appendCommand(c.buf, in.args()...)
	}
	call := time.Since(began).Nanoseconds()
	if _, err := c.conn.Write(c.buf); err != nil {
		return nil, err
	}
	var ops []porcupine.Operation
	for _, in := range inputs {
		r, err := readReply(c.r)
		if err != nil {
			return nil, err
		}
		ops = append(ops, porcupine.Operation{ClientId: id, Input: in, Call: call,
			Output: output{r.kind, r.n, r.s}, Return: time.Since(began).Nanoseconds()})
	}
	return ops, nil
}

var linearCommands = []string{"INCR", "INCR", "INCR", "INCRBY", "INCRBY", "GET", "GET", "GET", "SET",
	"DEL", "GETDEL", "SETNX", "SETGET", "GETSET", "EXISTS", "EXPIRE", "EXPIRE NOW", "PERSIST", "STRLEN"}

// hotCommands leave counters mostly as they are, so that they live long enough to be promoted.
var hotCommands = append(slices.Repeat([]string{"INCR", "INCR", "INCRBY", "GET"}, 40), linearCommands...)

// randomInput is the next command of a connection. The values of its SETs are its own, so that a GET
// says whose it saw.
func randomInput(rng *rand.Rand, id int, prefix string, names []string) input {
	in := input{name: names[rng.IntN(len(names))], key: fmt.Sprintf("%s:%d", prefix, rng.IntN(3))}
	switch in.name {
	case "INCRBY":
		in.delta = rng.Int64N(100) + 1
	case "SET", "SETNX", "SETGET", "GETSET":
		in.value = strconv.FormatInt(rng.Int64N(1<<20)*100+int64(id), 10)
		if rng.IntN(10) == 0 {
			in.value = "word" + in.value
		}
	}
	return in
}

// describe prints a short history for a failed test.
func describe(history []porcupine.Operation) string {
	var b bytes.Buffer
	for i, op := range history {
		if i == 3000 {
			return b.String() + "...\n"
		}
		fmt.Fprintf(&b, "%d\t%d..%d\t%s\n", op.ClientId, op.Call, op.Return,
			redisKeys.DescribeOperation(op.Input, op.Output))
	}
	return b.String()
}

// TestWrongHistoriesAreFound is the negative control: histories that Redis cannot produce, made by
// hand and by changing one answer of a real one.
func TestWrongHistoriesAreFound(t *testing.T) {
	incr := input{name: "INCR", key: "k"}
	op := func(id int, in input, call int64, out output, ret int64) porcupine.Operation {
		return porcupine.Operation{ClientId: id, Input: in, Call: call, Output: out, Return: ret}
	}
	number := func(n int64) output { return output{Kind: ':', N: n} }
	ok := output{Kind: '+', S: "OK"}
	for name, history := range map[string][]porcupine.Operation{
		"a number given out twice": {op(0, incr, 0, number(1), 10), op(1, incr, 5, number(1), 15)},
		"a lost increment": {op(0, incr, 0, number(1), 10), op(1, incr, 5, number(2), 15),
			op(0, input{name: "GET", key: "k"}, 20, output{Kind: '$', S: "1"}, 30)},
		"a stale read": {op(0, input{name: "SET", key: "k", value: "a"}, 0, ok, 10),
			op(0, input{name: "SET", key: "k", value: "b"}, 20, ok, 30),
			op(1, input{name: "GET", key: "k"}, 40, output{Kind: '$', S: "a"}, 50)},
		"deleted twice": {op(0, incr, 0, number(1), 10),
			op(1, input{name: "DEL", key: "k"}, 20, number(1), 30),
			op(2, input{name: "DEL", key: "k"}, 20, number(1), 30)},
	} {
		if result := porcupine.CheckOperationsTimeout(redisKeys, history, checkTimeout); result != porcupine.Illegal {
			t.Errorf("%s: %v, want %v", name, result, porcupine.Illegal)
		}
	}

	rng := newRand(t)
	p := start(t, plainServer, t.TempDir(), "--io-threads", "2")
	real := recordHistory(p, rng, 6, 60, "cell", linearCommands)
	if result := porcupine.CheckOperationsTimeout(redisKeys, real, checkTimeout); result != porcupine.Ok {
		t.Fatalf("the real history is %v:\n%s", result, describe(real))
	}
	for i := range real {
		out := real[i].Output.(output)
		if out.Kind != ':' || real[i].Input.(input).name == "DEL" {
			continue
		}
		real[i].Output = output{Kind: ':', N: out.N + 1<<40}
		if result := porcupine.CheckOperationsTimeout(redisKeys, real, checkTimeout); result != porcupine.Illegal {
			t.Fatalf("operation %d was changed, and the history is %v:\n%s", i, result, describe(real))
		}
		return
	}
	t.Fatal("the history has no integer")
}
