package engine

import (
	"sync/atomic"

	"countd/hotkeys"
)

// A Writer is a caller that adds to hot counters without a lock, in a cell of its own: an event loop. One
// goroutine at a time may use it. Ops without one take the partition's lock.
type Writer struct {
	id   int
	hits atomic.Int64 // reads of hot counters, for keyspace_hits

	sampler *hotkeys.Sampler

	_ [64]byte // another writer's line begins elsewhere
}

// writers are the numbered writers there are. The zero value is ready to use.
type writers struct {
	all atomic.Pointer[[]*Writer]
}

// NewWriter returns a new Writer. They are never given back: it is for what lives as long as the engine.
func (e *Engine) NewWriter() *Writer {
	w := &Writer{sampler: e.detect.NewSampler()}
	for {
		old := e.writers.all.Load()
		var list []*Writer
		if old != nil {
			list = append(list, *old...)
		}
		w.id = len(list)
		list = append(list, w)
		if e.writers.all.CompareAndSwap(old, &list) {
			return w
		}
	}
}

// hit tells the detector of n commands on en's key.
func (en *entry) hit(op *Op, key []byte, n int) {
	if op.Writer != nil {
		op.Writer.sampler.Hit(op.DB, uint64(en.h), key, n)
	}
}

// list returns the writers; it must not be modified.
func (ws *writers) list() []*Writer {
	if p := ws.all.Load(); p != nil {
		return *p
	}
	return nil
}
