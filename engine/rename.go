package engine

import "bytes"

// Rename gives the value of src and its expiry to dst, whose own go, and deletes src, all at one
// instant; with nx only if dst is absent, which done tells. To rename a key to itself changes nothing
// and is done without nx.
//
// Errors: ErrNoKey where src is absent, ErrOutOfRange, or why writes are refused; nothing is changed
// then.
func (e *Engine) Rename(op *Op, src, dst []byte, nx bool) (done bool, err error) {
	pr := e.lockPair(op, src, op.DB, dst)
	defer pr.unlock()
	switch {
	case pr.from.r == 0:
		return false, e.orSeen(op, &pr.from, ErrNoKey)
	case bytes.Equal(src, dst):
		return !nx, e.see(&pr.from, op)
	case nx && pr.to.r != 0:
		return false, e.seePair(op, &pr)
	}
	return e.transfer(op, &pr, pr.from.content(op), false)
}

// Move is Rename with nx from op's database to the same key of database db, which must be another. done
// is also false where the key is absent.
//
// Errors: ErrOutOfRange, or why writes are refused.
func (e *Engine) Move(op *Op, key []byte, db int) (done bool, err error) {
	pr := e.lockPair(op, key, db, key)
	defer pr.unlock()
	if pr.from.r == 0 || pr.to.r != 0 {
		return false, e.seePair(op, &pr)
	}
	return e.transfer(op, &pr, pr.from.content(op), false)
}

// Copy gives dst in database db the value of src in op's database and its expiry. done is false where
// src is absent, and where dst is there and replace is not set. The two must not be one key.
//
// Errors: ErrOutOfRange, or why writes are refused.
func (e *Engine) Copy(op *Op, src []byte, db int, dst []byte, replace bool) (done bool, err error) {
	pr := e.lockPair(op, src, db, dst)
	defer pr.unlock()
	pr.from.count()
	if pr.from.r == 0 || pr.to.r != 0 && !replace {
		return false, e.seePair(op, &pr)
	}
	return e.transfer(op, &pr, pr.from.content(op).copy(), true)
}

// transfer makes v, the content of the source, that of the destination, and deletes the source unless
// keep is set. REQUIRES lockPair.
func (e *Engine) transfer(op *Op, pr *pair, v content, keep bool) (done bool, err error) {
	if err := pr.to.c.admitsContent(&v); err != nil {
		return false, e.orSeen(op, &pr.to, err)
	}
	if err := e.beginWritePair(op, pr); err != nil {
		return false, err
	}
	pr.to.putContent(pr.dst, v)
	if !keep {
		e.look(&pr.from, pr.src) // the insertion may have moved it
		pr.from.p.Delete(pr.from.h, pr.from.r)
	}
	return true, nil
}
