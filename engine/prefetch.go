package engine

// Prefetch brings the entries of keys into the processor's cache, so that the calls that follow do not
// wait for memory one after the other. It is a hint: it changes nothing and may do nothing.
func (e *Engine) Prefetch(op *Op, keys [][]byte) {
	t := e.tables[op.DB].Load()
	if t == nil {
		return
	}
	op.ahead = op.ahead[:0]
	for _, key := range keys {
		op.ahead = append(op.ahead, t.Hash(key))
	}
	t.Prefetch(op.ahead)
}
