package store

// Keys of the database. A first byte keeps the position apart from the entries:
//
//	00 'p' 'o' 's'   the position
//	01 key           an entry
//
// 02 is above all entries.
const (
	metaSpace  = 0x00
	entrySpace = 0x01
	endSpace   = 0x02
)

// positionKey returns the key of the position, which sorts before all entries.
func positionKey() []byte { return []byte{metaSpace, 'p', 'o', 's'} }

// appendEntryKey appends the database's key of an entry.
func appendEntryKey(dst, key []byte) []byte { return append(append(dst, entrySpace), key...) }

// bounds returns the database's bounds of the entries with lo <= key < hi, where
// a nil hi is above all keys.
func bounds(lo, hi []byte) (lower, upper []byte) {
	if hi == nil {
		return appendEntryKey(nil, lo), []byte{endSpace}
	}
	return appendEntryKey(nil, lo), appendEntryKey(nil, hi)
}
