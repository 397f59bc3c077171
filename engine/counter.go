package engine

import (
	"cmp"
	"math"

	"countd/shards"
)

// IncrBy adds delta to the integer at key, 0 where the key is absent, and returns the sum. The
// expiry stays. It is a linearizable fetch-and-add.
//
// Errors: ErrNotInteger, ErrOverflow (of the value, or of a side of the tally), ErrLeavesRange, or why
// writes are refused; the key is then unchanged.
func (e *Engine) IncrBy(op *Op, key []byte, delta int64) (int64, error) {
	// This is the hot path: no defer, and one look at the record's header.
	en := e.place(op, key)
	en.hit(op, key, 1)
	if en.t.AnyHot() {
		if hot, current := e.hotOf(op, en.t, en.h, key); current {
			if sum, ok := e.incrHot(op, hot, delta); ok {
				return sum, nil
			}
		}
	}
	en.p.Lock()
	e.look(&en, key)
	var sum int64
	var err error
	if old, plain := en.p.PlainInt(en.r); plain && en.c == nil {
		sum = old + delta
		switch {
		case (sum > old) != (delta > 0) && delta != 0:
			sum, err = 0, e.orSeen(op, &en, ErrOverflow)
		default:
			if err = e.beginWrite(&en, op); err == nil {
				en.p.SetInt(en.r, sum)
			}
		}
	} else {
		sum, err = e.incrOther(op, &en, key, delta)
	}
	en.p.Unlock()
	return sum, err
}

// incrOther is IncrBy for what is not a plain integer: an absent or expired key, one with an expiry,
// a string. REQUIRES the lock.
func (e *Engine) incrOther(op *Op, en *entry, key []byte, delta int64) (int64, error) {
	var sum [1]int64
	_, err := e.incrRun(op, en, key, []int64{delta}, sum[:])
	return sum[0], err
}

// IncrByRun is IncrBy for one delta after the other, all at one instant: sums[i] is the sum after
// deltas[i]. It stops at the first that fails: n is how many were added, err why deltas[n] was not.
// len(sums) must be at least len(deltas).
func (e *Engine) IncrByRun(op *Op, key []byte, deltas, sums []int64) (n int, err error) {
	en := e.place(op, key)
	en.hit(op, key, len(deltas))
	if hot, current := e.hotOf(op, en.t, en.h, key); current && e.incrHotRun(op, hot, deltas, sums) {
		return len(deltas), nil
	}
	en.p.Lock()
	e.look(&en, key)
	n, err = e.incrRun(op, &en, key, deltas, sums)
	en.p.Unlock()
	return n, err
}

// IncrByTimes is IncrBy with delta up to times times, all at one instant: sum is the sum after the first
// time, and the ith is sum + (i-1)*delta. It stops at the first that fails: n is how many were added, err
// why the next was not.
func (e *Engine) IncrByTimes(op *Op, key []byte, delta int64, times int) (sum int64, n int, err error) {
	en := e.place(op, key)
	en.hit(op, key, times)
	if hot, current := e.hotOf(op, en.t, en.h, key); current {
		if sum, ok := e.incrHotTimes(op, hot, delta, times); ok {
			return sum, times, nil
		}
	}
	en.p.Lock()
	e.look(&en, key)
	var deltas, sums [16]int64
	for i := range min(times, len(deltas)) {
		deltas[i] = delta
	}
	for n < times && err == nil {
		k := min(times-n, len(deltas))
		k, err = e.incrRun(op, &en, key, deltas[:k], sums[:k])
		if n == 0 {
			sum = sums[0]
		}
		n += k
	}
	en.p.Unlock()
	return sum, n, err
}

// incrRun is IncrByRun once the entry was found. REQUIRES the lock.
func (e *Engine) incrRun(op *Op, en *entry, key []byte, deltas, sums []int64) (n int, err error) {
	sum, plain := en.p.PlainInt(en.r)
	first := sum
	if !plain {
		if e.checkExpiry(op, en); en.r != 0 {
			if en.p.Kind(en.r) != shards.Int {
				return 0, e.orSeen(op, en, ErrNotInteger)
			}
			sum = en.p.Int(en.r)
		}
		first = sum
	}
	t := en.tally()
	for ; n < len(deltas); n++ {
		old, delta := sum, deltas[n]
		if sum += delta; (sum > old) != (delta > 0) && delta != 0 {
			sum, err = old, ErrOverflow
			break
		}
		if en.c != nil {
			if err = en.c.refuses(sum, delta, &t); err != nil {
				sum = old
				break
			}
		}
		sums[n] = sum
	}
	if n == 0 {
		return 0, e.orSeen(op, en, err)
	}
	if werr := e.beginWrite(en, op); werr != nil {
		return 0, werr
	}
	if plain {
		en.p.SetInt(en.r, sum)
	} else {
		en.r = en.p.PutInt(en.h, key, en.r, sum)
		if op.Writer != nil {
			en.p.Credit(en.r, op.Writer.id, sum-first)
		}
	}
	if !plain || en.c != nil {
		en.putTally(t)
	}
	return n, err
}

// orSeen returns err, the outcome of a command that only read, or why the read may not be answered.
func (e *Engine) orSeen(op *Op, en *entry, err error) error {
	if serr := e.see(en, op); serr != nil {
		return serr
	}
	if serr := e.seeContractOf(op, en.c); serr != nil { // err may tell of it
		return serr
	}
	return err
}

// IncrByFloat adds incr, a number as strtold reads it, to the number at key, 0 where the key is
// absent, in the arithmetic of Redis's long double, and returns the text of the sum, which is valid
// until the next call with op. The expiry stays.
//
// Errors: ErrNotFloat (of the value or of incr), ErrNaNOrInf, where the contract has a range
// ErrNotInteger (of the sum) or ErrLeavesRange, where it has a tally ErrTallied, or why writes are
// refused.
func (e *Engine) IncrByFloat(op *Op, key, incr []byte) ([]byte, error) {
	en := e.lock(op, key)
	defer en.p.Unlock()
	old := longDoubleFromInt(0)
	ok := true
	if en.r != 0 {
		switch en.p.Kind(en.r) {
		case shards.Int:
			old = longDoubleFromInt(en.p.Int(en.r))
		default:
			old, ok = parseLongDouble(en.p.Bytes(en.r))
		}
	}
	add, addOK := parseLongDouble(incr)
	if !ok || !addOK {
		return nil, e.orSeen(op, &en, ErrNotFloat)
	}
	sum, ok := old.add(add)
	if !ok {
		return nil, e.orSeen(op, &en, ErrNaNOrInf)
	}
	op.scratch = sum.appendHuman(op.scratch[:0])
	if err := en.admitsSum(op.scratch); err != nil {
		return nil, e.orSeen(op, &en, err)
	}
	if err := e.beginWrite(&en, op); err != nil {
		return nil, err
	}
	e.put(&en, key, op.scratch)
	return op.scratch, nil
}

// admitsSum returns nil where the contract lets INCRBYFLOAT make sum of en. REQUIRES the lock.
func (en *entry) admitsSum(sum []byte) error {
	if en.c.tallies() {
		return ErrTallied
	}
	if !en.c.bounded() {
		return nil
	}
	n, ok := ParseInt(sum)
	if !ok {
		return ErrNotInteger
	}
	old := int64(0)
	if en.r != 0 {
		if en.p.Kind(en.r) != shards.Int { // a fraction, from before the contract
			return en.c.admits(sum)
		}
		old = en.p.Int(en.r)
	}
	if en.c.leaves(n, int64(cmp.Compare(n, old))) {
		return ErrLeavesRange
	}
	return nil
}

// put makes val the value of key: an integer where val is the canonical text of one, as Redis
// encodes it. The expiry stays. REQUIRES beginWrite.
func (e *Engine) put(en *entry, key, val []byte) {
	if n, ok := ParseInt(val); ok {
		en.r = en.p.PutInt(en.h, key, en.r, n)
	} else {
		en.r = en.p.PutBytes(en.h, key, en.r, val)
	}
}

// ParseInt reads the canonical decimal text of an int64: no '+', no leading zeros, no "-0", no
// spaces (Redis's string2ll).
func ParseInt(b []byte) (int64, bool) {
	const maxDigits = 19
	neg := len(b) > 0 && b[0] == '-'
	d := b
	if neg {
		d = b[1:]
	}
	if len(d) == 0 || len(d) > maxDigits {
		return 0, false
	}
	if d[0] == '0' {
		return 0, len(b) == 1
	}
	var n uint64
	for _, c := range d {
		c -= '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + uint64(c) // 19 digits fit
	}
	if neg {
		return -int64(n), n <= -math.MinInt64
	}
	return int64(n), n <= math.MaxInt64
}
