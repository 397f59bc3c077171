package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// stallTimeout is how long past its end a phase waits for replies before it calls the server stuck.
const stallTimeout = 30 * time.Second

// phase is one timed stretch of a load, shared by all clients.
type phase struct {
	pipeline int64
	limit    int64         // requests to send; 0: until end
	end      time.Time     // where limit is 0
	start    time.Time     // of the open loop's schedule
	interval time.Duration // between two batches of one client; 0: closed loop
	conns    int
	latency  *latencies

	claimed atomic.Int64 // requests handed to clients; they add to it
	stop    atomic.Bool  // set once to end the phase early: an interrupt, or another client's error
}

// newPhase makes a phase that begins now.
func newPhase(o *options, duration time.Duration, limit int64) *phase {
	p := &phase{pipeline: int64(o.pipeline), limit: limit, start: time.Now(), conns: o.conns,
		latency: newLatencies(o.threads)}
	p.end = p.start.Add(duration)
	if o.rate > 0 {
		p.interval = time.Duration(float64(o.pipeline*o.conns) / o.rate * float64(time.Second))
	}
	return p
}

// claim returns how many requests the caller may send next, 0 where the phase is over.
func (p *phase) claim() int {
	if p.stop.Load() {
		return 0
	}
	if p.limit == 0 {
		if time.Now().After(p.end) {
			return 0
		}
		return int(p.pipeline)
	}
	before := p.claimed.Add(p.pipeline) - p.pipeline
	return int(max(0, min(p.pipeline, p.limit-before)))
}

// firstTurn is when a client of an open loop sends its first batch: the clients take turns.
func (p *phase) firstTurn(index int) time.Time {
	return p.start.Add(p.interval * time.Duration(index) / time.Duration(p.conns))
}

// sleepUntil waits for a turn and reports false where the phase ends before it. A turn that has
// passed is taken at once.
func (p *phase) sleepUntil(turn time.Time) bool {
	if p.limit == 0 && turn.After(p.end) {
		return false
	}
	for wait := time.Until(turn); wait > 0; wait = time.Until(turn) {
		time.Sleep(min(wait, 100*time.Millisecond)) // in pieces, to see an interrupt
		if p.stop.Load() {
			return false
		}
	}
	return true
}

// explain words an I/O error; nil where it comes from the end of the phase.
func (p *phase) explain(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		if p.stop.Load() {
			return nil
		}
		return fmt.Errorf("the server has not answered for %v", stallTimeout)
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return fmt.Errorf("the server closed the connection: %w", err)
}

// run runs the clients until the phase ends and returns the first error and how long it took.
func (p *phase) run(clients []*client) (time.Duration, error) {
	var wg sync.WaitGroup
	var once sync.Once
	var failed error
	for _, c := range clients {
		c.done.Store(0)
		if p.limit == 0 {
			c.conn.SetDeadline(p.end.Add(stallTimeout))
		} else {
			c.conn.SetDeadline(time.Time{})
		}
		wg.Go(func() {
			if err := c.run(p); err != nil {
				once.Do(func() { failed = err })
				p.interrupt(clients)
			}
		})
	}
	wg.Wait()
	return time.Since(p.start), failed
}

// interrupt ends the phase now, also for clients that wait for replies.
func (p *phase) interrupt(clients []*client) {
	p.stop.Store(true)
	for _, c := range clients {
		c.conn.SetDeadline(time.Now())
	}
}
