package shards

import "encoding/binary"

// Ref is the position of a record in its partition's arena, in units of 8 bytes; 0 is no record.
type Ref uint32

// Kind says what a record holds.
type Kind uint8

// The kinds of records.
const (
	// Tombstone: the entry was deleted and its absence is not captured yet.
	Tombstone Kind = iota
	// Int: an integer, in the value word.
	Int
	// Embedded: a string of at most EmbedMax bytes behind the key; the value word is its length.
	Embedded
	// Blob: a longer string in the heap, never modified in place; the value word is its handle.
	Blob
	// Sketch: a HyperLogLog in the heap, modified in place; the value word is its handle.
	Sketch

	moved  // the record went to the Ref in the value word, same arena
	copied // the record went to the Ref in the value word, next arena
)

// EmbedMax is the longest string in bytes that is kept in the arena.
const EmbedMax = 64

// A record, little endian:
//
//	+0   4  key length in bytes
//	+4   1  kind
//	+5   1  flags
//	+6   2  size in units of 8 bytes; 0xffff: exactly what header, key and value need
//	+8   8  value word
//	+16  8  expiry in Unix milliseconds (only with flagExpiry)
//	...  16 ups and downs (only with flagTally; tally.go)
//	...     key, then the embedded string, padded to 8 bytes
const (
	headerBytes = 16
	expiryBytes = 8

	flagDirty  = 1 << 0
	flagExpiry = 1 << 1
	flagHot    = 1 << 2 // a Hot stands for the record; see settle
	flagTally  = 1 << 3
	flagOld    = 1 << 4 // with flagUsed, how worth keeping the record is; see evict.go

	// roomFlags say what lies between header and key.
	roomFlags = flagExpiry | flagTally

	// The generation of the record's last capture, 0 where its value is in the owner's store; see
	// resident.go.
	genShift = 5
	genMask  = 3 << genShift
	flagUsed = 1 << 7

	maxUnits = 0xffff
)

// arena holds a partition's records. It only ever appends; what was freed comes back when the
// partition moves to a new arena.
type arena []byte

func (a arena) at(r Ref) []byte         { return a[uint64(r)*8:] }
func (a arena) keyLen(r Ref) int        { return int(binary.LittleEndian.Uint32(a.at(r))) }
func (a arena) kind(r Ref) Kind         { return Kind(a.at(r)[4]) }
func (a arena) setKind(r Ref, k Kind)   { a.at(r)[4] = byte(k) }
func (a arena) flags(r Ref) byte        { return a.at(r)[5] }
func (a arena) word(r Ref) uint64       { return binary.LittleEndian.Uint64(a.at(r)[8:]) }
func (a arena) setWord(r Ref, w uint64) { binary.LittleEndian.PutUint64(a.at(r)[8:], w) }
func (a arena) setFlag(r Ref, f byte)   { a.at(r)[5] |= f }
func (a arena) clearFlag(r Ref, f byte) { a.at(r)[5] &^= f }
func (a arena) gen(r Ref) byte          { return a.at(r)[5] & genMask >> genShift }
func (a arena) setGen(r Ref, g byte)    { a.at(r)[5] = a.at(r)[5]&^genMask | g<<genShift }

func (a arena) keyOffset(r Ref) int {
	return headerBytes + room(a.flags(r))
}

// room is the size of what lies between header and key.
func room(flags byte) int {
	return int(flags&flagExpiry)*(expiryBytes/flagExpiry) + int(flags&flagTally)*(tallyBytes/flagTally)
}

func (a arena) key(r Ref) []byte {
	b := a.at(r)
	o := a.keyOffset(r)
	n := int(binary.LittleEndian.Uint32(b))
	return b[o : o+n : o+n]
}

func (a arena) embedded(r Ref) []byte {
	b := a.at(r)
	o := a.keyOffset(r) + a.keyLen(r)
	n := int(a.word(r))
	return b[o : o+n : o+n]
}

func recordUnits(keyLen, embedLen int, flags byte) int {
	return (headerBytes + room(flags) + keyLen + embedLen + 7) / 8
}

// units is how much of the arena record r owns.
func (a arena) units(r Ref) int {
	if u := int(binary.LittleEndian.Uint16(a.at(r)[6:])); u != maxUnits {
		return u
	}
	embed := 0
	if a.kind(r) == Embedded {
		embed = int(a.word(r))
	}
	return recordUnits(a.keyLen(r), embed, a.flags(r))
}
