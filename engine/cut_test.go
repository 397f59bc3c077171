package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// deleteMost deletes most keys of database 0, so that their partition shrinks.
func (w *walker) deleteMost() {
	w.t.Helper()
	w.op.DB = 0
	var keys [][]byte
	for _, name := range w.names[w.rng.IntN(len(w.names)/3):] {
		delete(w.m.keys[0], name)
		keys = append(keys, []byte(name))
	}
	_, err := w.e.Del(&w.op, keys)
	w.want(err, nil)
}

// TestAFlushIsTheInstantOfItsClosing: what is written between the closing of an epoch and the visits of
// its flush is not in the flush, and what was written before is, in keys that share their partition and
// in keys that do not, and in contracts.
func TestAFlushIsTheInstantOfItsClosing(t *testing.T) {
	for _, crowd := range []bool{false, true} {
		seed := newSeed()
		t.Run(fmt.Sprintf("crowd=%v,seed=%d", crowd, seed), func(t *testing.T) {
			w := newWalker(t, seed, 60)
			w.crowd = crowd
			fs := newCrashFS()
			w.open(fs, FsyncAlways)
			for range 40 {
				for range 1 + w.rng.IntN(200) {
					w.step()
				}
				if w.rng.IntN(3) == 0 {
					w.deleteMost()
				}
				w.e.commit.Lock()
				w.e.commit.closed = w.e.epoch.Add(1) - 1
				cut := w.m.clone()
				for range w.rng.IntN(100) {
					w.step()
				}
				w.e.collect()
				err := w.e.writeFlush(FsyncAlways)
				w.e.durable.Store(w.e.commit.closed)
				w.e.commit.Unlock()
				w.want(err, nil)
				if w.rng.IntN(4) > 0 {
					continue
				}
				crashed := fs.clone(vfs.CrashCloneCfg{
					UnsyncedDataPercent: w.rng.IntN(101), RNG: rand.New(rand.NewPCG(seed, 1)),
				})
				old := w.e
				w.open(crashed, FsyncAlways)
				_ = old.Close() // goes on with the file system that no longer counts
				fs, w.m = crashed, cut
				w.compare(cut)
			}
			w.want(w.e.Close(), nil)
		})
	}
}
