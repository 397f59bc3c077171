package engine

import (
	"cmp"
	"slices"

	"countd/hll"
	"countd/shards"
)

// Get returns the value of key; Value.Exists is false where there is none.
func (e *Engine) Get(op *Op, key []byte) (Value, error) { return e.GetTimes(op, key, 1) }

// GetTimes is Get, and counts as times reads.
func (e *Engine) GetTimes(op *Op, key []byte, times int) (Value, error) {
	en := e.place(op, key)
	en.hit(op, key, times)
	if hot, current := e.hotOf(op, en.t, en.h, key); hot != nil {
		if n, ok := e.getHot(op, hot, current, times); ok {
			return Value{Exists: true, IsInt: true, Int: n}, nil
		}
	}
	en.p.Lock()
	e.find(op, &en, key)
	en.countTimes(times)
	op.scratch = op.scratch[:0]
	v, err := e.value(op, &en), e.see(&en, op)
	en.p.Unlock() // no defer: this is a hot path
	return v, err
}

// GetNow is Get, but never answers from a total that the contract of a hot counter lets be a little old.
func (e *Engine) GetNow(op *Op, key []byte) (Value, error) {
	en := e.lock(op, key)
	defer en.p.Unlock()
	en.count()
	op.scratch = op.scratch[:0]
	return e.value(op, &en), e.see(&en, op)
}

// value reads en's value; bytes that may change go to the end of op.scratch. REQUIRES the lock.
func (e *Engine) value(op *Op, en *entry) Value {
	if en.r == 0 {
		return Value{}
	}
	switch en.p.Kind(en.r) {
	case shards.Int:
		return Value{Exists: true, IsInt: true, Int: en.p.Int(en.r)}
	case shards.Blob: // never modified in place
		return Value{Exists: true, Bytes: en.p.Bytes(en.r)}
	default:
		start := len(op.scratch)
		op.scratch = append(op.scratch, en.p.Bytes(en.r)...)
		return Value{Exists: true, Bytes: op.scratch[start:len(op.scratch):len(op.scratch)]}
	}
}

// MGet returns the values of keys at one instant. The slice is valid until the next call with op.
func (e *Engine) MGet(op *Op, keys [][]byte) ([]Value, error) {
	e.lockKeys(op, keys, 1)
	defer e.unlockKeys(op)
	op.values, op.scratch = op.values[:0], op.scratch[:0]
	for _, key := range keys {
		en := e.place(op, key)
		en.hit(op, key, 1)
		e.find(op, &en, key)
		en.count()
		op.values = append(op.values, e.value(op, &en))
	}
	return op.values, e.seeKeys(op, keys, 1)
}

// Set makes val the value of key as o says. done is false where the condition failed; old is the
// value before, where o.WantOld asks for it.
//
// Errors: ErrTooLong, ErrOutOfRange, or why writes are refused.
func (e *Engine) Set(op *Op, key, val []byte, o SetOptions) (old Value, done bool, err error) {
	if len(val) > MaxStringLen {
		return Value{}, false, ErrTooLong
	}
	en := e.lock(op, key)
	defer en.p.Unlock()
	if o.WantOld {
		op.scratch = op.scratch[:0]
		old = e.value(op, &en)
		en.count()
	}
	if (o.Cond == SetNX && en.r != 0) || (o.Cond == SetXX && en.r == 0) {
		return old, false, e.see(&en, op)
	}
	if err := en.c.admits(val); err != nil {
		return Value{}, false, e.orSeen(op, &en, err)
	}
	if err := e.beginWrite(&en, op); err != nil {
		return Value{}, false, err
	}
	if o.Own {
		e.putOwned(&en, key, val)
	} else {
		e.put(&en, key, val)
	}
	switch {
	case o.ExpireAtMs != 0 && o.ExpireAtMs != NoExpiry:
		if o.ExpireAtMs < op.NowMs {
			en.p.Delete(en.h, en.r)
		} else {
			en.p.SetExpireAt(en.h, en.r, o.ExpireAtMs)
		}
	case !o.KeepTTL:
		en.p.SetExpireAt(en.h, en.r, NoExpiry)
	}
	return old, true, nil
}

// MSet sets kv[0], kv[2], … to kv[1], kv[3], …, all at one instant; with nx only if none of the keys
// exists. The keys' expiries go. len(kv) must be even.
//
// Errors: ErrTooLong, ErrOutOfRange, or why writes are refused; then no key is set.
func (e *Engine) MSet(op *Op, kv [][]byte, nx bool) (done bool, err error) {
	for i := 1; i < len(kv); i += 2 {
		if len(kv[i]) > MaxStringLen {
			return false, ErrTooLong
		}
	}
	e.lockKeys(op, kv, 2)
	defer e.unlockKeys(op)
	for i := 0; nx && i < len(kv); i += 2 {
		en := e.place(op, kv[i])
		if e.find(op, &en, kv[i]); en.r != 0 {
			return false, e.seeKeys(op, kv, 2)
		}
	}
	for i := 0; i < len(kv); i += 2 {
		c := e.contractOf(kv[i])
		if err := c.admits(kv[i+1]); err != nil {
			return false, cmp.Or(e.seeKeys(op, kv, 2), e.seeContractOf(op, c), err)
		}
	}
	if err := e.beginWrites(op, kv, 2); err != nil {
		return false, err
	}
	for i := 0; i < len(kv); i += 2 {
		en := e.place(op, kv[i])
		en.hit(op, kv[i], 1)
		e.look(&en, kv[i])
		e.put(&en, kv[i], kv[i+1])
		en.p.SetExpireAt(en.h, en.r, NoExpiry)
	}
	return true, nil
}

// GetDel returns the value of key and deletes it.
func (e *Engine) GetDel(op *Op, key []byte) (Value, error) {
	en := e.lock(op, key)
	defer en.p.Unlock()
	en.count()
	if en.r == 0 {
		return Value{}, e.see(&en, op)
	}
	if err := e.beginWrite(&en, op); err != nil {
		return Value{}, err
	}
	op.scratch = op.scratch[:0]
	v := e.value(op, &en)
	en.p.Delete(en.h, en.r)
	return v, nil
}

// GetEx returns the value of key and changes its expiry: to atMs (one before op.NowMs deletes the
// key), to none with NoExpiry, not at all with 0.
func (e *Engine) GetEx(op *Op, key []byte, atMs int64) (Value, error) {
	en := e.lock(op, key)
	defer en.p.Unlock()
	en.count()
	op.scratch = op.scratch[:0]
	v := e.value(op, &en)
	if en.r == 0 || atMs == 0 {
		return v, e.see(&en, op)
	}
	if err := e.beginWrite(&en, op); err != nil {
		return Value{}, err
	}
	if atMs <= op.NowMs {
		en.p.Delete(en.h, en.r)
	} else {
		en.p.SetExpireAt(en.h, en.r, atMs)
	}
	return v, nil
}

// Strlen returns the length in bytes of key's value, 0 where there is none.
func (e *Engine) Strlen(op *Op, key []byte) (int64, error) {
	en := e.lock(op, key)
	defer en.p.Unlock()
	en.count()
	var digits [20]byte
	return int64(len(en.text(digits[:0]))), e.see(&en, op)
}

// sketchOf returns en's value as a HyperLogLog to read, or ErrNotHLL. REQUIRES the lock.
func sketchOf(en *entry) ([]byte, error) {
	if en.p.Kind(en.r) == shards.Int {
		return nil, ErrNotHLL
	}
	b := en.p.Bytes(en.r)
	if en.p.Kind(en.r) == shards.Sketch {
		return b, nil
	}
	if !hll.IsSketch(b) {
		return nil, ErrNotHLL
	}
	if hll.Valid(b) != nil {
		return nil, ErrCorruptHLL
	}
	return b, nil
}

// ownSketch makes en's value, a sketch or a string that is one, a Sketch that may be modified in
// place. REQUIRES beginWrite.
func ownSketch(en *entry, key []byte, b []byte) []byte {
	if en.p.Kind(en.r) != shards.Sketch {
		b = slices.Clone(b)
		en.r = en.p.PutBlob(en.h, key, en.r, b, shards.Sketch)
	}
	return b
}
