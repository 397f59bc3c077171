package server

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"countd/engine"
)

// finishTimeout bounds how long Shutdown waits for replies that are on their way.
const finishTimeout = 2 * time.Second

// readBufferSize is what a loop reads from a connection at a time, and so how much work one
// connection can give it at a time.
const readBufferSize = 64 << 10

// Serve listens and serves until Shutdown. It returns an error where it cannot listen, or where
// the event loops fail.
func (srv *Server) Serve() error {
	defer close(srv.served)
	listeners, err := srv.listen()
	if err != nil {
		return err
	}
	srv.mu.Lock()
	for _, ln := range listeners {
		srv.mu.addrs = append(srv.mu.addrs, ln.Addr().String())
	}
	srv.mu.Unlock()
	go srv.tickLoop()
	err = srv.transport.serve(listeners)
	srv.loading.Wait() // who stops us closes the engine next
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	if !srv.stopping.Load() {
		return errors.New("server: the event loops ended")
	}
	return nil
}

// eventLoops is how many event loops --io-threads n stands for. On two cores, with the clients on
// the same machine, a second loop costs more than it brings unless pipelines are deep.
func eventLoops(n int) int {
	switch cpus := runtime.NumCPU(); {
	case n > 0:
		return n
	case cpus <= 2:
		return 1
	default:
		return cpus
	}
}

// Ready is closed when Serve listens.
func (srv *Server) Ready() <-chan struct{} { return srv.booted }

// Shutdown stops serving: replies that wait for the disk or for their client are finished, within
// finishTimeout, and Serve returns. It returns when Serve has; it must not be called in a loop.
func (srv *Server) Shutdown() {
	srv.shutdown()
	<-srv.served
}

// shutdown begins a Shutdown and returns at once.
func (srv *Server) shutdown() { srv.stopOnce.Do(func() { go srv.stop() }) }

func (srv *Server) stop() {
	select {
	case <-srv.booted:
	case <-srv.served:
		return
	}
	srv.stopping.Store(true)
	deadline := time.Now().Add(finishTimeout)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for _, l := range srv.loops() {
			done := make(chan struct{})
			l.post(func() { l.finish(); close(done) })
			<-done
		}
		for srv.drains.Load() > 0 && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}
	}()
	select {
	case <-finished:
	case <-time.After(finishTimeout):
	}
	srv.transport.stop() // Serve may return before this does
}

// finish makes durable what held replies wait for and sends them.
func (l *loop) finish() {
	need := engine.Epoch(0)
	for _, s := range l.held {
		need = max(need, l.waitsFor(s))
	}
	if need > 0 {
		_ = l.srv.durable.Commit(need) // release sees whether it worked
		l.release()
	}
}

// tickLoop runs tick until Serve returns.
func (srv *Server) tickLoop() {
	ticker := time.NewTicker(rateInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			srv.tick()
		case <-srv.served:
			return
		}
	}
}

// tick runs ten times a second: it samples the rates, closes idle clients, and has loops look again
// whose replies are held for long.
func (srv *Server) tick() {
	srv.rates.sample(srv.stats(), clock())
	srv.rates.ticks++
	everySecond := srv.rates.ticks%int(time.Second/rateInterval) == 0
	timeout := srv.cfg.Int("timeout")
	for _, l := range srv.loops() {
		if l.need.Load() != 0 {
			l.postSettle()
		}
		if l.stale.Load() {
			l.post(l.publishAll)
		}
		if everySecond && (timeout > 0 || srv.outputLimit.Load().SoftBytes > 0) {
			l.post(func() { l.sweep(timeout * 1000) })
		}
	}
}

// sweep closes the clients that were idle for longer than timeoutMs, unless that is 0, and those
// that leave too many replies unread.
func (l *loop) sweep(timeoutMs int64) {
	now := l.srv.nowMs()
	for _, s := range l.mu.sessions {
		switch {
		case s.drain != nil:
			l.send(s)
		case timeoutMs > 0 && now-s.lastMs > timeoutMs && len(s.out) == 0 && !s.more && !s.parked && !s.resting:
			l.srv.log.Debug("closing idle client", "client", s.id, "addr", s.addr)
			l.close(s)
		}
	}
}
