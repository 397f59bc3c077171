package engine

import "encoding/binary"

// A contract as images and the store's position carry it (wal/FORMAT.md draws the bytes):
//
//	uvarint glob length, glob, replies, durability, uvarint shards, uvarint staleness in ms,
//	has, [varint min], [varint max]
//	has = contractHasMin | contractHasMax | contractHasTally
const (
	contractHasMin   = 1 << 0
	contractHasMax   = 1 << 1
	contractHasTally = 1 << 2
)

func appendContractImage(dst []byte, c *Contract) []byte {
	return appendContract(append(dst, imageContract), c)
}

func appendContractDeleteImage(dst []byte, glob string) []byte {
	dst = append(dst, imageNoContract)
	dst = binary.AppendUvarint(dst, uint64(len(glob)))
	return append(dst, glob...)
}

func appendContract(dst []byte, c *Contract) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(c.Glob)))
	dst = append(dst, c.Glob...)
	dst = append(dst, byte(c.Replies), byte(c.Durability))
	dst = binary.AppendUvarint(dst, uint64(c.Shards))
	dst = binary.AppendUvarint(dst, uint64(c.StalenessMs))
	has := byte(0)
	if c.HasMin {
		has |= contractHasMin
	}
	if c.HasMax {
		has |= contractHasMax
	}
	if c.Tally {
		has |= contractHasTally
	}
	dst = append(dst, has)
	if c.HasMin {
		dst = binary.AppendVarint(dst, c.Min)
	}
	if c.HasMax {
		dst = binary.AppendVarint(dst, c.Max)
	}
	return dst
}

// contract reads a contract; one that SetContract would refuse is malformed.
func (d *decoder) contract() Contract {
	c := Contract{Glob: string(d.bytes(MaxGlobBytes))}
	c.Replies, c.Durability = Replies(d.byte()), FsyncPolicy(d.byte())
	shards, staleness := d.uvarint(), d.uvarint()
	if c.Replies > RepliesRelaxed || c.Durability > FsyncAlways ||
		shards > MaxShards || staleness > MaxStalenessMs {
		d.bad()
	}
	c.Shards, c.StalenessMs = int(shards), int64(staleness)
	has := d.byte()
	if has > contractHasMin|contractHasMax|contractHasTally {
		d.bad()
	}
	c.HasMin, c.HasMax = has&contractHasMin != 0, has&contractHasMax != 0
	c.Tally = has&contractHasTally != 0
	if c.HasMin {
		c.Min = d.varint()
	}
	if c.HasMax {
		c.Max = d.varint()
	}
	if d.err == nil && c.Check(true) != nil {
		d.bad()
	}
	return c
}
