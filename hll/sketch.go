package hll

// Add counts elem in b. changed is true exactly if b's state changed: a new key
// in a sparse sketch, a register raised in a dense one; only then does the cached
// estimate become stale. b may grow: as with append, nb may or may not share its
// memory, and the caller goes on with nb. A dense sketch never grows and is
// changed in place. elem is not kept.
//
// The error is ErrNotSketch or ErrCorrupt, with b unchanged. Add looks only at
// what it needs: damage inside the payload may pass it and be found by Count,
// Merge or Valid.
func Add(b, elem []byte) (nb []byte, changed bool, err error) { return AddHash(b, Hash(elem)) }

// AddHash is Add for an element whose Hash is h.
func AddHash(b []byte, h uint64) (nb []byte, changed bool, err error) {
	if err := check(b); err != nil {
		return b, false, err
	}
	if !isDense(b) {
		return addKey(b, encodeKey(h))
	}
	index, rank := split(h)
	if r := &registers(b)[index]; rank > *r {
		*r = rank
		markStale(b)
		return b, true, nil
	}
	return b, false, nil
}

// Count returns the estimated number of distinct elements added to b, and keeps
// it in b's header: it writes bytes 8 to 15 of b if they were stale, nothing else.
// That is no change of state; who logs or compares sketches may ignore it.
//
// It is O(1) while the cached estimate holds and for sparse sketches, else it
// reads the 16 KiB of registers. The error is ErrNotSketch or ErrCorrupt.
func Count(b []byte) (n uint64, err error) {
	n, err = Estimate(b)
	if err == nil {
		setCached(b, n)
	}
	return n, err
}

// Estimate is Count without keeping the estimate: b is only read.
//
// Of a sparse sketch the estimate is its number of keys: linear counting over 2^25,
// 2^25 ln(2^25 / (2^25 - keys)), exceeds the number of keys by less than one up to
// 8191 keys, and axiomhq/hyperloglog truncates.
func Estimate(b []byte) (n uint64, err error) {
	if err := check(b); err != nil {
		return 0, err
	}
	if n, ok := cached(b); ok {
		return n, nil
	}
	if !isDense(b) {
		return uint64(keyCount(b)), nil
	}
	n, ok := estimateDense(registers(b))
	if !ok {
		return 0, ErrCorrupt
	}
	return n, nil
}

// Merge adds to dst everything that was added to src, as if its elements had been
// added one by one, up to the encoding: the result is dense if either is, or if
// together they have more than SparseMax keys. dst may grow as in Add; src is only
// read, and may be dst.
//
// Both are checked as by Valid. On an error, which wraps ErrNotSketch or
// ErrCorrupt, dst is unchanged.
func Merge(dst, src []byte) (nb []byte, changed bool, err error) {
	if err := Valid(dst); err != nil {
		return dst, false, err
	}
	if err := Valid(src); err != nil {
		return dst, false, err
	}
	return merge(dst, src)
}

// merge is Merge. REQUIRES: both valid.
func merge(dst, src []byte) (nb []byte, changed bool, err error) {
	if !isDense(dst) && !isDense(src) {
		add := missing(dst, src)
		if add == 0 {
			return dst, false, nil
		}
		if keyCount(dst)+add <= SparseMax {
			dst = mergeKeys(dst, src, add)
			markStale(dst)
			return dst, true, nil
		}
	}
	if !isDense(dst) {
		if dst, err = toDense(dst); err != nil {
			return dst, false, err
		}
		changed = true
	}
	regs := registers(dst)
	if isDense(src) {
		changed = maxRegisters(regs, registers(src)) || changed
	} else {
		changed = raiseAll(regs, src) || changed
	}
	if changed {
		markStale(dst)
	}
	return dst, changed, nil
}

// raiseAll offers all keys of a sparse sketch to regs and reports whether any
// register rose.
func raiseAll(regs *registerArray, src []byte) (changed bool) {
	for i := range keyCount(src) {
		index, rank := decodeKey(keyAt(src, i))
		if rank > regs[index] {
			regs[index], changed = rank, true
		}
	}
	return changed
}

// Union estimates the number of distinct elements added to any of the sketches,
// which are only read: what Count answers after all of them were merged into an
// empty one. It allocates nothing. The error wraps ErrNotSketch or ErrCorrupt.
func Union(sketches ...[]byte) (n uint64, err error) {
	if len(sketches) == 1 {
		return Estimate(sketches[0])
	}
	var buf [DenseSize]byte
	acc := AppendNew(buf[:0])
	for _, s := range sketches {
		if err := Valid(s); err != nil {
			return 0, err
		}
		if acc, _, err = merge(acc, s); err != nil {
			return 0, err
		}
	}
	return Estimate(acc)
}

// AppendRegisters appends the value of each of the 2^14 registers, a byte each.
// b may be of either encoding and is only read.
func AppendRegisters(out, b []byte) ([]byte, error) {
	if err := Valid(b); err != nil {
		return out, err
	}
	if isDense(b) {
		return append(out, registers(b)[:]...), nil
	}
	var regs registerArray
	raiseAll(&regs, b)
	return append(out, regs[:]...), nil
}
