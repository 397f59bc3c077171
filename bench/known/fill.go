package known

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"countd/bench/resp"
)

// Config says which server and how.
type Config struct {
	Address string
	Keys    uint64 // 1 to MaxKeys
	Conns   int    // connections, at least 1
	Depth   int    // commands that a connection sends at once, at least 1
}

// Fill makes all counters. The server must not have any key yet; every reply is compared with the value.
// Progress goes to out each second. The end of ctx ends it with an error.
func Fill(ctx context.Context, c Config, out io.Writer) error {
	if err := checkSize(c.Address, 0, out); err != nil {
		return err
	}
	var next, done atomic.Uint64
	stop := progress(out, &done, c.Keys)
	defer stop()
	return parallel(c, func(conn *resp.Conn) error {
		name := make([]byte, 0, 32)
		depth := uint64(c.Depth)
		for {
			from := next.Add(depth) - depth
			to := min(from+depth, c.Keys)
			if from >= to {
				return nil
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			for i := from; i < to; i++ {
				conn.Array(3)
				conn.Words("INCRBY")
				name = appendName(name[:0], i)
				conn.Word(name)
				conn.Number(Value(i))
			}
			if err := conn.Send(); err != nil {
				return err
			}
			for i := from; i < to; i++ {
				r, err := conn.Read()
				if err != nil {
					return err
				}
				if !r.Is(resp.Integer(Value(i))) {
					return fmt.Errorf("INCRBY %s %d: %v", appendName(nil, i), Value(i), r)
				}
			}
			done.Add(to - from)
		}
	})
}

// parallel runs work on c.Conns connections and returns the first error.
func parallel(c Config, work func(*resp.Conn) error) error {
	var wg sync.WaitGroup
	var once sync.Once
	var failed error
	for range c.Conns {
		conn, err := resp.Dial(c.Address)
		if err != nil {
			once.Do(func() { failed = err })
			break
		}
		wg.Go(func() {
			defer conn.Close()
			if err := work(conn); err != nil {
				once.Do(func() { failed = err })
			}
		})
	}
	wg.Wait()
	return failed
}

// progress prints how many of all keys are done, each second until stop is called.
func progress(out io.Writer, done *atomic.Uint64, all uint64) (stop func()) {
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		began := time.Now()
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for last := uint64(0); ; {
			select {
			case <-quit:
				return
			case <-tick.C:
			}
			now := done.Load()
			fmt.Fprintf(out, "%4.0f s  %d of %d keys, %d/s\n", time.Since(began).Seconds(), now, all, now-last)
			last = now
		}
	})
	return func() {
		close(quit)
		wg.Wait()
	}
}
