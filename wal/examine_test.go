package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// examined is what Examine says can be used: the flushes of all segments up to the first damage.
func examined(t *testing.T, what string, x *Examination) (got []flush) {
	t.Helper()
	for i := range x.Segments {
		s := &x.Segments[i]
		if s.Unusable || s.Empty {
			continue
		}
		err := x.Read(s, func(epoch uint64, chunk []byte) error {
			if n := len(got); n == 0 || got[n-1].epoch != epoch {
				got = append(got, flush{epoch: epoch})
			}
			f := &got[len(got)-1]
			f.chunks = append(f.chunks, bytes.Clone(chunk))
			return nil
		})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	return got
}

// cutCopy is the log without what Examine says cannot be used: what a repair makes of it.
func cutCopy(t *testing.T, fs *vfs.MemFS, x *Examination) *vfs.MemFS {
	t.Helper()
	out := vfs.NewMem()
	if err := out.MkdirAll(testDir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range x.Segments {
		s := &x.Segments[i]
		b, err := fs.UnsafeGetFileDataBuffer("wal/" + s.Name)
		switch {
		case err != nil:
			t.Fatal(err)
		case s.Unusable || s.Damage != nil && s.End == 0:
		case s.Damage != nil:
			writeFile(t, out, s.Name, b[:s.End])
		default:
			writeFile(t, out, s.Name, b)
		}
	}
	return out
}

// checkExamined compares Examine with Open and Replay: it finds damage where they fail, and else
// the same flushes. Of a damaged log it finds a prefix, to which it can be cut, and the rest of
// the flushes, but for those that the damage hit.
func checkExamined(t *testing.T, what string, fs *vfs.MemFS, want []flush) (cut, lost int) {
	t.Helper()
	x, err := Examine(fs, 0, testDir)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	got := examined(t, what, x)
	opened, err := recoverDamaged(t, what, fs, want) // writes to fs
	if (err != nil) != x.Damaged() {
		t.Fatalf("%s: Open: %v, Examine: %+v", what, err, x)
	}
	if err == nil {
		if !equalFlushes(got, opened) {
			t.Fatalf("%s: Open %v, Examine %v", what, epochs(opened), epochs(got))
		}
		return 0, 0
	}
	again, err := recoverDamaged(t, what, cutCopy(t, fs, x), want)
	if err != nil || !equalFlushes(got, again) {
		t.Fatalf("%s: after the cut: %v, %v, before %v", what, err, epochs(again), epochs(got))
	}
	for i := range x.Segments {
		n, err := x.ReadLost(&x.Segments[i], func(epoch uint64, index uint32, chunk []byte) {
			if f := want[epoch-1]; int(index) >= len(f.chunks) || !bytes.Equal(f.chunks[index], chunk) {
				t.Fatalf("%s: lost chunk %d of flush %d: %q", what, index, epoch, chunk)
			}
		}, func(epoch uint64, chunks uint32) {
			if f := want[epoch-1]; int(chunks) != len(f.chunks) {
				t.Fatalf("%s: lost flush %d of %d chunks, not %d", what, epoch, chunks, len(f.chunks))
			}
		})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		lost += n
	}
	return len(got), lost
}

// TestExamineFindsWhatOpenFinds, and changes nothing: with every byte damaged.
func TestExamineFindsWhatOpenFinds(t *testing.T) {
	fs, want := smallLog(t)
	names, _ := fs.List(testDir)
	damaged := 0
	for _, name := range names {
		whole, err := fs.UnsafeGetFileDataBuffer("wal/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range whole {
			b := bytes.Clone(whole)
			b[i] ^= 0x10
			cut, lost := checkExamined(t, fmt.Sprintf("%s, byte %d", name, i), copyFS(t, fs, name, b), want)
			if cut+lost > 0 {
				damaged++
				if cut+lost < len(want)-1 {
					t.Fatalf("%s, byte %d: %d flushes before the damage, %d behind it", name, i, cut, lost)
				}
			}
		}
	}
	t.Logf("%d damaged logs", damaged)
	if damaged < 1000 {
		t.Error("that is too few")
	}
}

// TestExamineOfAnUntouchedLog: no damage, every flush; and of one with a segment missing.
func TestExamineOfAnUntouchedLog(t *testing.T) {
	fs, want := smallLog(t)
	if cut, lost := checkExamined(t, "untouched", copyFS(t, fs, "", nil), want); cut+lost != 0 {
		t.Error(cut, lost)
	}
	x, err := Examine(fs, 1, testDir)
	if err != nil || x.Damaged() || !x.Segments[0].Merged || x.Segments[1].Merged {
		t.Errorf("%+v, %v", x, err)
	}
	for _, name := range []string{"000001.log", "000002.log"} {
		without := copyFS(t, fs, "", nil)
		if err := without.Remove("wal/" + name); err != nil {
			t.Fatal(err)
		}
		x, err := Examine(without, 0, testDir)
		if err != nil || fmt.Sprintf("%06d.log", x.Missing) != name {
			t.Errorf("without %s: %+v, %v", name, x, err)
		}
		if cut, _ := checkExamined(t, "without "+name, without, want); (cut > 0) != (name == "000002.log") {
			t.Errorf("without %s: %d flushes can be used", name, cut)
		}
	}
}

// TestALaterFormatIsNotCalledDamage: the sentence says what to do.
func TestALaterFormatIsNotCalledDamage(t *testing.T) {
	for _, at := range []int{0, fragmentHeaderSize + headerSize} { // the header's fragment, the first chunk's
		fs, _ := smallLog(t)
		b, _ := fs.UnsafeGetFileDataBuffer("wal/000001.log")
		b = bytes.Clone(b)
		f := b[at : at+fragmentHeaderSize+int(binary.LittleEndian.Uint16(b[at+4:]))]
		f[fragmentHeaderSize+1] = formatVersion + 1
		binary.LittleEndian.PutUint32(f, fragmentCRC(f[6:]))
		later := copyFS(t, fs, "000001.log", b)
		l, err := Open(Options{FS: later, Dir: testDir})
		if err == nil {
			_, _, err = replayed(l, 0)
			_ = l.Close()
		}
		if !errors.Is(err, ErrFormat) || errors.Is(err, ErrCorrupt) {
			t.Errorf("byte %d: %v", at, err)
		}
		if x, err := Examine(later, 0, testDir); err != nil || !errors.Is(x.Segments[0].Damage, ErrFormat) {
			t.Errorf("byte %d: Examine: %+v, %v", at, x, err)
		}
	}
}
