package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// generator is the connections of a load; its phases run one after the other.
type generator struct {
	o       options
	clients []*client
	present atomic.Pointer[phase] // for the interrupt and the progress line; nil between phases

	interrupted atomic.Bool // set once, before the present phase is told; no phase begins after it
}

var errInterrupted = errors.New("interrupted")

// connect opens all connections.
func connect(o options) (*generator, error) {
	m, err := newMix(&o)
	if err != nil {
		return nil, err
	}
	g := &generator{o: o}
	seq := new(atomic.Uint64)
	for i := range o.conns {
		c, err := dial(&o, m, i, seq)
		if err != nil {
			g.close()
			return nil, err
		}
		g.clients = append(g.clients, c)
	}
	return g, nil
}

func (g *generator) close() {
	for _, c := range g.clients {
		c.conn.Close()
	}
}

// warmUp loads the server for a while and forgets the figures.
func (g *generator) warmUp() error {
	if g.o.warmup == 0 || g.o.keys == "seq" {
		return nil
	}
	_, err := g.runPhase(newPhase(&g.o, g.o.warmup, 0))
	return err
}

// measure runs the measured phase.
func (g *generator) measure() (*report, error) {
	for _, c := range g.clients {
		c.replies.errors, c.replies.firstError = 0, nil
	}
	p := newPhase(&g.o, g.o.duration, g.o.requests)
	took, err := g.runPhase(p)
	if err != nil {
		return nil, err
	}
	return newReport(&g.o, g.clients, p.latency.total(), took), nil
}

func (g *generator) runPhase(p *phase) (time.Duration, error) {
	g.present.Store(p)
	defer g.present.Store(nil)
	if g.interrupted.Load() {
		return 0, errInterrupted
	}
	return p.run(g.clients)
}

// start makes the generator use the cores it was given, connects, and begins to watch; stop undoes
// all of it.
func start(ctx context.Context, o options, stderr io.Writer) (g *generator, stop func(), err error) {
	cores := runtime.GOMAXPROCS(o.threads)
	if g, err = connect(o); err != nil {
		runtime.GOMAXPROCS(cores)
		return nil, nil, err
	}
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { g.watch(ctx, stderr, done) })
	return g, func() {
		close(done)
		watching.Wait() // no progress line after the report
		g.close()
		runtime.GOMAXPROCS(cores)
	}, nil
}

// load connects, warms up, measures, and closes. Progress goes to stderr. The end of ctx ends the
// measurement early; what was measured is reported.
func load(ctx context.Context, o options, stderr io.Writer) (*report, error) {
	g, stop, err := start(ctx, o, stderr)
	if err != nil {
		return nil, err
	}
	defer stop()
	if err := g.warmUp(); err != nil {
		return nil, err
	}
	return g.measure()
}

// watch prints a line each second and ends the present phase when ctx ends.
func (g *generator) watch(ctx context.Context, stderr io.Writer, done <-chan struct{}) {
	interrupted := ctx.Done()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var last int64
	var lastPhase *phase
	for {
		select {
		case <-done:
			return
		case <-interrupted:
			g.interrupted.Store(true)
			if p := g.present.Load(); p != nil {
				p.interrupt(g.clients)
			}
			interrupted = nil // once
		case <-tick.C:
			p := g.present.Load()
			if p == nil {
				continue
			}
			if p != lastPhase {
				last, lastPhase = 0, p
			}
			now := g.done()
			fmt.Fprintf(stderr, "%4.0f s  %12s requests  %11s/s\n", time.Since(p.start).Seconds(),
				thousands(now), thousands(now-last))
			last = now
		}
	}
}

// done counts the replies of the present phase.
func (g *generator) done() (n int64) {
	for _, c := range g.clients {
		n += c.done.Load()
	}
	return n
}
