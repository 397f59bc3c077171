package engine

import (
	"slices"
	"strconv"

	"countd/shards"
)

// Append puts val behind key's value, which is empty where there is none, and returns the new length in
// bytes. The expiry stays.
//
// Errors: ErrTooLong, ErrOutOfRange, or why writes are refused.
func (e *Engine) Append(op *Op, key, val []byte) (int64, error) {
	en := e.lock(op, key)
	defer en.p.Unlock()
	var digits [20]byte
	old := en.text(digits[:0])
	if en.r != 0 && len(val) == 0 {
		return int64(len(old)), e.see(&en, op)
	}
	if len(val) > MaxStringLen-len(old) {
		return 0, e.orSeen(op, &en, ErrTooLong)
	}
	b := val
	switch {
	case en.r == 0: // put copies it
	case en.p.Kind(en.r) == shards.Blob: // the room behind it is this key's alone, and nobody reads there
		b = append(old, val...)
	default:
		b = append(slices.Clip(old), val...)
	}
	if err := en.c.admits(b); err != nil {
		return 0, e.orSeen(op, &en, err)
	}
	if err := e.beginWrite(&en, op); err != nil {
		return 0, err
	}
	if en.r == 0 {
		e.put(&en, key, b)
	} else {
		e.putOwned(&en, key, b)
	}
	return int64(len(b)), nil
}

// putOwned is put, and b is the engine's from now on.
func (e *Engine) putOwned(en *entry, key, b []byte) {
	if len(b) > shards.EmbedMax {
		en.r = en.p.PutBlob(en.h, key, en.r, b, shards.Blob)
	} else {
		e.put(en, key, b)
	}
}

// text returns the bytes of en's value: those of an integer are appended to dst, which must be empty,
// others are those that the entry has. REQUIRES the lock.
func (en *entry) text(dst []byte) []byte {
	switch {
	case en.r == 0:
		return nil
	case en.p.Kind(en.r) == shards.Int:
		return strconv.AppendInt(dst, en.p.Int(en.r), 10)
	default:
		return en.p.Bytes(en.r)
	}
}

// GetRange returns the bytes of key's value from start to end, both inclusive; negative ones count from
// the value's end, -1 being the last byte. What lies outside the value is left out. The slice is valid
// until the next call with op.
func (e *Engine) GetRange(op *Op, key []byte, start, end int64) ([]byte, error) {
	en := e.lock(op, key)
	defer en.p.Unlock()
	en.count()
	var digits [20]byte
	b := cutRange(en.text(digits[:0]), start, end)
	if en.r != 0 && en.p.Kind(en.r) != shards.Blob {
		op.scratch = append(op.scratch[:0], b...)
		b = op.scratch
	}
	return b, e.see(&en, op)
}

// cutRange cuts b as GETRANGE does.
func cutRange(b []byte, start, end int64) []byte {
	n := int64(len(b))
	if start < 0 && end < 0 && start > end {
		return nil
	}
	if start < 0 {
		start = max(n+start, 0)
	}
	if end < 0 {
		end = max(n+end, 0)
	}
	if end = min(end, n-1); start > end {
		return nil
	}
	return b[start : end+1 : end+1]
}
