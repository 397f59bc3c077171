package zipf

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The frequencies of the first ranks are those of the definition, for exponents below, at and above
// 1, and nothing falls outside of the key space.
func TestDrawsInProportion(t *testing.T) {
	const n, draws = 1000, 400_000
	for _, s := range []float64{0.5, 0.99, 1, 1.3, 2} {
		z := New(rand.New(rand.NewPCG(7, 7)), s, n)
		var counts [n]int
		for range draws {
			k := z.Next()
			if k >= n {
				t.Fatalf("s=%v: key %d of %d", s, k, n)
			}
			counts[k]++
		}
		total := 0.0
		for k := 1; k <= n; k++ {
			total += math.Pow(float64(k), -s)
		}
		for _, k := range []int{1, 2, 3, 10, 100, 1000} {
			want := draws * math.Pow(float64(k), -s) / total
			// 6 standard deviations of a binomial count
			if got := float64(counts[k-1]); math.Abs(got-want) > 6*math.Sqrt(want)+1 {
				t.Errorf("s=%v: rank %d was drawn %v times, want about %.0f", s, k, got, want)
			}
		}
	}
}

func TestOneKey(t *testing.T) {
	z := New(rand.New(rand.NewPCG(1, 1)), 0.99, 1)
	for range 1000 {
		if k := z.Next(); k != 0 {
			t.Fatalf("key %d", k)
		}
	}
}
