package hotkeys

import (
	"encoding/binary"

	"countd/sketch"
)

// Key is a key of one logical database. Hash is the 64-bit hash that Sampler.Hit was given for it.
type Key struct {
	DB   int
	Hash uint64
	Name string
}

// A key is tracked under its raw form, the database before the name, and its id, the hash with the
// database mixed in, since the same name has the same hash in every database.

const (
	dbBytes = 4
	// MaxKeyBytes is the longest key that is tracked. Commands on longer ones count for the total.
	MaxKeyBytes = sketch.MaxKeyBytes - dbBytes
)

// idOf mixes db into h. idOf(db, idOf(db, h)) is h.
func idOf(db int, h uint64) uint64 { return h ^ uint64(uint32(db))*0x9e3779b97f4a7c15 }

// appendRaw appends the raw form.
func appendRaw(b []byte, db int, name []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(db))
	return append(b, name...)
}

// keyOf is the Key of a raw form and an id.
func keyOf(id uint64, raw []byte) Key {
	db := int(binary.LittleEndian.Uint32(raw))
	return Key{DB: db, Hash: idOf(db, id), Name: string(raw[dbBytes:])}
}
