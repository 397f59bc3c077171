package main

import "math/rand/v2"

// batch builds pipelines of requests. It belongs to one client and reuses its buffer.
type batch struct {
	mix  *mix
	keys keys
	r    *rand.Rand

	buf []byte
	// whole is set where every request is the same bytes: then buf holds built of them, each as
	// long as size, and is not built again.
	whole bool
	built int
	size  int
}

func newBatch(m *mix, k keys, r *rand.Rand) *batch {
	_, single := k.(singleKey)
	return &batch{mix: m, keys: k, r: r, whole: single && m.constant(), size: len(m.templates[0].bytes)}
}

// next returns n requests. The slice is valid until the next call.
func (b *batch) next(n int) []byte {
	if b.whole {
		for ; b.built < n; b.built++ {
			b.buf = append(b.buf, b.mix.templates[0].bytes...)
		}
		return b.buf[:n*b.size]
	}
	b.buf = b.buf[:0]
	for range n {
		t := b.mix.pick(b.r)
		at := len(b.buf)
		b.buf = append(b.buf, t.bytes...)
		for _, offset := range t.keys {
			putDigits(b.buf[at+offset:], b.keys.next())
		}
		for _, offset := range t.elems {
			putDigits(b.buf[at+offset:], b.r.Uint64N(elements))
		}
	}
	return b.buf
}

// putDigits writes n over the end of the zeros that dst begins with.
func putDigits(dst []byte, n uint64) {
	for i := digits - 1; n > 0 && i >= 0; i-- {
		dst[i] = byte('0' + n%10)
		n /= 10
	}
}
