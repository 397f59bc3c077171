package store

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// formatVersion is Pebble's on-disk format. It is named, not FormatNewest, so that
// an update of the library does not by itself make a store unreadable to the
// version before.
const formatVersion = pebble.FormatTableFormatV6

const (
	// tableBytes is how many bytes of keys and values go into one table of a merge.
	// Larger tables are fewer to open; smaller ones let a compaction take less, and
	// have smaller filters, each of which is read whole where it is not in the cache.
	tableBytes = 4 << 20
	// filterBitsPerKey: 8 bits let through about 2% of the absent keys.
	filterBitsPerKey = 8
	// maxSublevels bounds how many merges a read may have to look through: Apply
	// waits for compaction beyond it.
	maxSublevels = 12
	// maxTables in level 0 start a compaction in any case. It bounds the height of
	// merges that overlap like stairs, which the other threshold does not see; four
	// merges of a million keys have 64, and stay below it.
	maxTables = 128
	// maxOpenFiles bounds the open tables, at 4 MiB each 8 GiB of hot store; more
	// are closed and opened again.
	maxOpenFiles = 2048
	// indexBytes is more than the index of a table takes, about a thousand blocks of some 25 bytes each: so it
	// is one block, and a lookup reads no second level.
	indexBytes = 64 << 10
)

// tuning returns Pebble's options. What is not said there:
//
//   - DisableWAL: the log of the server is the log. Nothing is ever written through
//     the memtable, so it stays empty and as small as it can be, and no flush runs.
//   - DisableIngestAsFlushable: with no WAL, a flushable ingest would be remembered
//     in memory only.
//   - FS: a pointer, for Pebble compares file systems to see whether it may link.
//   - Only one compaction runs at a time (schedule.go): there are two cores, and the
//     server has better use for both.
//   - No compression: hashes, short keys and numbers give up a sixth of their size to
//     Snappy, for a fifth to a quarter of the processor time.
//   - No read-triggered compactions: they would make an idle store that is read busy.
func tuning(o Options, fs vfs.FS, logger pebble.Logger) *pebble.Options {
	p := &pebble.Options{
		FS:                          fs,
		Logger:                      logger,
		DisableWAL:                  true,
		ReadOnly:                    o.ReadOnly,
		DisableConsistencyCheck:     o.ReadOnly, // Check finds more
		DisableTableStats:           o.ReadOnly, // for compactions
		FormatMajorVersion:          formatVersion,
		CacheSize:                   o.CacheBytes,
		MemTableSize:                64 << 10,
		MaxOpenFiles:                maxOpenFiles,
		L0CompactionThreshold:       8,
		L0CompactionFileThreshold:   maxTables,
		L0StopWritesThreshold:       maxSublevels,
		LBaseMaxBytes:               64 << 20,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 1 },
		EventListener:               &pebble.EventListener{},
		MemTableStopWritesThreshold: 4,
	}
	p.Experimental.DisableIngestAsFlushable = func() bool { return true }
	p.Experimental.ReadSamplingMultiplier = -1
	p.Experimental.FileCacheShards = 2
	// Pebble's own way is to end the process; but a table that is damaged is of no account to other keys.
	p.EventListener.DataCorruption = func(info pebble.DataCorruptionInfo) { logger.Errorf("%v", damaged(&info)) }
	for i := range p.TargetFileSizes {
		p.TargetFileSizes[i] = tableBytes
	}
	for i := range p.Levels {
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(filterBitsPerKey)
		p.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
		p.Levels[i].BlockSize = 4 << 10
		p.Levels[i].IndexBlockSize = indexBytes
	}
	p.EnsureDefaults()
	return p
}
