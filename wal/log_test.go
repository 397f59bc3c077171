package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// flush is what a test appended or replayed.
type flush struct {
	epoch  uint64
	chunks [][]byte
}

const testDir = "wal"

func openTest(t testing.TB, fs vfs.FS, segmentBytes int64) *Log {
	t.Helper()
	l, err := Open(Options{FS: fs, Dir: testDir, SegmentBytes: segmentBytes})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// replayed collects the flushes with at least one chunk.
func replayed(l *Log, after SegmentID) ([]flush, ReplayInfo, error) {
	var got []flush
	info, err := l.Replay(after, func(epoch uint64, chunk []byte) error {
		if n := len(got); n == 0 || got[n-1].epoch != epoch {
			got = append(got, flush{epoch: epoch})
		}
		f := &got[len(got)-1]
		f.chunks = append(f.chunks, bytes.Clone(chunk))
		return nil
	})
	return got, info, err
}

func equalFlushes(a, b []flush) bool {
	return slices.EqualFunc(a, b, func(x, y flush) bool {
		return x.epoch == y.epoch && slices.EqualFunc(x.chunks, y.chunks, bytes.Equal)
	})
}

func epochs(fs []flush) []uint64 {
	var out []uint64
	for _, f := range fs {
		out = append(out, f.epoch)
	}
	return out
}

// testRand is a generator whose seed a failing test prints.
func testRand(t testing.TB, seed uint64) *rand.Rand {
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func randomBytes(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func randomFlush(rng *rand.Rand, epoch uint64) flush {
	f := flush{epoch: epoch}
	sizes := []int{0, 1, 64, 4096, blockSize - 60, blockSize, 100_000, MaxChunkBytes}
	for range rng.IntN(5) {
		n := sizes[rng.IntN(len(sizes))]
		if n > 1 && n < MaxChunkBytes {
			n = rng.IntN(n)
		}
		f.chunks = append(f.chunks, randomBytes(rng, n))
	}
	return f
}

func nonEmpty(fs []flush) []flush {
	return slices.DeleteFunc(slices.Clone(fs), func(f flush) bool { return len(f.chunks) == 0 })
}

func TestWhatIsAppendedIsReplayed(t *testing.T) {
	for seed := range uint64(20) {
		rng := testRand(t, seed)
		fs := vfs.NewMem()
		var want []flush
		epoch := uint64(0)
		for range 3 { // restarts
			l := openTest(t, fs, 300_000)
			got, info, err := replayed(l, 0)
			if err != nil {
				t.Fatal(err)
			}
			if !equalFlushes(got, nonEmpty(want)) || info.Flushes != len(want) {
				t.Fatalf("seed %d: replayed %v, want %v", seed, epochs(got), epochs(want))
			}
			if info.LastEpoch != epoch {
				t.Fatalf("last epoch %d, want %d", info.LastEpoch, epoch)
			}
			if epoch > 0 && string(info.LastMeta) != fmt.Sprint("meta ", epoch) {
				t.Fatalf("last meta %q after epoch %d", info.LastMeta, epoch)
			}
			for range rng.IntN(12) {
				epoch += 1 + rng.Uint64N(3)
				f := randomFlush(rng, epoch)
				if err := l.Append(epoch, f.chunks, fmt.Append(nil, "meta ", epoch)); err != nil {
					t.Fatal(err)
				}
				want = append(want, f)
				if rng.IntN(2) == 0 {
					if err := l.Sync(); err != nil {
						t.Fatal(err)
					}
				}
				if l.ShouldRotate() {
					if _, err := l.Rotate(); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestManyChunksMakeOneFlush(t *testing.T) {
	fs := vfs.NewMem()
	l := openTest(t, fs, 0)
	f := flush{epoch: 7}
	for i := range 10_000 {
		f.chunks = append(f.chunks, fmt.Append(nil, i))
	}
	if err := l.Append(7, f.chunks, nil); err != nil {
		t.Fatal(err)
	}
	l.Close()
	got, info, err := replayed(openTest(t, fs, 0), 0)
	if err != nil || !equalFlushes(got, []flush{f}) || info.Chunks != 10_000 {
		t.Fatalf("%v, %+v, %d flushes", err, info, len(got))
	}
}

func TestAppendChecksItsLimits(t *testing.T) {
	l := openTest(t, vfs.NewMem(), 0)
	if err := l.Append(2, nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		epoch  uint64
		chunks [][]byte
		meta   []byte
		want   error
	}{
		{2, nil, nil, ErrEpoch},
		{1, nil, nil, ErrEpoch},
		{3, [][]byte{make([]byte, MaxChunkBytes+1)}, nil, ErrTooLarge},
		{3, nil, make([]byte, MaxMetaBytes+1), ErrTooLarge},
		{3, [][]byte{make([]byte, MaxChunkBytes)}, make([]byte, MaxMetaBytes), nil},
	} {
		if err := l.Append(c.epoch, c.chunks, c.meta); !errors.Is(err, c.want) {
			t.Fatalf("epoch %d: %v, want %v", c.epoch, err, c.want)
		}
	}
	l.Close()
	if err := l.Append(9, nil, nil); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	if err := l.Remove(9); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
}

func TestSealedSegmentsAreReadAndRemoved(t *testing.T) {
	fs := vfs.NewMem()
	l := openTest(t, fs, 100)
	if id, err := l.Rotate(); id != 0 || err != nil {
		t.Fatalf("rotate of an empty log: %d, %v", id, err)
	}
	for epoch := range uint64(4) {
		if err := l.Append(epoch+1, [][]byte{{byte(epoch + 1)}}, nil); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second has nothing to seal
			if id, err := l.Rotate(); id != SegmentID(epoch+1) || err != nil {
				t.Fatalf("rotate: %d, %v", id, err)
			}
		}
	}
	_, err := l.ReadSegment(3, func(epoch uint64, chunk []byte) error {
		if epoch != 3 || !bytes.Equal(chunk, []byte{3}) {
			t.Fatalf("epoch %d, chunk %v", epoch, chunk)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	before := l.Size()
	if err := l.Remove(2); err != nil {
		t.Fatal(err)
	}
	if s := l.Sealed(); len(s) != 2 || s[0].ID != 3 || l.Size() >= before {
		t.Fatalf("%v, size %d of %d", s, l.Size(), before)
	}
	if _, err := l.ReadSegment(2, nil); !errors.Is(err, ErrNotSealed) {
		t.Fatal(err)
	}
	if _, err := l.ReadSegment(5, nil); !errors.Is(err, ErrNotSealed) {
		t.Fatal(err)
	}
	l.Close()

	l = openTest(t, fs, 100)
	if _, _, err := replayed(l, 0); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("replay from before what was removed: %v", err)
	}
	got, _, err := replayed(l, 2)
	if err != nil || !slices.Equal(epochs(got), []uint64{3, 4}) {
		t.Fatal(epochs(got), err)
	}
	// Ids and epochs do not start over, even if everything was merged elsewhere.
	if err := l.Remove(100); err != nil {
		t.Fatal(err)
	}
	l = openTest(t, fs, 100)
	if _, _, err := replayed(l, 5); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(4, nil, nil); !errors.Is(err, ErrEpoch) {
		t.Fatal(err)
	}
	if err := l.Append(5, nil, nil); err != nil {
		t.Fatal(err)
	}
	if id, err := l.Rotate(); id != 6 || err != nil {
		t.Fatal(id, err)
	}
}

func TestIDsGoOnBehindAReplayPosition(t *testing.T) {
	l := openTest(t, vfs.NewMem(), 0)
	if _, _, err := replayed(l, 41); err != nil {
		t.Fatal(err)
	}
	l.Append(1, nil, nil)
	if id, err := l.Rotate(); id != 42 || err != nil {
		t.Fatal(id, err)
	}
}

func TestAMissingSegmentIsCorruption(t *testing.T) {
	fs := vfs.NewMem()
	l := openTest(t, fs, 0)
	for epoch := range uint64(4) {
		l.Append(epoch+1, [][]byte{{1}}, nil)
		l.Rotate()
	}
	l.Close()
	fs.Remove("wal/000002.log")
	l = openTest(t, fs, 0)
	if _, _, err := replayed(l, 0); !errors.Is(err, ErrCorrupt) {
		t.Fatal(err)
	}
}

// Pebble's own reader must read what we write: the format is Pebble's, not a relative of it.
func TestPebbleReadsOurSegments(t *testing.T) {
	rng := testRand(t, 1)
	fs := vfs.NewMem()
	l := openTest(t, fs, 0)
	records := 1 // the header
	for epoch := range uint64(200) {
		f := randomFlush(rng, epoch+1)
		if epoch%10 != 0 {
			f.chunks = [][]byte{randomBytes(rng, rng.IntN(3000))}
		}
		if err := l.Append(f.epoch, f.chunks, nil); err != nil {
			t.Fatal(err)
		}
		l.Sync()
		records += len(f.chunks) + 1
	}
	l.Close()
	file, err := fs.Open("wal/000001.log")
	if err != nil {
		t.Fatal(err)
	}
	r := record.NewReader(file, 1)
	for n := 0; ; n++ {
		rec, err := r.Next()
		if err == io.EOF || record.IsInvalidRecord(err) {
			if n != records {
				t.Fatalf("%d records, want %d", n, records)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, rec); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFlushIsOneWrite(t *testing.T) {
	writes := 0
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpFileWriteAt {
			writes++
		}
		return nil
	}))
	l := openTest(t, fs, 0)
	l.Append(1, nil, nil) // and the header
	for epoch, size := range []int{0, 1, 64, 3 * blockSize, 65 << 10, MaxChunkBytes} {
		writes = 0
		err := l.Append(uint64(epoch)+2, [][]byte{make([]byte, size)}, make([]byte, MaxMetaBytes))
		if err != nil || writes != 1 {
			t.Fatalf("%d bytes: %d writes, %v", size, writes, err)
		}
	}
}

// The merger reads and removes while flushes are appended.
func TestTheMergerRunsBesideAppend(t *testing.T) {
	l := openTest(t, vfs.NewMem(), 5000)
	done := make(chan error)
	sealed := make(chan SegmentID, 100)
	go func() {
		next := uint64(1)
		for id := range sealed {
			_, err := l.ReadSegment(id, func(epoch uint64, chunk []byte) error {
				if epoch != next {
					return fmt.Errorf("epoch %d, want %d", epoch, next)
				}
				next++
				return nil
			})
			if err == nil {
				err = l.Remove(id)
			}
			if err != nil {
				done <- err
				return
			}
			_, _ = l.Size(), l.Sealed()
		}
		done <- nil
	}()
	for epoch := range uint64(1000) {
		if err := l.Append(epoch+1, [][]byte{make([]byte, 300)}, nil); err != nil {
			t.Fatal(err)
		}
		if l.ShouldRotate() {
			id, err := l.Rotate()
			if err != nil {
				t.Fatal(err)
			}
			sealed <- id
		}
	}
	close(sealed)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestASealedFileIsNoLargerThanItsFlushes(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(Options{FS: vfs.Default, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.Append(1, [][]byte{{1}}, nil)
	if _, err := l.Rotate(); err != nil {
		t.Fatal(err)
	}
	info, err := vfs.Default.Stat(l.path(1))
	if err != nil || info.Size() != l.Sealed()[0].Bytes {
		t.Fatal(info.Size(), l.Sealed(), err)
	}
}

func TestSegmentNames(t *testing.T) {
	for name, want := range map[string]SegmentID{
		"000001.log": 1, "999999.log": 999999, "1000000.log": 1000000,
		"000000.log": 0, "1.log": 0, "0000001.log": 0, "000001.sst": 0, "+00001.log": 0,
	} {
		if id, ok := parseSegmentName(name); id != want || ok != (want != 0) {
			t.Errorf("%s: %d, %v", name, id, ok)
		}
	}
}
