package hll

import (
	"encoding/binary"
	"math"
)

// estimateDense is the LogLog-Beta estimator (Qin, Kim, Tung: LogLog-Beta and
// More, arXiv 1612.02284) with the coefficients and the operations, in order, of
// axiomhq/hyperloglog, so that it answers the very same number:
//
//	alpha m (m - z) / (beta(z) + sum of 2^-register)      z: registers that are 0
//
// ok is false if a register exceeds MaxRank.
func estimateDense(regs *registerArray) (n uint64, ok bool) {
	h, ok := histogram(regs)
	if !ok {
		return 0, false
	}
	// alpha corrects the bias of the harmonic mean (Flajolet et al., HyperLogLog,
	// AofA 2007, figure 3, for m >= 128). m is a variable so that it is rounded as
	// in the library: the exact constant could differ in its last bit.
	m := float64(Registers)
	alpha := 0.7213 / (1 + 1.079/m)
	zeros := float64(h[0])
	est := alpha * m * (m - zeros) / (sumOf(&h, regs) + beta(zeros))
	return uint64(est + 0.5), true
}

// counts has one counter for each value of six bits.
type counts [64]uint32

// histogram counts the registers by value. Neighbours go to different tables:
// most registers hold one of four or five values, and an increment would wait for
// the store of the increment before it.
func histogram(regs *registerArray) (h counts, ok bool) {
	var t [4]counts
	bad := uint64(0)
	for i := 0; i < Registers; i += lanes {
		w := binary.LittleEndian.Uint64(regs[i:])
		bad |= over(w)
		t[0][w&63]++
		t[1][w>>8&63]++
		t[2][w>>16&63]++
		t[3][w>>24&63]++
		t[0][w>>32&63]++
		t[1][w>>40&63]++
		t[2][w>>48&63]++
		t[3][w>>56&63]++
	}
	for i := range h {
		h[i] = t[0][i] + t[1][i] + t[2][i] + t[3][i]
	}
	return h, bad == 0
}

// exactRank is the largest value up to which a sum of 2^-register is exact in
// whatever order it is taken: it is at most 2^14 and a multiple of 2^-39, and a
// float64 has 53 bits.
const exactRank = 53 - Precision

// sumOf returns the sum of 2^-register. Only where a register exceeds exactRank,
// which takes some 2^50 elements or a forger, does the order of the additions
// matter; then it is the library's order.
func sumOf(h *counts, regs *registerArray) (sum float64) {
	for r := exactRank + 1; r <= MaxRank; r++ {
		if h[r] != 0 {
			for _, v := range regs {
				sum += pow2(-int(v))
			}
			return sum
		}
	}
	for r := range exactRank + 1 {
		sum += float64(h[r]) * pow2(-r)
	}
	return sum
}

// pow2 returns 2^e for e in -1022 .. 1023, by writing the exponent's bits.
func pow2(e int) float64 { return math.Float64frombits(uint64(1023+e) << 52) }

// beta is beta14 of axiomhq/hyperloglog: the polynomial that the authors of
// LogLog-Beta fitted for p = 14. math.Pow stays, six calls a count: Horner's rule
// would round differently.
func beta(zeros float64) float64 {
	zl := math.Log(zeros + 1)
	return -0.371009760230692*zeros +
		0.00978811941207509*zl +
		0.185796293324165*math.Pow(zl, 2) +
		0.203015527328432*math.Pow(zl, 3) +
		-0.116710521803686*math.Pow(zl, 4) +
		0.0431106699492820*math.Pow(zl, 5) +
		-0.00599583540511831*math.Pow(zl, 6) +
		0.000449704299509437*math.Pow(zl, 7)
}
