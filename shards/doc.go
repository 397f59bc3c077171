// Package shards is the resident table: it finds the entry of a key and holds its value.
//
// The nouns:
//
//   - A Table is one logical database: a fixed number of Partitions (a power of two).
//   - A Partition is a lock and what it guards: an index and an arena. A key lives in the partition
//     that the top bits of its Hash name.
//   - The index is an open-addressed array of 8-byte slots (32 bits of hash, 32 bits of Ref), kept
//     in hash order.
//   - A record in the arena holds one entry: header, value, optional expiry, key, and a short
//     string where the value is one. A Ref is a record's position in its partition's arena.
//   - The dirty list names the records written in the partition's current epoch.
//   - A Hot is a promoted counter: cells that are added to without the lock, while the record stays
//     where it is (hot.go, word.go).
//
// Walk of a lookup: Table.Hash hashes the key (SipHash-1-3, keyed per data directory), Table.Part
// takes the partition from the hash's top bits, the caller locks it, Find goes to the slot where
// the next 32 bits belong and steps over at most a handful of neighbours in the same cache line,
// compares 32 bits and, on a match, the key in the arena.
//
// # Why no pointers
//
// Neither the index nor the arena contains a pointer, so the garbage collector does not look inside
// them: 100 million entries cost it nothing. Only values above EmbedMax bytes and sketches live in
// Go's heap, in the partition's blob list. A counter with a 16-byte key costs 32 bytes of arena and
// 8 bytes of index at a load of 53 to 80 percent, 50 to 65 bytes with the slack of both.
//
// # Why in hash order
//
// The home of a slot is a monotone function of its hash, and a run is kept sorted (Robin Hood
// hashing with a total order, as in Celis, Larson & Munro, FOCS 1985). So the whole table is a list
// sorted by hash that also answers lookups in O(1): a scan's cursor is a position in hash order,
// which growth does not disturb, and the store is written in the same order.
//
// # Invariants
//
//   - Everything in a Partition is guarded by its lock, but for the cells of a Hot; functions that need
//     it say REQUIRES.
//   - A record whose dirty flag is set is on the dirty list exactly once, and no other is.
//   - In a logged table a deleted entry stays as a tombstone until its absence was captured.
//   - Refs are valid only until the next insertion into or growth of their partition.
package shards
