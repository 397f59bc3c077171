package wal

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// smallLog makes a log of three segments: one sealed by Rotate, one by a restart, one open. Every
// second flush was synced before the next was appended. Of the zeros ahead only 64 are kept: the
// others would cost the tests only time.
func smallLog(t testing.TB) (fs *vfs.MemFS, want []flush) {
	fs = vfs.NewMem()
	epoch := uint64(0)
	for restart := range 2 {
		l := openTest(t, fs, 1<<20)
		for range 8 {
			epoch++
			f := flush{epoch: epoch}
			for _, which := range []string{"first ", "second "} {
				f.chunks = append(f.chunks, fmt.Append(nil, which, epoch))
			}
			if err := l.Append(epoch, f.chunks, []byte("m")); err != nil {
				t.Fatal(err)
			}
			want = append(want, f)
			if epoch%2 == 0 {
				l.Sync()
			}
			if restart == 0 && epoch == 4 {
				l.Rotate()
			}
		}
		l.Close()
	}
	for _, name := range []string{"000001.log", "000002.log", "000003.log"} {
		b, err := fs.UnsafeGetFileDataBuffer("wal/" + name)
		if err != nil {
			t.Fatal(err)
		}
		used, _ := lastNonZero(bytes.NewReader(b), 0)
		writeFile(t, fs, name, bytes.Clone(b[:min(len(b), int(used)+64)]))
	}
	return fs, want
}

// copyFS copies the log, with one file replaced.
func copyFS(t testing.TB, fs *vfs.MemFS, replace string, by []byte) *vfs.MemFS {
	out := vfs.NewMem()
	out.MkdirAll(testDir, 0o755)
	names, err := fs.List(testDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b := by
		if name != replace {
			b, err = fs.UnsafeGetFileDataBuffer("wal/" + name)
			if err != nil {
				t.Fatal(err)
			}
		}
		writeFile(t, out, name, b)
	}
	return out
}

func writeFile(t testing.TB, fs vfs.FS, name string, b []byte) {
	f, err := fs.Create("wal/"+name, writeCategory)
	if err != nil {
		t.Fatal(err)
	}
	f.Write(bytes.Clone(b)) // Write may change what it is given, and does so under -race
	f.Close()
}

// recoverDamaged opens and replays a damaged log. It checks that no chunk is invented or altered and
// that what is replayed is a prefix; it answers the flushes, or the corruption that was reported.
func recoverDamaged(t *testing.T, what string, fs vfs.FS, want []flush) ([]flush, error) {
	t.Helper()
	l, err := Open(Options{FS: fs, Dir: testDir})
	var got []flush
	if err == nil {
		defer l.Close()
		got, _, err = replayed(l, 0)
	}
	if err != nil {
		place := regexp.MustCompile(`^wal: (segment \d+\.log: offset \d+|replay after segment 0): `)
		if !errors.Is(err, ErrCorrupt) || !place.MatchString(err.Error()) {
			t.Fatalf("%s: %v", what, err)
		}
		return nil, err
	}
	if len(got) > len(want) || !equalFlushes(got, want[:len(got)]) {
		t.Fatalf("%s: replayed %v", what, epochs(got))
	}
	return got, nil
}

// A flipped bit anywhere changes nothing, or is ErrCorrupt, or cuts off the end of the last segment:
// but no flush that a later one proves to have been synced.
func TestEachFlippedByte(t *testing.T) {
	fs, want := smallLog(t)
	names, _ := fs.List(testDir)
	outcomes := map[string]int{}
	for _, name := range names {
		whole, err := fs.UnsafeGetFileDataBuffer("wal/" + name)
		if err != nil {
			t.Fatal(err)
		}
		used, _ := lastNonZero(bytes.NewReader(whole), 0)
		last := name == "000003.log"
		for i := range min(len(whole), int(used)+40) {
			for _, bit := range []byte{1, 0x80} {
				b := bytes.Clone(whole)
				b[i] ^= bit
				what := fmt.Sprintf("%s, byte %d, ^%x", name, i, bit)
				got, err := recoverDamaged(t, what, copyFS(t, fs, name, b), want)
				switch {
				case err != nil:
					outcomes["corrupt"]++
				case len(got) == len(want):
					outcomes["same"]++
				case !last:
					t.Fatalf("%s: lost the flushes behind %d", what, len(got))
				default:
					// The last flush that carries proof is 15 or 16: it was written after 14 was synced.
					if len(got) < 14 {
						t.Fatalf("%s: lost the flushes behind %d", what, len(got))
					}
					outcomes["cut"]++
				}
			}
		}
	}
	t.Log(outcomes)
}

// A file cut short anywhere: what is left of the last segment is replayed, other losses are seen.
func TestEachLength(t *testing.T) {
	fs, want := smallLog(t)
	names, _ := fs.List(testDir)
	for _, name := range names {
		whole, _ := fs.UnsafeGetFileDataBuffer("wal/" + name)
		used, _ := lastNonZero(bytes.NewReader(whole), 0)
		for n := range int(used) {
			what := fmt.Sprintf("%s, %d bytes", name, n)
			got, err := recoverDamaged(t, what, copyFS(t, fs, name, whole[:n]), want)
			if name != "000003.log" && err == nil {
				t.Fatalf("%s: replayed %v", what, epochs(got))
			}
			if name == "000003.log" && err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
	}
}

func TestATornTailIsCutOffOnce(t *testing.T) {
	fs, want := smallLog(t)
	whole, _ := fs.UnsafeGetFileDataBuffer("wal/000003.log")
	b := bytes.Clone(whole)
	used, _ := lastNonZero(bytes.NewReader(whole), 0)
	b[used-1] ^= 1 // in the last commit record
	damaged := copyFS(t, fs, "000003.log", b)
	l := openTest(t, damaged, 0)
	got, info, err := replayed(l, 0)
	if err != nil || len(got) != len(want)-1 || info.TruncatedBytes == 0 {
		t.Fatalf("%d flushes, %+v, %v", len(got), info, err)
	}
	if err := l.Append(16, [][]byte{{1}}, nil); err != nil {
		t.Fatal(err)
	}
	l.Close()
	got, info, err = replayed(openTest(t, damaged, 0), 0)
	if err != nil || len(got) != len(want) || info.TruncatedBytes != 0 {
		t.Fatalf("%d flushes, %+v, %v", len(got), info, err)
	}
}

func TestTheErrorNamesThePlace(t *testing.T) {
	fs, want := smallLog(t)
	whole, _ := fs.UnsafeGetFileDataBuffer("wal/000003.log")
	b := bytes.Clone(whole)
	b[100] ^= 1
	_, err := recoverDamaged(t, "byte 100", copyFS(t, fs, "000003.log", b), want)
	if err == nil || !strings.HasPrefix(err.Error(), "wal: segment 000003.log: offset 93: ") {
		t.Fatal(err)
	}
}

// FuzzSegment opens any bytes as a segment, alone and before another: no panic, and what is left
// can be appended to and opened again.
func FuzzSegment(f *testing.F) {
	fs, _ := smallLog(f)
	for _, name := range []string{"000001.log", "000003.log"} {
		whole, _ := fs.UnsafeGetFileDataBuffer("wal/" + name)
		f.Add(bytes.Clone(whole), uint16(0), byte(0), false)
		f.Add(bytes.Clone(whole[:600]), uint16(300), byte(4), true)
	}
	f.Fuzz(func(t *testing.T, b []byte, at uint16, xor byte, seal bool) {
		if int(at) < len(b) {
			b = bytes.Clone(b)
			b[at] ^= xor
		}
		// Make checksums right, so that the layers above the framing are reached.
		if seal {
			b = resealed(b)
		}
		fs := vfs.NewMem()
		fs.MkdirAll(testDir, 0o755)
		writeFile(t, fs, "000001.log", b)
		l, err := Open(Options{FS: fs, Dir: testDir})
		if err != nil {
			if !isDamage(err) {
				t.Fatal(err)
			}
			return
		}
		got, info, err := replayed(l, l.floor)
		if err != nil {
			if !isDamage(err) {
				t.Fatal(err)
			}
			return
		}
		if info.LastEpoch == 1<<64-1 {
			return
		}
		more := flush{info.LastEpoch + 1, [][]byte{[]byte("more")}}
		if err := l.Append(more.epoch, more.chunks, nil); err != nil {
			t.Fatal(err)
		}
		floor := l.floor
		l.Close()
		l = openTest(t, fs, 0)
		again, _, err := replayed(l, floor)
		if err != nil || !equalFlushes(again, append(got, more)) {
			t.Fatalf("%v: %v, then %v", err, epochs(got), epochs(again))
		}
	})
}

// resealed walks b as fragments, clips lengths to what is there, and makes the checksums right.
func resealed(b []byte) []byte {
	b = bytes.Clone(b)
	for i := 0; i+fragmentHeaderSize <= len(b); {
		block := b[i:min(len(b), i-i%blockSize+blockSize)]
		if len(block) < fragmentHeaderSize {
			i += len(block)
			continue
		}
		n := min(int(block[4])|int(block[5])<<8, len(block)-fragmentHeaderSize)
		block[4], block[5] = byte(n), byte(n>>8)
		block[6] = fragmentFull + block[6]%4
		if block[6] != fragmentFull && n%3 == 0 {
			block[6] = fragmentFull
		}
		copy(block[7:11], []byte{1, 0, 0, 0})
		end := fragmentHeaderSize + n
		c := fragmentCRC(block[6:end])
		copy(block, []byte{byte(c), byte(c >> 8), byte(c >> 16), byte(c >> 24)})
		i += end
	}
	return b
}

// TestGarbageIsNotAnEmptyLog: a file without a header may be left by a start that was interrupted, but
// not with data behind where the header would be.
func TestGarbageIsNotAnEmptyLog(t *testing.T) {
	for size, want := range map[int]error{5000: nil, 2*blockSize + 100: ErrCorrupt} {
		fs := vfs.NewMem()
		if err := fs.MkdirAll(testDir, 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := fs.Create(fs.PathJoin(testDir, segmentName(1)), vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(bytes.Repeat([]byte("garbage "), size/8)); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		l, err := Open(Options{FS: fs, Dir: testDir})
		if !errors.Is(err, want) {
			t.Errorf("%d bytes: %v, want %v", size, err, want)
		}
		if err == nil {
			_ = l.Close()
		}
	}
}
