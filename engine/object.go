package engine

import "countd/shards"

// Object is what OBJECT tells of a key: how its value is kept.
type Object struct {
	Kind ObjectKind
	Int  int64 // of an ObjectInt
	Len  int   // in bytes, of the others
}

// ObjectKind is how a value is kept.
type ObjectKind uint8

// The kinds of objects.
const (
	ObjectInt ObjectKind = iota
	ObjectBytes
	ObjectSketch // a HyperLogLog
)

// Object returns how the value of key is kept; ok is false where there is none. It is a lookup for
// keyspace_hits, but no use of the key for the detector.
func (e *Engine) Object(op *Op, key []byte) (o Object, ok bool, err error) {
	en := e.lockUnused(op, key)
	defer en.p.Unlock()
	en.count()
	if en.r != 0 {
		switch en.p.Kind(en.r) {
		case shards.Int:
			o = Object{Kind: ObjectInt, Int: en.p.Int(en.r)}
		case shards.Sketch:
			o = Object{Kind: ObjectSketch, Len: len(en.p.Bytes(en.r))}
		default:
			o = Object{Kind: ObjectBytes, Len: len(en.p.Bytes(en.r))}
		}
	}
	return o, en.r != 0, e.see(&en, op)
}

// Frequency returns how often key was used of late, in commands per second; ok is false where
// there is no such key. Like Object it is a lookup, but no use of the key.
func (e *Engine) Frequency(op *Op, key []byte) (rate float64, ok bool, err error) {
	en := e.lockUnused(op, key)
	defer en.p.Unlock()
	en.count()
	if en.r == 0 {
		return 0, false, e.see(&en, op)
	}
	rate, _ = e.detect.Rate(op.DB, uint64(en.h), key)
	return rate, true, e.see(&en, op)
}

// lockUnused is lock without a word to the detector: to look at a key is not to use it.
func (e *Engine) lockUnused(op *Op, key []byte) entry {
	en := e.place(op, key)
	en.p.Lock()
	e.find(op, &en, key)
	return en
}
