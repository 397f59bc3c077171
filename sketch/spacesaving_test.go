package sketch

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"testing"
	"time"
)

var seedOfHashes = maphash.MakeSeed()

func hashOf(key []byte) uint64 { return maphash.Bytes(seedOfHashes, key) }

// stream is a sequence of keys and weights.
type stream func(i int) (key []byte, weight uint64)

// streams gives the orders that a sketch meets: without skew, skewed, and such that entries are taken
// over as often as possible.
func streams(rng *rand.Rand) map[string]stream {
	zipf := rand.NewZipf(rng, 1.1, 1, 1<<20)
	one := func(n uint64) ([]byte, uint64) { return fmt.Appendf(nil, "key:%d", n), 1 }
	return map[string]stream{
		"uniform":  func(int) ([]byte, uint64) { return one(rng.Uint64N(5000)) },
		"zipf":     func(int) ([]byte, uint64) { return one(zipf.Uint64()) },
		"distinct": func(i int) ([]byte, uint64) { return one(uint64(i)) },
		"cyclic":   func(i int) ([]byte, uint64) { return one(uint64(i % 101)) },
		"ascending weights": func(i int) ([]byte, uint64) {
			return fmt.Appendf(nil, "%d", i), uint64(i)
		},
		"heavy last": func(i int) ([]byte, uint64) {
			if i%7 == 0 && i > 10_000 {
				return []byte("heavy"), 3
			}
			return one(uint64(i))
		},
		"weights with zeros": func(int) ([]byte, uint64) {
			k, _ := one(zipf.Uint64())
			return k, rng.Uint64N(4) * rng.Uint64N(1<<40)
		},
		"all lengths": func(int) ([]byte, uint64) {
			n := int(zipf.Uint64() % (MaxKeyBytes + 1))
			return bytes.Repeat([]byte{byte(n)}, n), 1 + rng.Uint64N(3)
		},
		"equal hashes": func(int) ([]byte, uint64) { return one(rng.Uint64N(300)) }, // see hashFor
	}
}

// hashFor makes all hashes of "equal hashes" one of three, so that only the keys tell them apart.
func hashFor(name string, key []byte) uint64 {
	if name == "equal hashes" {
		return hashOf(key) % 3
	}
	return hashOf(key)
}

// TestSpaceSavingAgreesWithAMap checks the sketch's promises against exact counts, also while it
// fills and after a Reset.
func TestSpaceSavingAgreesWithAMap(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for _, k := range []int{1, 2, 10, 100, 512} {
		for name := range streams(rand.New(rand.NewPCG(0, 0))) {
			t.Run(fmt.Sprintf("%s/k=%d", name, k), func(t *testing.T) {
				next := streams(rand.New(rand.NewPCG(seed, uint64(k))))[name]
				s := New(k)
				for round := range 2 {
					truth := map[string]uint64{}
					for i := range 20_000 {
						key, weight := next(i)
						if !s.Add(hashFor(name, key), key, weight) {
							t.Fatalf("a key of %d bytes was refused", len(key))
						}
						truth[string(key)] += weight
						clear(key) // the sketch must have its own copy
						if i == k/2 || i%6000 == 5999 {
							checkSpaceSaving(t, s, truth)
						}
					}
					checkSpaceSaving(t, s, truth)
					if s.Reset(); round == 0 {
						checkSpaceSaving(t, s, nil)
					}
				}
			})
		}
	}
}

func checkSpaceSaving(t *testing.T, s *SpaceSaving, truth map[string]uint64) {
	t.Helper()
	var sum, total uint64
	for _, n := range truth {
		total += n
	}
	if s.Total() != total {
		t.Fatalf("total %d, want %d", s.Total(), total)
	}
	seen := map[string]bool{}
	s.Each(func(key []byte, _, count, err uint64) {
		n := truth[string(key)]
		if err > count || count-err > n || n > count {
			t.Fatalf("key %q: count %d, error %d, truth %d", key, count, err, n)
		}
		if seen[string(key)] {
			t.Fatalf("key %q has two entries", key)
		}
		if s.Len() == s.Cap() && count < s.Min() {
			t.Fatalf("key %q: count %d is below the least, %d", key, count, s.Min())
		}
		seen[string(key)] = true
		sum += count
	})
	if sum > total || len(seen) != s.Len() || s.Len() != min(s.Cap(), len(truth)) {
		t.Fatalf("%d keys with a sum of %d, want %d of %d keys with at most %d",
			len(seen), sum, s.Len(), len(truth), total)
	}
	if len(truth) <= s.Cap() && sum != total {
		t.Fatalf("%d keys for %d entries have a sum of %d, want %d", len(truth), s.Cap(), sum, total)
	}
	if s.Min() > total/uint64(s.Cap()) {
		t.Fatalf("least count %d, total %d, k %d", s.Min(), total, s.Cap())
	}
	for key, n := range truth {
		if !seen[key] && (n > s.Min() || n > total/uint64(s.Cap())) {
			t.Fatalf("key %q with %d of %d is missing, least count %d", key, n, total, s.Min())
		}
	}
}

func TestEachGivesTheHashOfAdd(t *testing.T) {
	s := New(4)
	for i := range 100 {
		key := fmt.Appendf(nil, "%d", i%7)
		s.Add(hashOf(key), key, 1)
	}
	s.Each(func(key []byte, hash, _, _ uint64) {
		if hash != hashOf(key) {
			t.Errorf("key %q: hash %x, want %x", key, hash, hashOf(key))
		}
	})
}

func TestAKeyThatIsTooLongIsNotTracked(t *testing.T) {
	s := New(4)
	if s.Add(1, make([]byte, MaxKeyBytes+1), 1) || s.Total() != 0 || s.Len() != 0 {
		t.Errorf("tracked: total %d, %d keys", s.Total(), s.Len())
	}
	if !s.Add(1, make([]byte, MaxKeyBytes), 1) || s.Len() != 1 {
		t.Errorf("a key of %d bytes is not tracked", MaxKeyBytes)
	}
}

func TestAddDoesNotAllocate(t *testing.T) {
	s := New(64)
	var key [InlineKeyBytes]byte
	n := uint64(0)
	if a := testing.AllocsPerRun(10_000, func() {
		n++
		key[0], key[1] = byte(n), byte(n>>8)
		s.Add(n*0x9e3779b97f4a7c15, key[:], 1)
	}); a != 0 {
		t.Errorf("%v allocations for an Add", a)
	}
}

func TestNewRefusesABadSize(t *testing.T) {
	for _, k := range []int{-1, 0, MaxEntries + 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d entries were accepted", k)
				}
			}()
			New(k)
		}()
	}
	New(MaxEntries)
}
