package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sort"
	"strconv"
	"strings"
)

// shapes are the commands a mix can name. {counter}, {string} and {sketch} are keys, of one space
// for each kind of value so that no command meets a value of the wrong kind; {value} is --value-size
// bytes; {elem} is a random element of a set of 10^8.
var shapes = map[string]string{
	"PING":        "PING",
	"INCR":        "INCR {counter}",
	"DECR":        "DECR {counter}",
	"INCRBY":      "INCRBY {counter} 1",
	"DECRBY":      "DECRBY {counter} 1",
	"INCRBYFLOAT": "INCRBYFLOAT {float} 0.5",
	"GET":         "GET {counter}",
	"MGET":        "MGET" + strings.Repeat(" {counter}", 5),
	"EXISTS":      "EXISTS {counter}",
	"TTL":         "TTL {counter}",
	"EXPIRE":      "EXPIRE {counter} 3600",
	"DEL":         "DEL {counter}",
	"SET":         "SET {string} {value}",
	"SETNX":       "SETNX {string} {value}",
	"GETSET":      "GETSET {string} {value}",
	"MSET":        "MSET" + strings.Repeat(" {string} {value}", 5),
	"STRLEN":      "STRLEN {string}",
	"PFADD":       "PFADD {sketch} {elem}",
	"PFCOUNT":     "PFCOUNT {sketch}",
}

// prefixes are the key spaces.
var prefixes = map[string]string{
	"{key}": "key:", "{counter}": "key:", "{string}": "str:", "{sketch}": "hll:", "{float}": "flt:",
}

const (
	elemToken  = "{elem}"
	valueToken = "{value}"
	digits     = 12 // of a key and an element: every request of a command has the same length
	elements   = 100_000_000
)

func commandNames() string {
	var names []string
	for name := range shapes {
		names = append(names, name)
	}
	sort.Strings(names)
	return strings.Join(names, " ")
}

// template is one command as it goes over the wire, with the places of the digits that change.
type template struct {
	bytes []byte
	keys  []int // offsets of the digits of each key
	elems []int // and of each element
}

// newTemplate encodes a command. Tokens inside of a word are replaced too.
func newTemplate(words []string, valueLen int) template {
	var t template
	zeros := strings.Repeat("0", digits)
	t.bytes = fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, w := range words {
		w = strings.ReplaceAll(w, valueToken, strings.Repeat("x", valueLen))
		// Lengths first: every key and element is as long as zeros.
		var places []int
		var isKey []bool
		for {
			at, token := nextToken(w)
			if at < 0 {
				break
			}
			prefix := prefixes[token]
			w = w[:at] + prefix + zeros + w[at+len(token):]
			places = append(places, at+len(prefix))
			isKey = append(isKey, token != elemToken)
		}
		t.bytes = append(strconv.AppendInt(append(t.bytes, '$'), int64(len(w)), 10), "\r\n"...)
		for i, p := range places {
			if isKey[i] {
				t.keys = append(t.keys, len(t.bytes)+p)
			} else {
				t.elems = append(t.elems, len(t.bytes)+p)
			}
		}
		t.bytes = append(append(t.bytes, w...), "\r\n"...)
	}
	return t
}

// nextToken finds the first key or element token of w; at is -1 where there is none.
func nextToken(w string) (at int, token string) {
	at = strings.Index(w, elemToken)
	token = elemToken
	for name := range prefixes {
		if i := strings.Index(w, name); i >= 0 && (at < 0 || i < at) {
			at, token = i, name
		}
	}
	return at, token
}

// mix is the commands of a load with their weights. It is shared and read-only.
type mix struct {
	templates []template
	upTo      []uint64 // running sums of the weights; the last is their total
}

// parseMix reads "INCRBY=80,GET=15,PFADD=5"; a weight that is left out is 1.
func parseMix(s string, valueLen int) (*mix, error) {
	m := &mix{}
	for _, part := range strings.Split(s, ",") {
		name, weightText, weighted := strings.Cut(strings.TrimSpace(part), "=")
		weight := uint64(1)
		if weighted {
			n, err := strconv.ParseUint(weightText, 10, 32)
			if err != nil || n == 0 {
				return nil, usagef("--mix: the weight '%s' of %s is not a number above 0", weightText, name)
			}
			weight = n
		}
		shape, ok := shapes[strings.ToUpper(name)]
		if !ok {
			return nil, usagef("--mix: unknown command '%s'; known are %s", name, commandNames())
		}
		m.add(newTemplate(strings.Fields(shape), valueLen), weight)
	}
	return m, nil
}

func (m *mix) add(t template, weight uint64) {
	if n := len(m.upTo); n > 0 {
		weight += m.upTo[n-1]
	}
	m.templates = append(m.templates, t)
	m.upTo = append(m.upTo, weight)
}

// pick draws a command.
func (m *mix) pick(r *rand.Rand) *template {
	if len(m.templates) == 1 {
		return &m.templates[0]
	}
	x := r.Uint64N(m.upTo[len(m.upTo)-1])
	i := 0
	for x >= m.upTo[i] {
		i++
	}
	return &m.templates[i]
}

// constant reports whether all requests are the same bytes when all keys are the same.
func (m *mix) constant() bool {
	return len(m.templates) == 1 && len(m.templates[0].elems) == 0
}

// newMix makes the mix of the options: their command, or their mix.
func newMix(o *options) (*mix, error) {
	if len(o.command) == 0 {
		return parseMix(o.mix, o.valueLen)
	}
	m := &mix{}
	m.add(newTemplate(o.command, o.valueLen), 1)
	t := &m.templates[0]
	if bytes.Contains(t.bytes, []byte("{")) && len(t.keys)+len(t.elems) == 0 {
		return nil, usagef("the command's tokens are {key}, {elem} and {value}")
	}
	return m, nil
}
