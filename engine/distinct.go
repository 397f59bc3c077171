package engine

import (
	"slices"

	"countd/hll"
	"countd/shards"
)

// PFAdd adds elements to the HyperLogLog at key, creating it where there is none, and reports
// whether it was created or changed.
//
// Errors: ErrNotHLL, ErrCorruptHLL, ErrOutOfRange, or why writes are refused.
func (e *Engine) PFAdd(op *Op, key []byte, elems [][]byte) (bool, error) {
	en := e.lock(op, key)
	defer en.p.Unlock()
	var sketch []byte
	if en.r != 0 {
		b, err := sketchOf(&en)
		if err != nil {
			return false, e.orSeen(op, &en, err)
		}
		sketch = b
	}
	if err := en.c.admitsSketch(); err != nil {
		return false, e.orSeen(op, &en, err)
	}
	if err := e.beginWrite(&en, op); err != nil {
		return false, err
	}
	changed := false
	if en.r == 0 {
		sketch, changed = hll.New(), true
		en.r = en.p.PutBlob(en.h, key, 0, sketch, shards.Sketch)
	} else {
		sketch = ownSketch(&en, key, sketch)
	}
	for _, elem := range elems {
		grown, c, err := hll.Add(sketch, elem)
		if err != nil {
			return false, ErrCorruptHLL // sketchOf checked it, so this is a broken invariant of ours
		}
		sketch = grown
		changed = changed || c
	}
	if changed {
		en.p.SetSketch(en.r, sketch)
	}
	return changed, nil
}

// PFCount estimates the number of distinct elements of the union of the HyperLogLogs at keys; absent
// keys count as empty. With one key the estimate is kept until the sketch changes.
//
// Errors: ErrNotHLL, ErrCorruptHLL.
func (e *Engine) PFCount(op *Op, keys [][]byte) (uint64, error) {
	if len(keys) == 1 {
		return e.pfCountOne(op, keys[0])
	}
	e.lockKeys(op, keys, 1)
	defer e.unlockKeys(op)
	sketches := make([][]byte, 0, len(keys))
	for _, key := range keys {
		en := e.place(op, key)
		if e.find(op, &en, key); en.r == 0 {
			continue
		}
		b, err := sketchOf(&en)
		if err != nil {
			return 0, e.orSeen(op, &en, err)
		}
		sketches = append(sketches, b)
	}
	n, err := hll.Union(sketches...)
	if err != nil {
		return 0, ErrCorruptHLL
	}
	return n, e.seeKeys(op, keys, 1)
}

func (e *Engine) pfCountOne(op *Op, key []byte) (uint64, error) {
	en := e.lock(op, key)
	defer en.p.Unlock()
	en.count()
	if en.r == 0 {
		return 0, e.see(&en, op)
	}
	b, err := sketchOf(&en)
	if err != nil {
		return 0, e.orSeen(op, &en, err)
	}
	if en.p.Kind(en.r) != shards.Sketch {
		b = slices.Clone(b) // a string is never modified, and Count notes the estimate in the sketch
	}
	n, err := hll.Count(b)
	if err != nil {
		return 0, ErrCorruptHLL
	}
	return n, e.see(&en, op)
}

// PFMerge makes the HyperLogLog at dst the union of itself and those at srcs.
//
// Errors: ErrNotHLL, ErrCorruptHLL, ErrOutOfRange (dst is then unchanged), or why writes are refused.
func (e *Engine) PFMerge(op *Op, dst []byte, srcs [][]byte) error {
	keys := append([][]byte{dst}, srcs...)
	e.lockKeys(op, keys, 1)
	defer e.unlockKeys(op)
	sum := hll.New()
	for _, key := range keys {
		en := e.place(op, key)
		if e.find(op, &en, key); en.r == 0 {
			continue
		}
		b, err := sketchOf(&en)
		if err == nil {
			if sum, _, err = hll.Merge(sum, b); err != nil {
				err = ErrCorruptHLL
			}
		}
		if err != nil {
			return e.orSeen(op, &en, err)
		}
	}
	en := e.place(op, dst)
	e.look(&en, dst)
	if err := en.c.admitsSketch(); err != nil {
		return e.orSeen(op, &en, err)
	}
	if err := e.beginWrites(op, keys, 1); err != nil {
		return err
	}
	e.look(&en, dst)
	en.p.PutBlob(en.h, dst, en.r, sum, shards.Sketch)
	return nil
}

// PFSelfTest counts random elements, other ones with each seed, and compares with the library that
// package hll follows. It takes some 20 ms.
func PFSelfTest(seed uint64) error { return hll.SelfTest(seed) }
