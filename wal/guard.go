package wal

import (
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// guarded is the file of a segment whose operations are waited for no longer than the failover's
// threshold. One that has not ended by then answers errStalled and goes on by itself: the buffer of a
// write stays in use, and nothing may be written to the file any more.
type guarded struct {
	vfs.File
	dir  *directory
	over *failover

	mu       sync.Mutex // guards what follows
	ops      int        // that have not ended
	released bool       // nobody begins another; the file is closed when the last has ended
	trimTo   int64      // below 0: it is not trimmed
}

// operation is one that is under way. Its fields are guarded by failover.mu.
type operation struct{ ended, stalled bool }

func (g *guarded) WriteAt(p []byte, off int64) (n int, err error) {
	err = g.do(func() error {
		_, err := g.File.WriteAt(p, off)
		return err
	})
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

func (g *guarded) SyncData() error { return g.do(g.File.SyncData) }

// Close closes the file when the last operation has ended; it waits for none.
func (g *guarded) Close() error {
	g.release(-1)
	return nil
}

// do runs op in a goroutine of its own, and waits for it.
func (g *guarded) do(op func() error) error {
	g.mu.Lock()
	g.ops++
	g.mu.Unlock()
	done := make(chan error, 1)
	o := new(operation)
	late := g.over.After(g.over.Threshold)
	go func() {
		err := op()
		g.over.ended(g.dir, o, err)
		done <- err
		g.mu.Lock()
		g.ops--
		last := g.released && g.ops == 0
		g.mu.Unlock()
		if last {
			g.end()
		}
	}()
	select {
	case err := <-done:
		return err
	case <-late:
		if g.over.stall(g.dir, o) {
			return errStalled
		}
		return <-done
	}
}

// release has the file trimmed to trimTo and closed, without waiting for that. No flush ends behind
// trimTo, and what was synced is durable: an error loses nothing.
func (g *guarded) release(trimTo int64) {
	g.mu.Lock()
	g.released, g.trimTo = true, trimTo
	idle := g.ops == 0
	g.mu.Unlock()
	if idle {
		go g.end()
	}
}

func (g *guarded) end() {
	if g.trimTo >= 0 {
		trim(g.File, g.trimTo)
	}
	g.File.Close()
}

// stall notes that o has not ended in time, if that is so.
func (f *failover) stall(d *directory, o *operation) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o.ended {
		return false
	}
	o.stalled = true
	d.stalled++
	f.stalls.Add(1)
	return true
}

// ended notes that o has ended.
func (f *failover) ended(d *directory, o *operation, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o.ended = true
	if !o.stalled {
		return
	}
	d.stalled--
	if err != nil && d.failed == nil {
		d.failed = err
	}
	f.awake()
}

func (f *failover) awake() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}
