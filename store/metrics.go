package store

import "time"

// Metrics is what INFO says about the store. Counts are since Open.
type Metrics struct {
	DiskBytes  int64 // all files of the store, those about to be removed included
	LiveBytes  int64 // tables in use
	Tables     int64
	Sublevels  int // merges that lie uncompacted on top of one another
	ReadLevels int // the most tables that one Get may have to look at

	Merges         int64 // Apply calls that succeeded
	MergedEntries  int64
	MergedBytes    int64 // keys and values
	Compactions    int64
	Compacting     int64         // under way now
	CompactionTime time.Duration // sum, pauses included
	CompactedBytes int64         // written by compactions
	DebtBytes      int64         // an estimate of what compaction has yet to do

	CacheBytes, CacheHits, CacheMisses int64 // blocks
	FilterHits, FilterMisses           int64 // a hit saved looking into a table
}

// Metrics returns the store's figures, zero if it is closed. It takes a few
// microseconds and Pebble's mutex.
func (s *Store) Metrics() Metrics {
	done, err := s.use()
	if err != nil {
		return Metrics{}
	}
	defer done()
	p := s.db.Metrics()
	total := p.Total()
	return Metrics{
		DiskBytes:  int64(p.DiskSpaceUsage()),
		LiveBytes:  int64(p.Table.Local.LiveSize),
		Tables:     int64(p.Table.Local.LiveCount),
		Sublevels:  int(p.Levels[0].Sublevels),
		ReadLevels: p.ReadAmp(),

		Merges:         s.applied.merges.Load(),
		MergedEntries:  s.applied.entries.Load(),
		MergedBytes:    s.applied.bytes.Load(),
		Compactions:    p.Compact.Count,
		Compacting:     p.Compact.NumInProgress,
		CompactionTime: p.Compact.Duration,
		CompactedBytes: int64(total.TableBytesCompacted),
		DebtBytes:      int64(p.Compact.EstimatedDebt),

		CacheBytes:   p.BlockCache.Size,
		CacheHits:    p.BlockCache.Hits,
		CacheMisses:  p.BlockCache.Misses,
		FilterHits:   p.Filter.Hits,
		FilterMisses: p.Filter.Misses,
	}
}
