package engine

import (
	"encoding/binary"
	"errors"

	"countd/wal"
)

// position is what the store keeps beside the entries: how far into the log they reach.
type position struct {
	segment wal.SegmentID // the last segment that is in the store
	epoch   uint64        // the last flush that is
	clockMs int64
	spaces  [Databases]uint64
	// contracts are those that SetContract made.
	contracts contractList
	// keys counts the entries of each database; counted is false where that is not known.
	keys    [Databases]int64
	counted bool
}

// positionVersion 1 had no contracts, 2 no keys.
const positionVersion = 3

func (p *position) append(dst []byte) []byte {
	dst = append(dst, positionVersion)
	dst = binary.AppendUvarint(dst, uint64(p.segment))
	dst = binary.AppendUvarint(dst, p.epoch)
	dst = binary.AppendVarint(dst, p.clockMs)
	for _, s := range p.spaces {
		dst = binary.AppendUvarint(dst, s)
	}
	dst = binary.AppendUvarint(dst, uint64(len(p.contracts)))
	for i := range p.contracts {
		dst = appendContract(dst, &p.contracts[i])
	}
	for _, n := range p.keys {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	return dst
}

var errPosition = errors.New("engine: the store's position record is malformed")

// decodePosition reads a position; nil is that of an empty store.
func decodePosition(b []byte) (position, error) {
	if b == nil {
		return position{spaces: newSpaces(), counted: true}, nil
	}
	d := decoder{b: b}
	version := d.byte()
	if version > positionVersion {
		return position{}, newerFormat("the store's position record", int(version), positionVersion)
	}
	if version < 1 {
		return position{}, errPosition
	}
	p := position{segment: wal.SegmentID(d.uvarint()), epoch: d.uvarint(), clockMs: d.varint()}
	for db := range p.spaces {
		p.spaces[db] = d.uvarint()
	}
	if version >= 2 {
		n := d.uvarint()
		if n > MaxContracts {
			return position{}, errPosition
		}
		for ; n > 0 && d.err == nil; n-- {
			p.contracts.set(d.contract())
		}
	}
	if p.counted = version >= 3; p.counted {
		for db := range p.keys {
			p.keys[db] = int64(d.uvarint())
		}
	}
	if d.err != nil || len(d.b) != 0 {
		return position{}, errPosition
	}
	return p, nil
}

// total is how many entries there are in all databases, -1 where that is not known.
func (p *position) total() (sum int64) {
	if !p.counted {
		return -1
	}
	for _, n := range p.keys {
		sum += n
	}
	return sum
}

// change takes an image that is not of an entry, and reports whether it was one.
func (p *position) change(im *image) bool {
	switch im.op {
	case imageSpace:
		p.spaces[im.db] = im.space
	case imageContract:
		p.contracts.set(*im.contract)
	case imageNoContract:
		p.contracts.remove(im.contract.Glob)
	default:
		return false
	}
	return true
}

// dbOf returns the database whose space it is, or -1.
func (p *position) dbOf(space uint64) int {
	for db, s := range p.spaces {
		if s == space {
			return db
		}
	}
	return -1
}
