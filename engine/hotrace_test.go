package engine

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"countd/shards"
)

// hotLoad is a counter that writers add to while it is promoted, demoted and committed at random.
type hotLoad struct {
	t   *testing.T
	e   *Engine
	key []byte

	sent, acked atomic.Int64
	stop        atomic.Bool
	mu          sync.Mutex
	replies     []int64
}

// yieldEvery is after how many commands a goroutine lets the others run, of which there are more than
// processors.
const yieldEvery = 20

// write adds in runs of random length until the load stops, and keeps the replies where keep is set.
func (l *hotLoad) write(rng *rand.Rand, writer *Writer, keep bool) {
	op := Op{Writer: writer, NowMs: l.e.NowMs()}
	var deltas, sums [16]int64
	for i := range deltas {
		deltas[i] = 1
	}
	var replies []int64
	for turn := 0; !l.stop.Load(); turn++ {
		if turn%yieldEvery == 0 {
			runtime.Gosched()
		}
		n := 1
		if rng.IntN(2) == 0 {
			n += rng.IntN(len(deltas))
		}
		op.NowMs = l.e.NowMs()
		l.sent.Add(int64(n))
		if n == 1 {
			sum, err := l.e.IncrBy(&op, l.key, 1)
			if err != nil {
				l.t.Error(err)
				return
			}
			sums[0] = sum
		} else if got, err := l.e.IncrByRun(&op, l.key, deltas[:n], sums[:n]); err != nil || got != n {
			l.t.Error(got, err)
			return
		}
		l.acked.Add(int64(n))
		if keep {
			replies = append(replies, sums[:n]...)
		}
	}
	l.mu.Lock()
	l.replies = append(l.replies, replies...)
	l.mu.Unlock()
}

// read polls: every value lies between what was acknowledged before the read and what was sent by its
// end, and never falls.
func (l *hotLoad) read(writer *Writer) {
	op := Op{Writer: writer}
	last := int64(0)
	for turn := 0; !l.stop.Load(); turn++ {
		if turn%yieldEvery == 0 {
			runtime.Gosched()
		}
		op.NowMs = l.e.NowMs()
		low := l.acked.Load()
		v, err := l.e.Get(&op, l.key)
		high := l.sent.Load()
		switch {
		case err != nil:
			l.t.Error(err)
		case v.Int < low || v.Int > high:
			l.t.Errorf("read %d, while between %d and %d were counted", v.Int, low, high)
		case v.Int < last:
			l.t.Errorf("read %d after %d", v.Int, last)
		default:
			last = v.Int
			continue
		}
		return
	}
}

// TestReadersSeeNoFold promotes and demotes a counter ten thousand times under load, in all its forms,
// with commits in between.
func TestReadersSeeNoFold(t *testing.T) {
	const toggles = 10_000
	for _, exact := range []bool{true, false} {
		seed := newSeed()
		t.Run(fmt.Sprintf("exact=%v,seed=%d", exact, seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			e, _, err := Open(Options{Dir: "data", FS: vfs.NewMem(), Policy: FsyncNo, FlushInterval: time.Hour,
				Hot: quietDetector()})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			l := &hotLoad{t: t, e: e, key: []byte("page:home:views")}
			if _, err := e.IncrBy(&Op{}, l.key, 0); err != nil {
				t.Fatal(err)
			}
			var bg sync.WaitGroup
			writers := []*Writer{nil, e.NewWriter(), e.NewWriter(), e.NewWriter()}
			for i, w := range writers {
				r := rand.New(rand.NewPCG(seed, uint64(10+i)))
				bg.Go(func() { l.write(r, w, exact) })
			}
			for _, w := range []*Writer{nil, e.NewWriter(), e.NewWriter()} {
				bg.Go(func() { l.read(w) })
			}
			for i := 0; i < toggles && !t.Failed(); i++ {
				switch rng.IntN(8) {
				case 0:
					e.TryCommit()
				case 1: // looks at the value, and closes it for that
					if _, err := e.Strlen(&Op{}, l.key); err != nil {
						t.Error(err)
					}
				case 2:
					if _, err := e.Expire(&Op{}, l.key, time.Now().Add(time.Hour).UnixMilli(), 0); err != nil {
						t.Error(err)
					}
				}
				ok := e.forceHot(0, l.key, shards.HotOptions{
					Cells: 1 + rng.IntN(5), Writers: 5, Relaxed: !exact && rng.IntN(4) > 0,
				})
				if !ok {
					t.Fatal("not promoted")
				}
				if rng.IntN(16) == 0 {
					time.Sleep(10 * time.Microsecond)
				}
				if !e.demote(0, l.key) {
					t.Fatal("not demoted")
				}
			}
			l.stop.Store(true)
			bg.Wait()
			v, err := e.Get(&Op{}, l.key)
			if err != nil || v.Int != l.acked.Load() {
				t.Errorf("%d at the end (%v), want %d", v.Int, err, l.acked.Load())
			}
			slices.Sort(l.replies)
			for i, r := range l.replies {
				if r != int64(i+1) {
					t.Fatalf("reply number %d in order is %d", i+1, r)
				}
			}
			t.Logf("%d increments", v.Int)
		})
	}
}
