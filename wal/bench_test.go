package wal

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// benchLog opens a log on the real disk.
func benchLog(t testing.TB) *Log {
	l, err := Open(Options{FS: vfs.Default, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestASmallAppendAllocatesNothing(t *testing.T) {
	l := benchLog(t)
	chunks, meta := [][]byte{make([]byte, 64)}, make([]byte, 24)
	epoch := uint64(0)
	n := testing.AllocsPerRun(2000, func() {
		epoch++
		if err := l.Append(epoch, chunks, meta); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Fatalf("%v allocations an Append", n)
	}
}

// BenchmarkAppendSync is the hot path of appendfsync always. Its baseline is a bare write of as many
// bytes at the end of a file, with fdatasync. The two take turns, so that both see the same disk;
// the figures are medians.
func BenchmarkAppendSync(b *testing.B) {
	for _, size := range []int{64, 2 << 10, 64 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			l := benchLog(b)
			file, err := vfs.Default.Create(b.TempDir()+"/file", writeCategory)
			if err != nil {
				b.Fatal(err)
			}
			defer file.Close()
			buf, meta := make([]byte, size), make([]byte, 24)
			chunks, epoch := [][]byte{buf}, uint64(0)
			var ours, bare []time.Duration
			for b.Loop() {
				epoch++
				start := time.Now()
				err := errors.Join(l.Append(epoch, chunks, meta), l.Sync())
				ours = append(ours, time.Since(start))
				start = time.Now()
				_, writeErr := file.Write(buf)
				err = errors.Join(err, writeErr, file.SyncData())
				bare = append(bare, time.Since(start))
				if err != nil {
					b.Fatal(err)
				}
				if l.ShouldRotate() {
					if _, err := l.Rotate(); err != nil {
						b.Fatal(err)
					}
				}
			}
			slices.Sort(ours)
			slices.Sort(bare)
			b.ReportMetric(float64(ours[len(ours)/2].Microseconds()), "log-µs")
			b.ReportMetric(float64(bare[len(bare)/2].Microseconds()), "bare-µs")
		})
	}
}

// BenchmarkAppend is the processor's part of it: encoding and the write call.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{64, 2 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			l := benchLog(b)
			chunks, meta := [][]byte{make([]byte, size)}, make([]byte, 24)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for epoch := uint64(1); b.Loop(); epoch++ {
				if err := l.Append(epoch, chunks, meta); err != nil {
					b.Fatal(err)
				}
				if l.ShouldRotate() {
					id, err := l.Rotate()
					if err == nil {
						err = l.Remove(id)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkReplay reads a segment of 2 KiB flushes.
func BenchmarkReplay(b *testing.B) {
	l := benchLog(b)
	chunk := make([]byte, 2<<10)
	for epoch := uint64(1); epoch <= 16<<10; epoch++ {
		if err := l.Append(epoch, [][]byte{chunk}, nil); err != nil {
			b.Fatal(err)
		}
	}
	id, err := l.Rotate()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(l.Size())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.ReadSegment(id, func(uint64, []byte) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
