package soak

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"countd/bench/resp"
)

// errWrong ends a soak whose faults were printed.
var errWrong = errors.New("the server answered what cannot be")

const (
	checkChunk   = 500             // keys of one MGET
	dbsizeWithin = 5 * time.Minute // until expired keys are no longer counted
)

// verdict is what a comparison found.
type verdict struct {
	compared     int64         // keys
	took         time.Duration // to read and compare them
	dbsizeExact  time.Duration // until DBSIZE was right
	lost         int           // acknowledged commands of everysec
	oldest       millis        // how long before the kill they were acknowledged
	commandsKept int           // that were sent, never acknowledged, and survived
}

// check compares every key with what its writer knows, and DBSIZE. killed is when the server was
// killed, 0 where it was stopped and every command was acknowledged, so that nothing is in doubt.
// Where whole is set, DBSIZE must come to be exact, without keys that have expired.
func (s *soak) check(address string, killed millis, whole bool) (verdict, error) {
	var v verdict
	began := time.Now()
	doubts := make([]*doubt, len(s.writers))
	for i, w := range s.writers {
		if killed == 0 {
			w.journal.keepAll()
		}
		acked, pending := w.journal.take(), w.batch[w.replied:]
		w.batch, w.replied = w.batch[:0], 0
		doubts[i] = newDoubt(w.table, acked, pending, w.sent, killed)
	}
	var wg sync.WaitGroup
	var failed atomic.Pointer[error]
	for i, w := range s.writers {
		wg.Go(func() {
			if err := w.compare(address, doubts[i]); err != nil {
				failed.Store(&err)
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return v, *err
	}
	low, high := s.hot.base, s.hot.base
	for i, w := range s.writers {
		d := doubts[i]
		v.compared += int64(len(w.table))
		first, last, found := d.cut()
		if !found {
			s.faults.add("writer %d: each of %d keys is as it was at some time, but never all of them at one "+
				"(%d commands in doubt, %d of them acknowledged)", w.id, len(d.past), d.n, len(d.acked))
			continue
		}
		d.settle(w.table, last)
		low, high = low+int64(w.journal.hotSafe+d.hot[first]), high+int64(w.journal.hotSafe+d.hot[last])
		w.journal.hotSafe = 0
		lost, oldest := d.lost(last, killed)
		v.lost, v.oldest = v.lost+lost, max(v.oldest, oldest)
		v.commandsKept += max(0, last-len(d.acked))
	}
	if n := s.faults.count(); n > 0 {
		return v, errWrong
	}
	v.took = time.Since(began)
	if err := s.checkHot(address, low, high); err != nil {
		return v, err
	}
	began = time.Now()
	err := s.checkSize(address, whole)
	v.dbsizeExact = time.Since(began)
	return v, err
}

// compare reads all keys of w over a connection of its own.
func (w *writer) compare(address string, d *doubt) error {
	c, err := resp.Dial(address)
	if err != nil {
		return err
	}
	defer c.Close()
	for at := 0; at < len(w.table); {
		end := min(at+checkChunk, len(w.table))
		if at < w.counters {
			end = min(end, w.counters)
		}
		if err := w.compareChunk(c, d, at, end); err != nil {
			return err
		}
		at = end
	}
	return nil
}

// compareChunk reads keys at to end-1, all of one kind.
func (w *writer) compareChunk(c *resp.Conn, d *doubt, at, end int) error {
	counters := at < w.counters
	if counters {
		c.Array(1 + end - at)
		c.Words("MGET")
	}
	for key := at; key < end; key++ {
		if !counters {
			c.Array(2)
			c.Words("PFCOUNT")
		}
		w.name = w.appendName(w.name[:0], uint32(key))
		c.Word(w.name)
	}
	from := w.clock()
	if err := c.Send(); err != nil {
		return err
	}
	if counters {
		if r, err := c.Read(); err != nil || r.Kind != '*' || r.N != int64(end-at) {
			return fmt.Errorf("MGET of %d keys: %v, %v", end-at, r, err)
		}
	}
	for key := at; key < end; key++ {
		r, err := c.Read()
		if err != nil {
			return err
		}
		w.judge(d, uint32(key), r, from)
	}
	return nil
}

// judge compares a key that was read since from.
func (w *writer) judge(d *doubt, key uint32, r resp.Reply, from millis) {
	now := w.clock()
	s, p := w.table[key], d.past[key]
	legal := r.Kind == ':' && (r.N > 0 || int(key) >= w.counters) || r.Kind == '_'
	switch {
	case !legal:
		w.faults.add("%s: %v, expected %v", w.appendName(nil, key), r, s)
	case p != nil:
		if !d.see(p, r.N, from, now) {
			w.faults.add("%s: %v, expected one of %v, at %.3f s", w.appendName(nil, key), r, p.steps,
				float64(now)/1e3)
		}
	case !s.fits(r.N, from, now):
		w.faults.add("%s: %v, expected %v, at %.3f s", w.appendName(nil, key), r, s, float64(now)/1e3)
	case r.N == 0:
		w.table[key] = state{}
	}
}

// checkHot compares the key that all increment and begins its next cycle.
func (s *soak) checkHot(address string, low, high int64) error {
	c, err := resp.Dial(address)
	if err != nil {
		return err
	}
	defer c.Close()
	r, err := c.Do("GET", hotName)
	if err != nil {
		return err
	}
	if r.Kind != ':' && r.Kind != '_' || r.N < low || r.N > high {
		s.faults.add("%s: %v, expected %d to %d", hotName, r, low, high)
		return errWrong
	}
	s.hot.begin(r.N)
	return nil
}

// checkSize compares DBSIZE with the number of keys. Keys that have expired since they were last read
// may still be counted; where whole is set it asks until they no longer are.
func (s *soak) checkSize(address string, whole bool) error {
	c, err := resp.Dial(address)
	if err != nil {
		return err
	}
	defer c.Close()
	for end := time.Now().Add(dbsizeWithin); ; time.Sleep(20 * time.Millisecond) {
		from := s.clock()
		r, err := c.Do("DBSIZE")
		if err != nil {
			return err
		}
		low, high, unread := s.size(from, s.clock())
		switch {
		case r.Kind != ':' || r.N < low || r.N > high+unread:
			s.faults.add("DBSIZE: %v, expected %d to %d, and up to %d that have expired", r, low, high, unread)
			return errWrong
		case r.N <= high || !whole:
			return nil
		case time.Now().After(end):
			s.faults.add("DBSIZE: %v, expected %d to %d; it still counts keys that have expired", r, low, high)
			return errWrong
		}
	}
}

// size is how many keys there are at least and at most between two times, and how many have expired
// unread.
func (s *soak) size(from, by millis) (low, high, unread int64) {
	low = 1 // the sentinel
	if s.hot.base > 0 {
		low++
	}
	high = low
	for _, w := range s.writers {
		for _, st := range w.table {
			switch p := st.at(from, by); {
			case p == there:
				low++
				high++
			case p == maybe:
				high++
			case st.value != 0:
				unread++
			}
		}
	}
	return low, high, unread
}
