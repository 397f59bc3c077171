package main

import "testing"

// TestTheCollectorIsTuned steps a tuner through a heap's life.
func TestTheCollectorIsTuned(t *testing.T) {
	const mb = 1 << 20
	var c collectorTuner
	allocated := uint64(0)
	step := func(allocs uint64, h heapSample, wantPercent int, wantTrim bool) {
		t.Helper()
		allocated += allocs
		h.allocated = allocated
		if percent, trim := c.step(h); percent != wantPercent || trim != wantTrim {
			t.Fatalf("after %d MiB of allocations, %+v: percent %d, trim %v, want %d, %v",
				allocated/mb, h, percent, trim, wantPercent, wantTrim)
		}
	}
	step(2*mb, heapSample{}, maxPercent, false) // nothing was collected yet
	step(2*mb, heapSample{live: 2 * mb, objects: 4 * mb}, 0, false)
	step(20*mb, heapSample{live: 16 * mb, objects: 20 * mb}, 100, false)
	step(2*mb, heapSample{live: 17 * mb, objects: 20 * mb}, 0, false) // hardly another
	step(60*mb, heapSample{live: 64 * mb, objects: 80 * mb}, 25, false)
	grown := heapSample{live: 1000 * mb, objects: 1050 * mb, free: 30 * mb}
	step(990*mb, grown, minPercent, false)
	for range idleSamples - 1 { // under load it keeps what it has
		step(0, grown, 0, false)
	}
	step(2*mb, grown, 0, false)
	for range idleSamples - 1 {
		step(1000, grown, 0, false)
	}
	step(1000, grown, 0, true)
	for range 3 * idleSamples { // once
		step(1000, grown, 0, false)
	}
	step(20*mb, grown, 0, false)
	for range idleSamples - 1 {
		step(0, grown, 0, false)
	}
	step(0, grown, 0, true)
	step(40*mb, grown, 0, false)
	for range 2 * idleSamples { // nothing to give back
		step(0, heapSample{live: 1000 * mb, objects: 1005 * mb, free: 5 * mb}, 0, false)
	}
}

// TestTheHeapIsSampled: the runtime knows the metrics by these names.
func TestTheHeapIsSampled(t *testing.T) {
	samples := heapMetrics()
	before := sampleHeap(samples)
	kept := make([]byte, 8<<20)
	after := sampleHeap(samples)
	if after.allocated < before.allocated+uint64(len(kept)) || after.objects == 0 {
		t.Errorf("8 MiB were allocated: %+v, then %+v", before, after)
	}
}
