package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"countd/shards"
	"countd/store"
	"countd/wal"
)

// oldDir is a data directory of an older version, made by hand: what that version wrote, byte for
// byte.
type oldDir struct {
	seed     shards.Seed
	position []byte
	entries  map[string][]byte // of space 1: key and state
	flushes  [][]byte          // images, a flush each, in one segment
	metas    [][]byte
	after    wal.SegmentID // the segment before the log's, which is in the store
}

func (o *oldDir) make(t *testing.T) (fs vfs.FS) {
	t.Helper()
	fs = vfs.NewMem()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(fs.MkdirAll("data", 0o755))
	must(writeFile(fs, "data/IDENTITY", fmt.Appendf(nil, "countd data directory, format 1\nhash seed %016x%016x\n"+
		"checksum %08x\n", o.seed.K0, o.seed.K1, identityChecksum(o.seed))))
	s, err := store.Open(store.Options{FS: fs, Dir: "data/store"})
	must(err)
	var keys []string
	stored := map[string][]byte{}
	for key, state := range o.entries {
		b := binary.BigEndian.AppendUint64(nil, 1)
		b = binary.BigEndian.AppendUint64(b, uint64(o.seed.Hash([]byte(key))))
		b = append(b, key...)
		stored[string(b)] = state
		keys = append(keys, string(b))
	}
	slices.Sort(keys)
	must(s.Apply(o.position, nil, func() (key, value []byte, err error) {
		if len(keys) == 0 {
			return nil, nil, io.EOF
		}
		k := keys[0]
		keys = keys[1:]
		return []byte(k), stored[k], nil
	}))
	must(s.Close())
	l, err := wal.Open(wal.Options{FS: fs, Dir: "data/wal"})
	must(err)
	_, err = l.Replay(o.after, func(uint64, []byte) error { return nil })
	must(err)
	for i, images := range o.flushes {
		must(l.Append(uint64(i)+8, [][]byte{images}, o.metas[i]))
	}
	must(l.Close())
	return fs
}

func identityChecksum(seed shards.Seed) uint32 {
	b := fmt.Appendf(nil, "countd data directory, format 1\nhash seed %016x%016x\n", seed.K0, seed.K1)
	return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
}

// oldPosition is a position record of a version, of segment 5 and epoch 7.
func oldPosition(version byte) []byte {
	b := []byte{version, 5, 7, 0} // version, segment, epoch, clock
	for db := range Databases {
		b = append(b, byte(db+1)) // spaces
	}
	if version >= 2 { // contracts: one, of the glob "c*", durability always
		b = append(b, 1, 2, 'c', '*', 0, 3, 0, 0, 0)
	}
	if version >= 3 { // keys
		b = append(b, 2)
		b = append(b, make([]byte, Databases-1)...)
	}
	return b
}

// TestOlderFormatsAreRead: position records of versions 1, 2 and 3, with and without a log behind
// them. What they do not tell, the number of keys, is counted.
func TestOlderFormatsAreRead(t *testing.T) {
	for version := byte(1); version <= positionVersion; version++ {
		for _, logged := range []bool{false, true} {
			o := &oldDir{
				seed: shards.Seed{K0: 1, K1: 2}, position: oldPosition(version), after: 5,
				entries: map[string][]byte{"a": {imageInt, 42}, "s": {imageBytes, 2, 'h', 'i'}}, // 21; "hi"
			}
			want, keys := int64(21), int64(2)
			if logged {
				o.flushes = [][]byte{{imageInt, 1, 1, 'a', 44}, {imageInt, 1, 1, 'b', 2}} // a = 22; b = 1
				o.metas = [][]byte{append([]byte{0, 2}, make([]byte, 15)...), append([]byte{0, 3}, make([]byte, 15)...)}
				want, keys = 22, 3
			}
			what := fmt.Sprintf("version %d, a log %v", version, logged)
			fs := o.make(t)
			if r := mustCheck(t, what, fs); r.Keys[0] != keys {
				t.Errorf("%s: Check counts %d keys", what, r.Keys[0])
			}
			e, rec, err := Open(faultOptions(fs, nil))
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if rec.Keys != keys || getInt(t, e, "a") != want || getInt(t, e, "b") != keys-2 {
				t.Errorf("%s: %d keys, a is %d, b is %d", what, rec.Keys, getInt(t, e, "a"), getInt(t, e, "b"))
			}
			if stored := map[bool]int64{false: -1, true: 2}[version >= 3]; rec.StoreKeys != stored {
				t.Errorf("%s: %d keys in the store, want %d", what, rec.StoreKeys, stored)
			}
			op := Op{NowMs: e.NowMs()}
			if v, err := e.Get(&op, []byte("s")); err != nil || string(v.Bytes) != "hi" {
				t.Errorf("%s: s is %q, %v", what, v.Bytes, err)
			}
			if c := e.contractOf([]byte("cx")); (version >= 2) != (c != nil && c.Durability == FsyncAlways) {
				t.Errorf("%s: the contract of cx is %+v", what, c)
			}
			mustIncr(t, e, &op, "a", want+1)
			if err := e.Close(); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			mustCheck(t, what+", then closed", fs)
		}
	}
}

// TestLaterFormatsAreRefusedWithASentence, by Open, Check and Repair, which leave everything as it
// is.
func TestLaterFormatsAreRefusedWithASentence(t *testing.T) {
	old := func() *oldDir {
		return &oldDir{seed: shards.Seed{K0: 1, K1: 2}, position: oldPosition(positionVersion), after: 5,
			entries: map[string][]byte{"a": {imageInt, 42}, "s": {imageBytes, 2, 'h', 'i'}},
			flushes: [][]byte{{imageInt, 1, 1, 'a', 44}},
			metas:   [][]byte{append([]byte{0, 2}, make([]byte, 15)...)}}
	}
	later := map[string]func() vfs.FS{
		"data/IDENTITY has format 2": func() vfs.FS {
			fs := old().make(t)
			b := fmt.Appendf(nil, "countd data directory, format 2\nwhat only later versions know\n")
			writeAll(t, fs, "data/IDENTITY", appendChecksum(b))
			return fs
		},
		"the store's position record has format 4": func() vfs.FS {
			o := old()
			o.position = []byte{positionVersion + 1, 1, 2, 3}
			return o.make(t)
		},
		"segment 000006.log: unknown format version 2": func() vfs.FS {
			fs := old().make(t)
			b, err := fs.(*vfs.MemFS).UnsafeGetFileDataBuffer("data/wal/000006.log")
			if err != nil {
				t.Fatal(err)
			}
			b = bytes.Clone(b)
			const header = 19 // of the fragment, before the record (wal/FORMAT.md)
			n := int(binary.LittleEndian.Uint16(b[4:]))
			b[header+1] = 2
			c := crc32.Checksum(b[6:header+n], crc32.MakeTable(crc32.Castagnoli))
			binary.LittleEndian.PutUint32(b, (c>>15|c<<17)+0xa282ead8)
			writeAll(t, fs, "data/wal/000006.log", b)
			return fs
		},
	}
	for want, makeDir := range later {
		fs := makeDir()
		what := strings.SplitN(want, ":", 2)[0]
		_, _, err := Open(faultOptions(fs, nil))
		if !errors.Is(err, ErrFormat) && !errors.Is(err, wal.ErrFormat) {
			t.Errorf("%s: Open: %v", what, err)
			continue
		}
		if text := err.Error(); !strings.Contains(text, want) || !strings.Contains(text, "a later version of countd wrote it") {
			t.Errorf("%s: Open: %s", what, text)
		}
		r, err := Check(CheckOptions{Dir: "data", FS: fs})
		if err != nil || !strings.Contains(fmt.Sprint(r.Problems), "a later version of countd wrote it") {
			t.Errorf("%s: Check: %v, %v", what, r.Problems, err)
		}
		_, _, err = Repair(CheckOptions{Dir: "data", FS: fs}, func(step string) { t.Errorf("%s: %s", what, step) })
		if !errors.Is(err, ErrFormat) {
			t.Errorf("%s: Repair: %v", what, err)
		}
	}
}

// TestALaterBackupFormatIsRefused.
func TestALaterBackupFormatIsRefused(t *testing.T) {
	mem := vfs.NewMem()
	e, _, _ := backupLife(t, mem, nil)
	path, err := e.Backup()
	if err := errors.Join(err, e.Close()); err != nil {
		t.Fatal(err)
	}
	writeAll(t, mem, mem.PathJoin(path, backupFileName), []byte("countd backup, format 2\nwhat only later versions know\n"))
	if _, err := Restore(path, "restored", mem); err == nil || !strings.Contains(err.Error(), "a later version") {
		t.Error(err)
	}
}
