package engine

// SetRange overwrites key's value from offset on with val, padding it with zero bytes where it is
// shorter than offset, and returns the new length in bytes. An empty val changes nothing and creates
// nothing. The expiry stays. offset must not be negative.
//
// Errors: ErrTooLong, ErrOutOfRange, or why writes are refused.
func (e *Engine) SetRange(op *Op, key []byte, offset int64, val []byte) (int64, error) {
	en := e.lock(op, key)
	defer en.p.Unlock()
	var digits [20]byte
	old := en.text(digits[:0])
	if len(val) == 0 {
		return int64(len(old)), e.see(&en, op)
	}
	if offset > MaxStringLen-int64(len(val)) {
		return 0, e.orSeen(op, &en, ErrTooLong)
	}
	b := make([]byte, max(len(old), int(offset)+len(val)))
	copy(b, old)
	copy(b[offset:], val)
	if err := en.c.admits(b); err != nil {
		return 0, e.orSeen(op, &en, err)
	}
	if err := e.beginWrite(&en, op); err != nil {
		return 0, err
	}
	e.putOwned(&en, key, b)
	return int64(len(b)), nil
}
