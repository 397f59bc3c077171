package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"sync/atomic"
	"time"
)

// dialTimeout bounds a connect, and AUTH after it.
const dialTimeout = 5 * time.Second

// client owns one connection and sends its batches, one after the other. One goroutine at a time.
type client struct {
	conn    net.Conn
	batch   *batch
	replies replyReader
	in      []byte
	index   int // 0 to conns-1: spreads the clients of an open loop over the interval

	done atomic.Int64 // replies of the present phase; written by the client, read for progress
	_    [64]byte     // keeps the next client's counter off this cache line
}

// dial connects client number index.
func dial(o *options, m *mix, index int, seq *atomic.Uint64) (*client, error) {
	r := rand.New(rand.NewPCG(o.seed, uint64(index)))
	k, err := newKeys(o, r, seq)
	if err != nil {
		return nil, err
	}
	conn, err := net.DialTimeout("tcp", o.address(), dialTimeout)
	if err != nil {
		return nil, fmt.Errorf("cannot reach a server: %w; start one, or say where it is with --host and --port",
			err)
	}
	c := &client{conn: conn, batch: newBatch(m, k, r), in: make([]byte, 64<<10), index: index}
	if o.password != "" {
		if err := c.auth(o.password); err != nil {
			conn.Close()
			return nil, err
		}
	}
	return c, nil
}

func (c *client) auth(password string) error {
	t := newTemplate([]string{"AUTH", password}, 0)
	c.conn.SetDeadline(time.Now().Add(dialTimeout))
	defer c.conn.SetDeadline(time.Time{})
	if _, err := c.conn.Write(t.bytes); err != nil {
		return err
	}
	if err := c.await(1, func(int) {}); err != nil {
		return err
	}
	if c.replies.errors > 0 {
		return fmt.Errorf("the server refused the password: %s", c.replies.firstError)
	}
	return nil
}

// await reads until n replies came; got hears of each part of them.
func (c *client) await(n int, got func(replies int)) error {
	for n > 0 {
		length, err := c.conn.Read(c.in)
		if err != nil {
			return err
		}
		replies, err := c.replies.feed(c.in[:length])
		if err != nil {
			return err
		}
		if replies > n {
			return fmt.Errorf("the server sent %d more replies than requests", replies-n)
		}
		if replies > 0 {
			got(replies)
		}
		n -= replies
	}
	return nil
}

// run works batch by batch until the phase ends.
func (c *client) run(p *phase) error {
	turn := p.firstTurn(c.index)
	sent := time.Now()
	record := func(replies int) {
		now := time.Now()
		p.latency.record(c.index, now.Sub(sent), replies)
		c.done.Add(int64(replies))
	}
	for {
		n := p.claim()
		if n == 0 {
			return nil
		}
		if p.interval > 0 {
			if sent = turn; !p.sleepUntil(turn) {
				return nil
			}
			turn = turn.Add(p.interval)
		} else {
			sent = time.Now()
		}
		if _, err := c.conn.Write(c.batch.next(n)); err != nil {
			return p.explain(err)
		}
		// Let the other clients write before this one looks for its replies: they are then likely
		// to be there, and a read that finds nothing and a wake-up are saved.
		runtime.Gosched()
		if err := c.await(n, record); err != nil {
			return p.explain(err)
		}
	}
}
