/*
Package store keeps what the log has already secured: a Pebble database that
receives sealed log segments, merged, and answers reads of keys that are not in
memory.

# The nouns

  - An entry is a key and a value. The store knows nothing about what they mean.
  - A merge is the content of some log segments: the last image of each key that
    was written, in key order. Apply takes one.
  - The position is a few bytes that say up to where in the log the store has come.
    The store does not read them; they change with the merge that they belong to.

# The walk of a merge

The engine seals segments, merges them, and calls Apply with the position after
them. Apply writes sorted tables into a directory of its own, syncs them, and has
Pebble link them into the database with one MANIFEST record, which is synced. Then
the segments may go. On a restart Position says where replay begins.

	log:    [seg 7][seg 8][seg 9][seg 10 ...        Position: "after 6"
	          \______merged_____/
	store:  Apply("after 9", entries)               Position: "after 9"

# Invariants

  - Entries and position change together or not at all, whenever the process or
    the machine stops: TestACrashLeavesOneStateAsAWhole.
  - After Apply returned nil nothing of it can be lost; after it returned an error
    other than ErrFailed the old state is there, and Apply may be called again:
    TestEveryFailingIOOfAnApplyIsSurvived.
  - A failing Open loses nothing: TestEveryFailingIOOfAnOpenIsSurvived.
  - The store never writes anything that Apply was not given: it has no log of its
    own and an empty memtable, so Close has nothing to save.

# Tables and one ingest, not batches

The other way to apply a merge is to write it as sorted batches through a large
memtable (64 MiB) and flush. Both were measured on 24-byte keys of hashes and
10-byte values, on 2 cores of an AMD EPYC; processor time of the whole process a
key, compaction to the end included (go test -bench Merge -benchtime 1x ./store):

	                                      ingest       batches + flush
	1 M into an empty store               183 ns       306 ns
	5 M into an empty store               169 ns       316 ns
	10 x 100 k at random into 5 M         728 ns      2299 ns
	5 x 1 M at random into 5 M            621 ns       668 ns
	5 M over all of 5 M                   435 ns       292 ns

The last line flatters the batches: they ended with 367 MB of tables where the ingest
ended with 230 MB, having put off their compaction. And batches are not atomic: only
one that fits a memtable is, with its copy in memory, while tables stream to disk in
a few hundred KiB. An ingest it is. What Apply itself takes, before compaction, is
some 170 to 190 ns a key on an idle machine.

The other choices, same units:

	compression            none: 946 ns for 5 x 1 M where Snappy took 1156 ns; 35 MB
	                       a million keys in place of 30 MB
	L0CompactionThreshold  8: 757 ns where 4 took 1156 ns (with Snappy); a Get may have
	                       to ask the filters of eight merges
	L0CompactionFile-      32, see Stairs: like 500 within the spread of 7% (6 x 1 M,
	Threshold              5 x 2 M, 4 x 5 M, each left to settle); 10 takes 3 to 13% more
	LBaseMaxBytes          64 MiB: with 256 MiB the 1 M merges took 581 ns, but those
	                       of 100 k 3777 ns, for each rewrites the base level

With all filters a Get takes 4.6 µs if the key is there and 1.9 µs if not (pebble.DB.Get:
4.8 and 3.5 to 4.1, it does not use those of the last level), Load 70 to 85 ns an entry.

# Beside a busy server

One compaction runs at a time, and what it writes is paced: it works in slices of a
millisecond and sleeps as long between them (Options.CompactionShare), so that it
takes half a core at most and an event loop never waits long for a processor. When
maxSublevels merges lie on top of one another Apply waits, and compaction runs
unpaced.

An idle store has five goroutines and takes 0.15% of a core (a timer of Pebble's
that looks for work ten times a second).

# Stairs

Pebble starts a compaction of level 0 when four tables there hold one key. Merges of
ascending keys may overlap like stairs, each only the one before: those of a server
that is flushed between them do, for each flush begins a higher range of keys. Such
stairs are never four deep, however high, and no read of a key looks for it in more
than three; but an iterator has to pass over all. So Apply does not wait because of
stairs, and maxTables bounds their height. A Get takes 9 to 11 µs on 12 steps and 9 to
19 on 32.

# Caveats

  - Metrics takes Pebble's mutex and some 60 µs: for INFO, not for every command.
  - Pebble panics or calls Options.Fatal where it can no longer say what its MANIFEST
    holds. The log is not touched by that, and the next Open continues from it. A full
    disk is no such case: the record waits for room (room.go).
  - A failing compaction (a full disk) is logged, and tried again after 30 seconds.
    Merges go on, and from maxSublevels on each waits for it, up to 30 seconds.
  - A table whose end is damaged stops nothing but its own keys (tablestats.go).
  - Get and GetEach may wait for the disk: event loops must not call them.
  - Close waits for a running compaction, which then is not paced: tens of
    milliseconds, seconds at worst.
*/
package store
