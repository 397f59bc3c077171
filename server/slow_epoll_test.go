//go:build linux && !gnet

package server

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestARestingSessionLeavesItsInputInTheSocket: what a client sends while its session rests is bounded, and
// is read in the end, also behind the end of its sending.
func TestARestingSessionLeavesItsInputInTheSocket(t *testing.T) {
	m := newSlowMerger(t)
	c := dial(t, m.addr)
	end := m.fill(c, "a")
	const n = 200_000
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		c.send(strings.Repeat("INCR n\r\n", n))
		if err := c.CloseWrite(); err != nil {
			t.Error(err)
		}
	}()
	l := m.srv.loops()[0]
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		pending, unread := make(chan int, 1), false
		l.post(func() {
			for _, s := range l.mu.sessions {
				unread = s.unread
				pending <- s.pendingInput()
			}
		})
		if n := <-pending; n > maxRestingInput+readBufferSize {
			t.Fatalf("a session that rests has taken in %d bytes", n)
		} else if unread {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("%d bytes were taken in, no more", n)
		}
	}
	m.open()
	end()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case end := <-m.rests:
				end()
			case <-stop:
				return
			}
		}
	}()
	for i := 1; i <= n; i++ {
		c.want(fmt.Sprintf(":%d\r\n", i))
	}
	<-sent
	c.wantEnd()
}
