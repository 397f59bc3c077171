package soak

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"countd/bench/resp"
	"countd/bench/zipf"
)

// weights are how often each command comes, of 1000.
var weights = [opKinds]int{opIncr: 540, opGet: 200, opSet: 80, opDel: 30, opPFAdd: 35, opPFCount: 15,
	opHot: 100}

const (
	hotName      = "soak:hot"
	sentinelName = "soak:sentinel" // holds the number of the cycle
	sketchAmong  = 1000            // counters for each sketch
	// maxElements is when a sketch is deleted. countd keeps 25 bits of the hash of each element while a
	// sketch is small, and in those the numbers from 0 to 1189 are all different (hll/FORMAT.md): a
	// sketch of them must be counted exactly.
	maxElements = 1100
	maxValue    = 1 << 50 // of SET; far from where increments would overflow
)

// writer owns a connection and the keys that only it writes. One goroutine at a time.
type writer struct {
	cfg    *Config
	clock  func() millis
	faults *faults
	hot    *hot
	// killed is set before the server is killed: an error of the connection is none from then on.
	killed *atomic.Bool

	id       int
	r        *rand.Rand
	keys     *zipf.Keys
	counters int     // table[:counters]; the others are sketches
	table    []state // as of the last reply
	journal  journal

	conn    *resp.Conn
	name    []byte // of a key, while a request is built
	batch   []op
	replied int    // commands of the batch that were answered
	sent    millis // when the batch was
	lastHot int64

	latency *hdrhistogram.Histogram // of each command in its batch, in ns
	done    atomic.Int64            // commands that were answered; read for the progress line
}

// newWriter makes writer id of cfg.Writers.
func newWriter(cfg *Config, id int, clock func() millis, f *faults, h *hot, killed *atomic.Bool) *writer {
	w := &writer{cfg: cfg, id: id, clock: clock, faults: f, hot: h, killed: killed,
		r: rand.New(rand.NewPCG(cfg.Seed, uint64(id)))}
	w.counters = cfg.Keys / cfg.Writers
	w.table = make([]state, w.counters+max(1, w.counters/sketchAmong))
	w.keys = zipf.New(w.r, cfg.ZipfS, uint64(w.counters))
	w.journal.keep = cfg.mayLose()
	w.latency = hdrhistogram.New(100, int64(time.Minute), 3)
	return w
}

// appendName appends the name of a key of the table.
func (w *writer) appendName(dst []byte, key uint32) []byte {
	if int(key) >= w.counters {
		dst = append(dst, "soak:sketch:"...)
		key -= uint32(w.counters)
	} else {
		dst = append(dst, "soak:count:"...)
	}
	return strconv.AppendUint(dst, uint64(int(key)*w.cfg.Writers+w.id), 10)
}

// fill increments every counter once.
func (w *writer) fill() error {
	for key := 0; key < w.counters; {
		w.batch = w.batch[:0]
		for ; key < w.counters && len(w.batch) < w.cfg.Depth; key++ {
			w.batch = append(w.batch, op{kind: opIncr, key: uint32(key), arg: 1 + w.r.Int64N(1000)})
		}
		if err := w.exchange(); err != nil {
			return err
		}
	}
	return nil
}

// load sends batches until the server is killed, or something is wrong.
func (w *writer) load() error {
	w.lastHot = 0
	for {
		w.batch = w.batch[:0]
		for range 1 + w.r.IntN(w.cfg.Depth) {
			w.batch = append(w.batch, w.draw())
		}
		began := time.Now()
		err := w.exchange()
		switch {
		case err != nil && w.killed.Load():
			return nil
		case err != nil:
			return err
		}
		_ = w.latency.RecordValues(min(int64(time.Since(began)), int64(time.Minute)), int64(len(w.batch)))
	}
}

// draw draws the next command of the batch.
func (w *writer) draw() op {
	o, at := op{}, w.r.IntN(1000)
	for at >= weights[o.kind] {
		at -= weights[o.kind]
		o.kind++
	}
	switch o.kind {
	case opHot:
		o.key = hotKey
		return o
	case opPFAdd, opPFCount:
		o.key = uint32(w.counters + w.r.IntN(len(w.table)-w.counters))
	default:
		o.key = uint32(w.keys.Next())
	}
	switch o.kind {
	case opIncr:
		o.arg = 1 + w.r.Int64N(1000)
	case opSet:
		o.arg = 1 + w.r.Int64N(maxValue)
		o.ttl = w.drawTTL()
	case opPFAdd:
		n := w.elements(o.key)
		if n >= maxElements {
			return op{kind: opDel, key: o.key}
		}
		o.arg = n
		if n > 0 && w.r.IntN(4) == 0 {
			o.arg = w.r.Int64N(n)
		}
	}
	return o
}

// drawTTL is mostly a few seconds, and some that outlive the next crash.
func (w *writer) drawTTL() millis {
	seconds := int(w.cfg.MaxTTL / time.Second)
	switch w.r.IntN(10) {
	case 0:
		return millis(1000 * (1 + w.r.IntN(seconds)))
	case 1, 2, 3:
		return millis(1000 * (1 + w.r.IntN(min(seconds, 4))))
	}
	return millis(50 + w.r.IntN(1000*min(seconds, 4)))
}

// elements is how many elements a sketch has behind the batch so far.
func (w *writer) elements(key uint32) int64 {
	n := w.table[key].value
	for _, o := range w.batch {
		switch {
		case o.key != key:
		case o.kind == opDel:
			n = 0
		case o.kind == opPFAdd && o.arg == n:
			n++
		}
	}
	return n
}

// exchange sends the batch and checks its replies.
func (w *writer) exchange() error {
	hots := int64(0)
	for _, o := range w.batch {
		w.request(o)
		if o.kind == opHot {
			hots++
		}
	}
	w.hot.sent.Add(hots)
	w.replied = 0
	w.sent = w.clock()
	if err := w.conn.Send(); err != nil {
		return err
	}
	for _, o := range w.batch {
		r, err := w.conn.Read()
		if err != nil {
			return err
		}
		if !w.take(o, r) {
			return errWrong
		}
		w.replied++
	}
	w.done.Add(int64(len(w.batch)))
	return nil
}

// request appends o to what is sent.
func (w *writer) request(o op) {
	c := w.conn
	w.name = w.appendName(w.name[:0], o.key)
	switch o.kind {
	case opIncr:
		c.Array(3)
		c.Words("INCRBY")
		c.Word(w.name)
		c.Number(o.arg)
	case opGet, opDel, opPFCount:
		c.Array(2)
		c.Words([...]string{opGet: "GET", opDel: "DEL", opPFCount: "PFCOUNT"}[o.kind])
		c.Word(w.name)
	case opSet:
		c.Array(5)
		c.Words("SET")
		c.Word(w.name)
		c.Number(o.arg)
		if o.ttl%1000 == 0 {
			c.Words("EX")
			c.Number(int64(o.ttl / 1000))
		} else {
			c.Words("PX")
			c.Number(int64(o.ttl))
		}
	case opPFAdd:
		c.Array(3)
		c.Words("PFADD")
		c.Word(w.name)
		c.Number(o.arg)
	case opHot:
		c.Array(2)
		c.Words("INCR", hotName)
	}
}

// take compares a reply with what it must be and notes what the key holds now.
func (w *writer) take(o op, r resp.Reply) bool {
	now := w.clock()
	if o.kind == opHot {
		if r.Kind != ':' || r.N <= w.lastHot || !w.hot.take(r.N) {
			w.faults.add("INCR %s: %v; the last of this connection was %d, the cycle began at %d with %d "+
				"sent since", hotName, r, w.lastHot, w.hot.base, w.hot.sent.Load())
			return false
		}
		w.lastHot = r.N
		w.journal.add(entry{key: hotKey, acked: now})
		return true
	}
	s := w.table[o.key]
	p := s.at(w.sent, now)
	for _, isThere := range []bool{true, false} {
		if isThere && p == gone || !isThere && p == there {
			continue
		}
		next, want := o.apply(s, isThere, w.sent, now)
		if r.Is(want) {
			if next != s {
				w.journal.add(entry{key: o.key, acked: now, before: s})
			}
			w.table[o.key] = next
			return true
		}
	}
	w.faults.add("%s: %v, expected of a key that holds %v (command %d of a batch of %d, sent at %.3f s, "+
		"answered at %.3f s)", w.describe(o), r, s, w.replied, len(w.batch), float64(w.sent)/1e3,
		float64(now)/1e3)
	return false
}

// describe is a command as a person would type it.
func (w *writer) describe(o op) string {
	name := [...]string{opIncr: "INCRBY", opGet: "GET", opSet: "SET", opDel: "DEL", opPFAdd: "PFADD",
		opPFCount: "PFCOUNT"}[o.kind]
	return fmt.Sprintf("%s %s %d", name, w.appendName(nil, o.key), o.arg)
}
