package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The benchmarks print CPU time of the whole process a merged key, compaction to
// the end included, besides the time that a merge takes.

const benchKeyLen = 24

// benchKeys returns n sorted random keys in one allocation, as strings of hashes are.
func benchKeys(seed uint64, n int) []byte {
	rng := rand.New(rand.NewPCG(seed, 0))
	hashes := make([]uint64, n)
	for i := range hashes {
		hashes[i] = rng.Uint64()
	}
	slices.Sort(hashes)
	keys := make([]byte, 0, n*benchKeyLen)
	for _, h := range hashes {
		keys = append(keys, 0, 0, 0, 1)
		keys = binary.BigEndian.AppendUint64(keys, h)
		keys = fmt.Appendf(keys, "ctr:%08d", h%100_000_000)
	}
	return keys
}

// subset returns about n of the keys, in order.
func subset(keys []byte, n int, seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 1))
	total := len(keys) / benchKeyLen
	out := make([]byte, 0, n*benchKeyLen)
	for i := range total {
		if rng.IntN(total) < n {
			out = append(out, keys[i*benchKeyLen:(i+1)*benchKeyLen]...)
		}
	}
	return out
}

func benchSource(keys []byte, seed uint64) func() (key, value []byte, err error) {
	rng := rand.New(rand.NewPCG(seed, 2))
	value := make([]byte, 10)
	return func() (k, v []byte, err error) {
		if len(keys) == 0 {
			return nil, nil, io.EOF
		}
		k, keys = keys[:benchKeyLen], keys[benchKeyLen:]
		binary.LittleEndian.PutUint64(value[1:], rng.Uint64N(1_000_000))
		return k, value, nil
	}
}

func cpuTime() time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// settle waits until no compaction has run or wanted to for a while.
func settle(db *pebble.DB) {
	for quiet := 0; quiet < 10; quiet++ {
		time.Sleep(10 * time.Millisecond)
		if m := db.Metrics(); m.Compact.NumInProgress > 0 || m.Flush.NumInProgress > 0 {
			quiet = 0
		}
	}
}

// mergeFunc applies one merge to a database.
type mergeFunc func(next func() (key, value []byte, err error)) error

func benchMerge(b *testing.B, open func(b *testing.B) (*pebble.DB, mergeFunc, func())) {
	all := benchKeys(1, 5_000_000)
	for _, c := range []struct {
		name          string
		full, n, runs int
	}{
		{"empty/1M", 0, 1_000_000, 1},
		{"empty/5M", 0, 5_000_000, 1},
		{"full5M/100k", 5_000_000, 100_000, 10},
		{"full5M/1M", 5_000_000, 1_000_000, 5},
		{"full5M/5M", 5_000_000, 5_000_000, 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				db, merge, done := open(b)
				if c.full > 0 {
					if err := merge(benchSource(all, 9)); err != nil {
						b.Fatal(err)
					}
					settle(db)
				}
				inputs := make([][]byte, c.runs)
				keys := 0
				for i := range inputs {
					inputs[i] = subset(all, c.n, uint64(i))
					keys += len(inputs[i]) / benchKeyLen
				}
				b.StartTimer()
				start, cpu := time.Now(), cpuTime()
				for i, in := range inputs {
					if err := merge(benchSource(in, uint64(i))); err != nil {
						b.Fatal(err)
					}
				}
				wall := time.Since(start)
				settle(db)
				cpu = cpuTime() - cpu
				b.ReportMetric(float64(cpu.Nanoseconds())/float64(keys), "cpu-ns/key")
				b.ReportMetric(float64(wall.Nanoseconds())/float64(keys), "merge-ns/key")
				m := db.Metrics()
				b.ReportMetric(float64(m.Table.Local.LiveSize)/1e6, "MB")
				b.StopTimer()
				done()
				b.StartTimer()
			}
		})
	}
}

func BenchmarkMergeIngest(b *testing.B) {
	benchMerge(b, func(b *testing.B) (*pebble.DB, mergeFunc, func()) {
		s, err := Open(Options{Dir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		return s.db, func(next func() (k, v []byte, err error)) error {
			return s.Apply([]byte("pos"), nil, next)
		}, func() { s.Close() }
	})
}

// BenchmarkMergeBatch is the rejected way: sorted batches through a large memtable,
// and a flush.
func BenchmarkMergeBatch(b *testing.B) {
	benchMerge(b, func(b *testing.B) (*pebble.DB, mergeFunc, func()) {
		p := tuning(Options{}, vfs.Default, pebble.DefaultLogger)
		p.MemTableSize = 64 << 20
		db, err := pebble.Open(b.TempDir(), p)
		if err != nil {
			b.Fatal(err)
		}
		return db, func(next func() (k, v []byte, err error)) error {
			batch := db.NewBatch()
			for {
				k, v, end := next()
				if end != nil || batch.Count() == 200_000 {
					if err := batch.Commit(pebble.NoSync); err != nil {
						return err
					}
					if end != nil {
						return db.Flush()
					}
					batch = db.NewBatch()
				}
				if err := batch.Set(k, v, nil); err != nil {
					return err
				}
			}
		}, func() { db.Close() }
	})
}

// benchStore returns a store of n keys, settled, and the keys.
func benchStore(b *testing.B, n int) (*Store, []byte) {
	s, err := Open(Options{Dir: b.TempDir(), CacheBytes: 64 << 20})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	keys := benchKeys(1, n)
	if err := s.Apply([]byte("pos"), nil, benchSource(keys, 1)); err != nil {
		b.Fatal(err)
	}
	for i := range uint64(3) {
		if err := s.Apply([]byte("pos"), nil, benchSource(subset(keys, n/10, i), i)); err != nil {
			b.Fatal(err)
		}
	}
	settle(s.db)
	return s, keys
}

func BenchmarkGet(b *testing.B) {
	s, keys := benchStore(b, 1_000_000)
	rng := rand.New(rand.NewPCG(1, 3))
	n := len(keys) / benchKeyLen
	b.Run("present", func(b *testing.B) {
		var dst [64]byte
		for b.Loop() {
			i := rng.IntN(n) * benchKeyLen
			if _, ok, err := s.Get(keys[i:i+benchKeyLen], dst[:0]); !ok || err != nil {
				b.Fatal(ok, err)
			}
		}
	})
	b.Run("absent", func(b *testing.B) {
		var dst [64]byte
		for b.Loop() {
			i := rng.IntN(n) * benchKeyLen
			key := bytes.Clone(keys[i : i+benchKeyLen])
			key[11]++
			if _, ok, err := s.Get(key, dst[:0]); ok || err != nil {
				b.Fatal(ok, err)
			}
		}
	})
}

// BenchmarkGetEach looks up the keys of a pipeline, most of which are far from one another.
func BenchmarkGetEach(b *testing.B) {
	s, all := benchStore(b, 1_000_000)
	rng := rand.New(rand.NewPCG(1, 3))
	n := len(all) / benchKeyLen
	for _, size := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("keys=%d", size), func(b *testing.B) {
			keys := make([][]byte, size)
			for b.Loop() {
				for i := range keys {
					at := rng.IntN(n) * benchKeyLen
					keys[i] = all[at : at+benchKeyLen]
				}
				slices.SortFunc(keys, bytes.Compare)
				if err := s.GetEach(keys, func(int, []byte, bool) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/key")
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	s, _ := benchStore(b, 1_000_000)
	n := 0
	for b.Loop() {
		if err := s.Load(func(_, _ []byte) error { n++; return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/key")
}
