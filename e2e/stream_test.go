package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

// An ack is a reply and when it was read. There are millions of them.
type ack struct {
	reply
	at moment
}

// A moment is a time of these tests' monotonic clock, in nanoseconds.
type moment int64

var began = time.Now()

func now() moment { return moment(time.Since(began)) }

func (m moment) since(earlier moment) time.Duration { return time.Duration(m - earlier) }

// wall is the time of day.
func (m moment) wall() time.Time { return began.Add(time.Duration(m)) }

// pace is how a stream sends its commands.
type pace int

const (
	oneByOne  pace = iota // the next command waits for the reply
	inBatches             // a pipeline waits for the replies of the one before
	streaming             // replies are read while more is sent
)

const (
	maxDepth = 200
	// streamWindow bounds what a streaming connection has sent and not been answered.
	streamWindow = 2000
)

// A stream sends a sequence of commands over one connection.
type stream struct {
	c    *client
	pace pace
	rng  *rand.Rand
	// command appends command i. It is called once for each i, in order, before it is sent.
	command func(dst []byte, i int) []byte
	limit   int // number of commands; 0: until the connection ends
	// after, if set, runs after each reply; it has the command of another connection as its purpose.
	after func(reply) error

	sent  int   // commands given to the connection, whether or not they arrived
	acks  []ack // of the first len(acks) commands
	err   error // why the connection ended, if it did not end of itself
	ended moment
}

// newStream makes a stream of its own connection.
func newStream(p *process, rng *rand.Rand, pace pace, command func(dst []byte, i int) []byte) *stream {
	return &stream{c: p.dial(), pace: pace, rng: fork(rng), command: command}
}

// run sends until the limit, or until the connection breaks. Without a limit only bytes that are no
// reply, and a server that answers nothing for long, leave an err.
func (s *stream) run() {
	if s.pace == streaming {
		s.runStreaming()
	} else {
		s.runInTurn()
	}
	s.ended = now()
	switch {
	case errors.Is(s.err, errNoReply) || errors.Is(s.err, os.ErrDeadlineExceeded):
		s.err = fmt.Errorf("after %d commands and %d replies: %w", s.sent, len(s.acks), s.err)
	case len(s.acks) < s.limit:
		s.err = fmt.Errorf("the connection broke after %d commands and %d replies: %w",
			s.sent, len(s.acks), s.err)
	default:
		s.err = nil // the server is gone
	}
}

// next appends a pipeline to b; it is empty at the end.
func (s *stream) next(b []byte) ([]byte, int) {
	depth := 1
	if s.pace != oneByOne {
		depth += s.rng.IntN(maxDepth)
	}
	if s.limit > 0 {
		depth = min(depth, s.limit-s.sent)
	}
	for range depth {
		b = s.command(b, s.sent)
		s.sent++
	}
	return b, depth
}

func (s *stream) readOne(at *moment) error {
	if s.c.r.Buffered() == 0 || len(s.acks)%64 == 0 {
		*at = 0
	}
	r, err := readReply(s.c.r)
	if err != nil {
		return err
	}
	if *at == 0 {
		*at = now()
	}
	s.acks = append(s.acks, ack{r, *at})
	if s.after != nil {
		return s.after(r)
	}
	return nil
}

func (s *stream) runInTurn() {
	var b []byte
	var at moment
	for {
		var depth int
		b, depth = s.next(b[:0])
		if depth == 0 {
			return
		}
		if _, s.err = s.c.conn.Write(b); s.err != nil {
			return
		}
		for range depth {
			if s.err = s.readOne(&at); s.err != nil {
				return
			}
		}
	}
}

// runStreaming reads in this goroutine and sends in another.
func (s *stream) runStreaming() {
	sent := make(chan int, 64) // depths of the pipelines that were sent
	room := make(chan struct{}, streamWindow/maxDepth)
	broken := make(chan struct{})
	go func() {
		defer close(sent)
		var b []byte
		for {
			select {
			case room <- struct{}{}:
			case <-broken:
				return
			}
			var depth int
			b, depth = s.next(b[:0])
			if depth == 0 {
				return
			}
			sent <- depth
			if _, err := s.c.conn.Write(b); err != nil {
				return
			}
		}
	}()
	var at moment
	for depth := range sent {
		for range depth {
			if s.err != nil {
				break
			}
			if s.err = s.readOne(&at); s.err != nil {
				close(broken)
			}
		}
		if s.err == nil {
			<-room
		}
	}
}
