// Package wal is the log: it makes flushes durable and gives back, after a crash, exactly those that
// were.
//
// The nouns:
//
//   - A chunk is up to 1 MiB of bytes that the log does not look into (the engine's images).
//   - A flush is a list of chunks that is there as a whole or not at all. It has an epoch, which
//     rises, and a meta, a few bytes of the caller's (the clock, key counts).
//   - A segment is a file of flushes. One is active, the others are sealed: synced, never written
//     again, read by the merger and removed when their content is durable elsewhere.
//   - A commit record ends a flush. What has none was never acknowledged and is ignored.
//
// # The main path
//
// Whoever leads a flush calls Append, then Sync. Append encodes the records of the flush into one
// buffer and hands it to the OS in one write; Sync is fdatasync. Both run on the caller's goroutine
// and allocate nothing. When ShouldRotate says so, Rotate seals the segment and starts the next;
// the merger then calls ReadSegment and Remove, from its own goroutine.
//
// Examine, Mend and ReadLost look at a log that nobody has open, for checks and repairs; they change
// nothing.
//
// A start calls Open, which cuts off a torn tail, then Replay. The first Append starts a new
// segment, so nothing is ever written behind a place that was torn.
//
// # Pebble's format, and how much of Pebble's code
//
// Bytes are framed as in Pebble's write-ahead log (FORMAT.md) and read by pebble/v2/record's Reader
// over pebble/v2/vfs. They are framed by an encoder of our own, because neither of Pebble's does
// what the hot path needs:
//
//   - record.LogWriter flushes and syncs in a goroutine of its own. Under appendfsync always the
//     hops cost more than the sync: 20 µs of CPU a command against 14 in place, measured with a prototype.
//   - record.Writer is in place, but writes the oldest framing, without log numbers and synced
//     offsets; calls the OS for every 32 KiB block; allocates for every record; and cannot go back
//     over a flush that found the disk full.
//
// record.Reader is used only where the fragments are known to be intact. In front of a damaged one
// it takes a log number one too high for a clean end, without a look at the checksum; it looks for
// proof of corruption only from the next 32 KiB block on, which is hundreds of small flushes further;
// and it tries every single-bit repair, most of a second for a full block. So Open walks the
// fragments itself (tail.go).
//
// # Torn or corrupt
//
// A crash may leave a torn flush at the end; a disk may lose bytes anywhere. The log tells them
// apart by what it wrote before: each fragment carries the offset up to which its segment had been
// synced when it was written, and each segment begins with a header that names the one before and
// where that one ends. A bad record in front of a fragment that was written after a sync beyond it
// is ErrCorrupt, and so is a segment that ends before the offset its successor names. Any other bad
// tail of the newest segment is torn: it is overwritten with zeros (vfs has no truncate) and synced.
//
// # Space and the price of a sync
//
// A new segment is preallocated with fallocate, so that a full disk shows before a flush is begun.
// That alone makes no sync cheaper: vfs preallocates behind the end of the file, so every append
// still changes the file's size, which fdatasync must journal. So a small flush that reaches the
// end of the zeros takes along 256 KiB of zeros in the same write, and those that follow overwrite
// them. Recycling old segments would do the same without the zeros, but a stale block between new
// ones could then pass for part of a torn flush, and the gain is below what can be measured.
//
// Mean of write and fdatasync, in µs, on ext4 on a virtual disk, 2 cores, idle; 900 flushes each
// (2 runs):
//
//	                          100 B       2 KiB      64 KiB
//	nothing preallocated      138–158     152–161    192–199
//	fallocate, size kept      145–149     148–160    177–191
//	fallocate, size set       104–105¹    116–150    184–193
//	whole segment of zeros    100–101    102–109    109–132   and 30 ms for 64 MiB to begin with
//	zeros ahead, 64 KiB        98–99       94–108    155–175
//	zeros ahead, 256 KiB       96–100     103–109    142–150   <- chosen
//	zeros ahead, 1 MiB        101–102     103–111    135–152   p99 0.7 ms at 64 KiB
//
//	¹ flushes of 64 B; vfs.File.Preallocate cannot ask for it
//
// BenchmarkAppendSync repeats the comparison with taking turns; under load, medians: 64 B 100–126 µs
// against 132–162 bare, 2 KiB 106–129 against 166–220, 64 KiB 175–213 against 238–487. Append itself
// takes 1.6 µs for 64 B, and replay reads 4 GB/s from the page cache.
//
// # Failures
//
// ErrFailed is final, ErrSyncFailed among it: nothing can be appended any more, and only a new Open
// tells what is on disk. ErrDiskFull is not: what was written of the flush is overwritten with zeros
// and synced before anything else is written, and the caller tries again when it likes: nothing is written
// until there is room for it (room.go).
//
// # A disk that stalls
//
// Without a failover a write or sync that does not end is waited for. With one (failover.go) the log goes on
// in another directory, and each operation runs in a goroutine of its own, which costs two wake-ups.
//
// # Invariants
//
//   - Every flush appended before a Sync that answered nil is replayed, unaltered, until it is removed
//     (TestCrashKeepsWhatWasSynced, TestCrashAfterCrash, TestEveryOperationFailsOnce).
//   - What is replayed is a prefix of what was appended (the same tests).
//   - A full disk at any byte loses nothing (TestAFullDiskLosesNothing).
//   - A stall of either disk or both, at any operation, loses nothing, whatever becomes of what stalled
//     (TestStallsAtRandom, TestAStalledDiskIsLeft, TestADiskStallsInTheRename,
//     TestEveryOperationOfAFailoverFailsOnce).
//   - Damage alters and invents nothing, and loses nothing in the middle (TestEachFlippedByte,
//     TestEachLength, FuzzSegment).
//   - The bytes are Pebble's format (TestPebbleReadsOurSegments).
//   - A small Append allocates nothing and is one write (TestASmallAppendAllocatesNothing,
//     TestAFlushIsOneWrite).
//
// # Caveats
//
//   - If the disk loses the end of what was synced last, with nothing written after it, that cannot be
//     told from a torn tail. ReplayInfo.TruncatedBytes says what was cut off. An empty flush behind it
//     is such a thing: the engine appends one when it rests.
//   - Two processes on one directory are not prevented here; the owner of the data directory locks it.
//   - Remove needs an active segment to take away the newest sealed one.
//   - The preallocation covers SegmentBytes; a flush that goes beyond may find the disk full halfway.
package wal
