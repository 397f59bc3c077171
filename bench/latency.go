package main

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The histogram's range and precision: from 100 ns to a minute in 3 digits is about 200 KiB.
const (
	lowestLatency  = 100 * time.Nanosecond
	highestLatency = time.Minute
	latencyDigits  = 3
)

// latencies collects the latency of every request. Clients share one histogram for each core, which
// keeps it in that core's cache and its lock uncontended.
type latencies struct {
	parts []latencyPart
}

type latencyPart struct {
	mu struct {
		sync.Mutex
		hist *hdrhistogram.Histogram
	}
	_ [64]byte
}

func newLatencies(parts int) *latencies {
	l := &latencies{parts: make([]latencyPart, parts)}
	for i := range l.parts {
		l.parts[i].mu.hist = newHistogram()
	}
	return l
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(lowestLatency), int64(highestLatency), latencyDigits)
}

// record notes that n requests of a client took d. What is above the range counts as its end.
func (l *latencies) record(client int, d time.Duration, n int) {
	part := &l.parts[client%len(l.parts)]
	part.mu.Lock()
	_ = part.mu.hist.RecordValues(int64(min(d, highestLatency)), int64(n))
	part.mu.Unlock()
}

// total is all parts in one histogram.
func (l *latencies) total() *hdrhistogram.Histogram {
	sum := newHistogram()
	for i := range l.parts {
		part := &l.parts[i]
		part.mu.Lock()
		sum.Merge(part.mu.hist)
		part.mu.Unlock()
	}
	return sum
}
