// Package zipf draws keys of which a few take most of the load.
package zipf

import (
	"math"
	"math/rand/v2"
)

// Keys draws key k-1 in proportion to 1/k^s for k from 1 to n: a few keys take most of the load,
// as pages, products and users do. s near 1 is what is found in practice (0.99 is YCSB's).
//
// It is rejection-inversion (W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates
// from monotone discrete distributions", ACM TOMACS 6(3), 1996): the sum of the probabilities is
// bounded by the integral H of x^-s, which can be inverted in closed form; a uniform number between
// H(1.5)-1 and H(n+0.5) is inverted, rounded to the nearest k, and kept unless it fell between the
// integral and the sum. Hardly any is rejected, no table is needed, and s may be 1 or less, which
// math/rand's Zipf does not take.
type Keys struct {
	r      *rand.Rand
	n, s   float64
	hX1    float64 // H(1.5) - 1
	hN     float64 // H(n + 0.5)
	accept float64 // below this distance from k no test is needed
}

// New draws from n keys, at least 1, with the exponent s, above 0. The Keys belong to who owns r.
func New(r *rand.Rand, s float64, n uint64) *Keys {
	z := &Keys{r: r, n: float64(n), s: s}
	z.hX1 = z.h(1.5) - 1
	z.hN = z.h(z.n + 0.5)
	z.accept = 2 - z.hInverse(z.h(2.5)-math.Pow(2, -s))
	return z
}

// Next is the next key, 0 to n-1.
func (z *Keys) Next() uint64 {
	for {
		u := z.hN + z.r.Float64()*(z.hX1-z.hN)
		x := z.hInverse(u)
		k := min(max(math.Floor(x+0.5), 1), z.n)
		if k-x <= z.accept || u >= z.h(k+0.5)-math.Pow(k, -z.s) {
			return uint64(k) - 1
		}
	}
}

// h is the integral of x^-s, (x^(1-s) - 1) / (1-s), which is log x where s is 1.
func (z *Keys) h(x float64) float64 {
	logX := math.Log(x)
	return expm1Over((1-z.s)*logX) * logX
}

func (z *Keys) hInverse(x float64) float64 {
	t := max(x*(1-z.s), -1) // rounding may carry it just below -1
	return math.Exp(log1pOver(t) * x)
}

// log1pOver is log(1+x)/x, and 1 at 0.
func log1pOver(x float64) float64 {
	if math.Abs(x) < 1e-8 {
		return 1 - x/2
	}
	return math.Log1p(x) / x
}

// expm1Over is (e^x - 1)/x, and 1 at 0.
func expm1Over(x float64) float64 {
	if math.Abs(x) < 1e-8 {
		return 1 + x/2
	}
	return math.Expm1(x) / x
}
