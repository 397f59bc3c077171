package engine

// Del deletes keys, all at one instant, and returns how many there were.
func (e *Engine) Del(op *Op, keys [][]byte) (int64, error) {
	e.lockKeys(op, keys, 1)
	defer e.unlockKeys(op)
	found := false
	for _, key := range keys { // what has expired goes first: it is not of this command's epoch
		en := e.place(op, key)
		e.find(op, &en, key)
		found = found || en.r != 0
	}
	if !found {
		return 0, e.seeKeys(op, keys, 1)
	}
	if err := e.beginWrites(op, keys, 1); err != nil {
		return 0, err
	}
	n := int64(0)
	for _, key := range keys {
		en := e.place(op, key)
		if e.look(&en, key); en.r != 0 {
			en.p.Delete(en.h, en.r)
			n++
		}
	}
	return n, nil
}

// Exists returns how many of keys there are; a key that is named twice counts twice.
func (e *Engine) Exists(op *Op, keys [][]byte) (int64, error) {
	e.lockKeys(op, keys, 1)
	defer e.unlockKeys(op)
	n := int64(0)
	for _, key := range keys {
		en := e.place(op, key)
		e.find(op, &en, key)
		en.count()
		if en.r != 0 {
			n++
		}
	}
	return n, e.seeKeys(op, keys, 1)
}

// TypeOf returns the type of key, TypeNone where there is none.
func (e *Engine) TypeOf(op *Op, key []byte) (Type, error) {
	en := e.lock(op, key)
	defer en.p.Unlock()
	t := TypeNone
	if en.r != 0 {
		t = TypeString
	}
	return t, e.see(&en, op)
}

// Expire sets key's expiry instant where cond allows it; an instant not after op.NowMs deletes the
// key. It reports whether it did either.
func (e *Engine) Expire(op *Op, key []byte, atMs int64, cond ExpireCond) (bool, error) {
	en := e.lock(op, key)
	defer en.p.Unlock()
	if en.r == 0 || !cond.allows(en.p.ExpireAt(en.r), atMs) {
		return false, e.see(&en, op)
	}
	if err := e.beginWrite(&en, op); err != nil {
		return false, err
	}
	if atMs <= op.NowMs {
		en.p.Delete(en.h, en.r)
	} else {
		en.p.SetExpireAt(en.h, en.r, atMs)
	}
	return true, nil
}

// allows reports whether an expiry of at may replace one of old; NoExpiry is later than any.
func (c ExpireCond) allows(old, at int64) bool {
	return !(c&ExpireNX != 0 && old != NoExpiry ||
		c&ExpireXX != 0 && old == NoExpiry ||
		c&ExpireGT != 0 && at <= old ||
		c&ExpireLT != 0 && at >= old)
}

// ExpireAt returns key's expiry instant, NoExpiry where it has none.
func (e *Engine) ExpireAt(op *Op, key []byte) (atMs int64, exists bool, err error) {
	en := e.lock(op, key)
	defer en.p.Unlock()
	if en.r == 0 {
		return 0, false, e.see(&en, op)
	}
	return en.p.ExpireAt(en.r), true, e.see(&en, op)
}

// Persist removes key's expiry and reports whether there was one.
func (e *Engine) Persist(op *Op, key []byte) (bool, error) {
	en := e.lock(op, key)
	defer en.p.Unlock()
	if en.r == 0 || en.p.ExpireAt(en.r) == NoExpiry {
		return false, e.see(&en, op)
	}
	if err := e.beginWrite(&en, op); err != nil {
		return false, err
	}
	en.p.SetExpireAt(en.h, en.r, NoExpiry)
	return true, nil
}
