package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// BenchmarkReplay opens a data directory whose log holds the images of a million counters, and applies
// them all; an operation is an image.
func BenchmarkReplay(b *testing.B) {
	const keys = 1_000_000
	o := Options{Dir: b.TempDir(), FS: vfs.Default, Policy: FsyncNo, FlushInterval: time.Hour}
	e, _, err := Open(o)
	if err != nil {
		b.Fatal(err)
	}
	op := Op{NowMs: e.NowMs()}
	for i := range keys {
		if _, err := e.IncrBy(&op, fmt.Appendf(nil, "key:%012d", i*7919%keys), 1); err != nil {
			b.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		b.Fatal(err)
	}
	o.noWarming = true
	var open time.Duration
	for b.Loop() {
		start := time.Now()
		e, rec, err := Open(o)
		if err != nil || rec.Keys != keys {
			b.Fatal(rec, err)
		}
		opened := time.Since(start)
		e.table(0).LockAll()
		e.table(0).UnlockAll()
		b.StopTimer()
		open += opened
		if err := e.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/keys, "ns/image")
	b.ReportMetric(float64(open.Nanoseconds())/float64(b.N)/keys, "ns/image-to-serve")
}
