// Package engine is the database: keys and their values, what a command does to them, when it is
// durable, and how it comes back after a crash. It knows no sockets and no Redis text.
//
// The nouns:
//
//   - An Engine is one open data directory, or memory alone (FsyncOff).
//   - An Op is what one caller carries from call to call: database, instant, and the highest epoch
//     that its replies wait for.
//   - A Contract says what the counters promise whose keys match a glob.
//   - An epoch is the span between two flushes. Every write belongs to one.
//   - An image says what an entry is (or that it is absent) at the end of an epoch.
//   - A flush closes an epoch and makes the images of all that was written in it durable at once.
//   - A merge carries sealed log segments over into the store and drops them.
//
// # Walk of an INCRBY
//
// IncrBy hashes the key, locks its partition (package shards), finds the entry, lets it expire,
// checks the addition for overflow, calls beginWrite, stores the sum and unlocks. beginWrite puts
// the partition on its table's list of what a flush must visit and reads the epoch; where the
// partition still holds unflushed writes of the epoch before, it first captures their images, so that
// they are not mixed with the new ones. Where the key's durability is always (durability.go) it notes
// the epoch in Op.Seen.
//
// A flush (commit.go) adds one to the epoch, then visits the listed partitions under their locks,
// takes what was captured and captures the rest, and writes all images as one atomic unit to the
// log. The images are those of one instant: see the comment of Engine.collect.
//
// # Invariants
//
//  1. A partition's dirty list holds writes of one epoch, Partition.Epoch.
//  2. Pending images of a partition belong to the epoch that is being flushed; a flush ends its
//     visits before the next epoch is closed.
//  3. Durable() rises to an epoch only after every image of it is in the log and synced, whatever the
//     policy.
//  4. The store never holds what the log did not, and the log shrinks only after the store holds
//     its images durably.
package engine
