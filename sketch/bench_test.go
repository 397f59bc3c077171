package sketch

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// benchStream is a tick of a loop at the detector's defaults: 16,384 samples of weight 100 and 16-byte
// keys.
type benchStream struct {
	hashes  []uint64
	keys    [][]byte
	weights []uint64
}

const benchTick = 1 << 14

func newBenchStream(next func() (id, weight uint64)) benchStream {
	var b benchStream
	for range benchTick {
		id, weight := next()
		key := binary.BigEndian.AppendUint64([]byte("counter:"), id)
		b.keys, b.hashes, b.weights = append(b.keys, key), append(b.hashes, hashOf(key)), append(b.weights, weight)
	}
	return b
}

func benchStreams() map[string]benchStream {
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.1, 1, 1e6-1)
	return map[string]benchStream{
		"zipf":    newBenchStream(func() (uint64, uint64) { return zipf.Uint64(), 100 }),
		"uniform": newBenchStream(func() (uint64, uint64) { return rng.Uint64N(1e6), 100 }),
		"runs":    newBenchStream(func() (uint64, uint64) { return rng.Uint64N(1e6), 1 + rng.Uint64N(512) }),
		"onekey":  newBenchStream(func() (uint64, uint64) { return 7, 100 }),
	}
}

// BenchmarkAdd begins with an empty sketch every tick.
func BenchmarkAdd(b *testing.B) {
	for name, st := range benchStreams() {
		b.Run(name, func(b *testing.B) {
			s := New(512)
			for i := range b.N {
				if i %= benchTick; i == 0 {
					s.Reset()
				}
				s.Add(st.hashes[i], st.keys[i], st.weights[i])
			}
		})
	}
}
