package hotkeys

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"
)

// benchKeys is a power of two of keys drawn by Zipf's law, with their hashes.
type benchKeys struct {
	keys   [][]byte
	hashes []uint64
}

func newBenchKeys(n int) benchKeys {
	z := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, 1e6-1)
	var b benchKeys
	for range n {
		id := z.Uint64()
		b.keys = append(b.keys, binary.BigEndian.AppendUint64([]byte("counter:"), id))
		b.hashes = append(b.hashes, hashID(id))
	}
	return b
}

// benchSampler returns a Sampler whose N is that of a loop with the load of this benchmark, since the
// detector ticks by real time.
func benchSampler(b *testing.B, cfg Config) *Sampler {
	d, err := New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	s := d.NewSampler()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		start, tick := time.Now(), time.NewTicker(cfg.Tick)
		defer tick.Stop()
		for {
			d.Tick(time.Since(start), nil)
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	b.Cleanup(func() {
		close(stop)
		<-done
		if st := d.Stats(); st.Commands > 0 && !cfg.Off {
			b.ReportMetric(float64(st.Samples)/float64(st.Commands)*1e6, "samples/Mcmd")
			b.ReportMetric(float64(st.SampleTime)/float64(st.Samples), "ns/sample")
		}
	})
	return s
}

func BenchmarkHitOneKey(b *testing.B) {
	s, key := benchSampler(b, DefaultConfig()), []byte("counter:42")
	for range b.N {
		s.Hit(0, 42, key, 1)
	}
}

func BenchmarkHitZipf(b *testing.B) {
	s, keys := benchSampler(b, DefaultConfig()), newBenchKeys(1<<16)
	i := 0
	for range b.N {
		i = (i + 1) & (1<<16 - 1)
		s.Hit(0, keys.hashes[i], keys.keys[i], 1)
	}
}

// BenchmarkHitBaseline is the loop without the Hit.
func BenchmarkHitBaseline(b *testing.B) {
	n := 0
	for range b.N {
		n++
	}
	sink = uint64(n)
}

// BenchmarkHitZipfBaseline is BenchmarkHitZipf without the Hit.
func BenchmarkHitZipfBaseline(b *testing.B) {
	keys := newBenchKeys(1 << 16)
	i, sum := 0, uint64(0)
	for range b.N {
		i = (i + 1) & (1<<16 - 1)
		sum += keys.hashes[i] + uint64(len(keys.keys[i]))
	}
	sink = sum
}

var sink uint64

func BenchmarkHitRunOf16(b *testing.B) {
	s, key := benchSampler(b, DefaultConfig()), []byte("counter:42")
	for range b.N {
		s.Hit(0, 42, key, 16)
	}
}

func BenchmarkHitOff(b *testing.B) {
	cfg := DefaultConfig()
	cfg.Off = true
	s, key := benchSampler(b, cfg), []byte("counter:42")
	for range b.N {
		s.Hit(0, 42, key, 1)
	}
}

func BenchmarkHitNil(b *testing.B) {
	var s *Sampler
	key := []byte("counter:42")
	for range b.N {
		s.Hit(0, 42, key, 1)
	}
}

// BenchmarkSample is a sample of every command: the cost of a sample in a busy cache aside.
func BenchmarkSample(b *testing.B) {
	cfg := DefaultConfig()
	cfg.Samples = MaxSamples
	d := newDetector(cfg, 1, func() time.Duration { return 0 })
	s, keys := d.NewSampler(), newBenchKeys(1<<16)
	i := 0
	for range b.N {
		i = (i + 1) & (1<<16 - 1)
		s.mu.left = 1 << 30
		s.Hit(0, keys.hashes[i], keys.keys[i], 1)
	}
}

// benchTick ticks a detector of 64 loops whose sketches are full; fill makes a loop's load of a tick.
func benchTick(b *testing.B, fill func(loop int, s *Sampler)) {
	d := newDetector(DefaultConfig(), 1, func() time.Duration { return 0 })
	for range 64 {
		d.NewSampler()
	}
	now := time.Duration(0)
	tick := func() {
		b.StopTimer()
		for loop, s := range d.samplers {
			fill(loop, s)
		}
		b.StartTimer()
		now += d.cfg.Tick
		d.Tick(now, nil)
	}
	for range 8 {
		tick()
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		tick()
	}
	b.ReportMetric(float64(len(d.window.counts)), "keys")
}

func BenchmarkTick64LoopsZipf(b *testing.B) {
	keys := newBenchKeys(1 << 16)
	at := 0
	benchTick(b, func(_ int, s *Sampler) {
		for range 10_000 {
			at = (at + 1) & (1<<16 - 1)
			s.Hit(0, keys.hashes[at], keys.keys[at], 1)
		}
	})
}

// BenchmarkTick64LoopsApart has 500 keys for every loop, each with as much as any other: nothing is
// too rare to be merged.
func BenchmarkTick64LoopsApart(b *testing.B) {
	key := make([]byte, 8)
	benchTick(b, func(loop int, s *Sampler) {
		for i := range uint64(5000) {
			id := uint64(loop)<<32 | i%500
			binary.BigEndian.PutUint64(key, id)
			s.Hit(0, hashID(id), key, 1)
		}
	})
}

func BenchmarkTick64LoopsIdle(b *testing.B) {
	benchTick(b, func(int, *Sampler) {})
}
