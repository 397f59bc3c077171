package engine

import "encoding/binary"

// flushMeta goes with every flush.
type flushMeta struct {
	clockMs int64
	keys    [Databases]int64
}

func (m *flushMeta) append(dst []byte) []byte {
	dst = binary.AppendVarint(dst, m.clockMs)
	for _, n := range m.keys {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	return dst
}

func (m *flushMeta) decode(b []byte) error {
	d := decoder{b: b}
	m.clockMs = d.varint()
	for db := range m.keys {
		m.keys[db] = int64(d.uvarint())
	}
	return d.err
}
