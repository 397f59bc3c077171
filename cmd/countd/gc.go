package main

import (
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"countd/config"
	"countd/engine"
)

// Nearly all of the heap is tables without pointers, which a collection does not read: it costs
// little, whatever their size. So there is room for little garbage. A collectorTuner says how much,
// and gives what is free back to the system when nobody needs it.
type collectorTuner struct {
	percent   int // what SetGCPercent was told last
	allocated uint64
	idle      int    // samples in a row in which little was allocated
	trimmedAt uint64 // what was allocated until the last trim
}

const (
	// gcSample is how often the tuner looks.
	gcSample = 200 * time.Millisecond
	// A heap may grow by minGrowth bytes between two collections, or by minPercent of what is live, and
	// by maxPercent at most. Go's default is 100%, and at least 4 MiB.
	minGrowth  = 16 << 20
	minPercent = 10
	maxPercent = 400
	// A process that allocates less than idleAllocs in each of idleSamples is idle: then it gives free
	// memory back if that is worthTrimming, once until it has allocated as much again.
	idleAllocs    = 1 << 20
	idleSamples   = 10
	worthTrimming = 16 << 20
)

// heapSample is what runtime/metrics says of the heap, in bytes.
type heapSample struct {
	live      uint64 // marked by the last collection
	objects   uint64 // live, and allocated since, and dead
	free      uint64 // not used, and not given back
	allocated uint64 // since the process began
}

// step returns what SetGCPercent is to be told, 0 where that has hardly changed, and whether memory
// should be given back now.
func (c *collectorTuner) step(h heapSample) (percent int, trim bool) {
	want := maxPercent // nothing was collected yet
	if h.live > 0 {
		want = min(max(minPercent, int(minGrowth*100/h.live)), maxPercent)
	}
	if c.percent == 0 || want*8 < c.percent*7 || want*7 > c.percent*8 {
		c.percent, percent = want, want
	}
	if h.allocated-c.allocated < idleAllocs {
		c.idle++
	} else {
		c.idle = 0
	}
	c.allocated = h.allocated
	garbage := h.free
	if h.objects > h.live {
		garbage += h.objects - h.live
	}
	if c.idle >= idleSamples && garbage >= worthTrimming && h.allocated-c.trimmedAt >= worthTrimming {
		c.trimmedAt, trim = h.allocated, true
	}
	return percent, trim
}

// sampleHeap reads the metrics.
func sampleHeap(s []metrics.Sample) heapSample {
	metrics.Read(s)
	return heapSample{s[0].Value.Uint64(), s[1].Value.Uint64(), s[2].Value.Uint64(), s[3].Value.Uint64()}
}

// heapMetrics are those of a heapSample, in its order.
func heapMetrics() []metrics.Sample {
	return []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
}

// run tunes for as long as the process lives.
func (c *collectorTuner) run() {
	samples := heapMetrics()
	for range time.Tick(gcSample) {
		percent, trim := c.step(sampleHeap(samples))
		if percent != 0 {
			debug.SetGCPercent(percent)
		}
		if trim {
			debug.FreeOSMemory()
		}
	}
}

// besideTables is what the process may take beside the tables that maxmemory bounds, before the collector
// works harder: a merge, a flush, the clients. The program itself and, with cgo, the store's cache are not
// under the collector's limit; with them it is less than 200 MB.
const besideTables = 88 << 20

// tuneGC sets the garbage collector, unless the operator did by GOGC or GOMEMLIMIT, now and whenever
// maxmemory changes.
func tuneGC(cfg *config.Config) {
	if os.Getenv("GOGC") == "" {
		go new(collectorTuner).run()
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	cache := engine.CacheOf(maxMemory(cfg)) // as the engine is opened with
	limit := func() error {
		budget := cfg.Int("maxmemory")
		if budget == 0 || budget > math.MaxInt64-besideTables {
			budget = math.MaxInt64 - besideTables + cache
		}
		debug.SetMemoryLimit(budget - cache + besideTables)
		return nil
	}
	_ = limit() // it cannot fail
	cfg.OnChange(limit, "maxmemory")
}
