package e2e

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// TestAStopUnderLoadLosesNothing stops the server by SIGTERM and by SHUTDOWN while all kinds of
// writers are at it. In every persistent mode all that was acknowledged is there afterwards.
func TestAStopUnderLoadLosesNothing(t *testing.T) {
	for _, policy := range []string{"always", "everysec", "no"} {
		for i, how := range []string{"SIGTERM", "SHUTDOWN"} {
			t.Run(policy+","+how, func(t *testing.T) {
				k := newKillTest(t, policy, 100*time.Millisecond, 300*time.Millisecond)
				for round := range 2 {
					p := k.start(round+2*i, plainServer)
					var streams []*stream
					for _, w := range k.writers {
						streams = append(streams, w.streams(p, k.rng)...)
					}
					stopper := p.dial()
					var wg sync.WaitGroup
					for _, s := range streams {
						wg.Go(s.run)
					}
					time.Sleep(k.minRun + time.Duration(k.rng.Int64N(int64(k.maxRun-k.minRun))))
					if how == "SIGTERM" {
						p.terminate()
					} else if r, err := stopper.try("SHUTDOWN"); err == nil {
						t.Fatalf("SHUTDOWN answers %v", r)
					}
					p.wait()
					v := &verdict{t: t, killed: now()} // it may execute commands until it ends
					wg.Wait()
					acked := 0
					for i, s := range streams {
						acked += len(s.acks)
						if s.err != nil {
							t.Errorf("stream %d: %v", i, s.err)
						}
					}
					p = k.start(round+2*i, plainServer)
					c := p.dial()
					for _, w := range k.writers {
						w.check(c, v)
					}
					if v.lost > 0 {
						t.Errorf("%d of %d acknowledged commands are lost", v.lost, acked)
					}
					p.stop()
				}
			})
		}
	}
}

// TestAcknowledgedUnderAlwaysMeansFlushed: with one client that waits for each reply, every write
// takes a flush of its own, since its reply may not leave before one; reads take none.
func TestAcknowledgedUnderAlwaysMeansFlushed(t *testing.T) {
	p := start(t, plainServer, t.TempDir(), "--appendfsync", "always")
	c := p.dial()
	flushes := func() int64 { return infoNumber(c.do("INFO", "persistence").s, "flushes") }
	const writes = 200
	before := flushes()
	for i := range writes {
		if r := c.do("INCR", "n"); !r.same(intReply(int64(i + 1))) {
			t.Fatalf("INCR answers %v", r)
		}
	}
	written := flushes()
	if written-before < writes {
		t.Errorf("%d acknowledged writes took %d flushes", writes, written-before)
	}
	if text := c.do("INFO", "persistence").s; infoNumber(text, "last_sync_usec") == 0 {
		t.Errorf("no sync was made:\n%s", text)
	}
	for range writes {
		c.do("GET", "n")
	}
	if n := flushes() - written; n > 10 {
		t.Errorf("%d reads of what is on disk took %d flushes", writes, n)
	}
	p.kill()
	p = start(t, plainServer, p.dir, "--appendfsync", "always")
	if got := p.dial().int("INCR", "n"); got != writes+1 {
		t.Errorf("after kill -9 INCR answers %d, want %d", got, writes+1)
	}
	p.stop()
}

// TestPoliciesChangeUnderLoad turns everysec into always by CONFIG SET while clients write. What is
// acknowledged from then on survives kill -9.
func TestPoliciesChangeUnderLoad(t *testing.T) {
	rng, dir := newRand(t), t.TempDir()
	for round := range 3 {
		p := start(t, plainServer, dir, "--appendfsync", "everysec", "--io-threads", "2")
		key := fmt.Sprintf("n:%d", round)
		s := newStream(p, rng, streaming, func(dst []byte, _ int) []byte {
			return appendCommand(dst, "INCR", key)
		})
		other := p.dial()
		done := make(chan struct{})
		go func() { defer close(done); s.run() }()
		for other.int("GET", key) < 1000 {
		}
		if r := other.do("CONFIG", "SET", "appendfsync", "always"); !r.same(okReply) {
			t.Fatalf("CONFIG SET answers %v", r)
		}
		changed := other.int("INCR", key)
		for other.int("GET", key) < changed+int64(1+rng.IntN(2000)) {
		}
		p.kill()
		<-done
		if s.err != nil {
			t.Fatal(s.err)
		}
		last := changed
		if n := len(s.acks); n > 0 {
			last = max(last, s.acks[n-1].n)
		}
		p = start(t, plainServer, dir)
		if got := p.dial().int("GET", key); got < last {
			t.Errorf("%s is %d, but %d was acknowledged under always", key, got, last)
		}
		p.stop()
	}
}
