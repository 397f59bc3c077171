package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// What is damaged is often one bit, and a checksum tells which: Mend and MendManifest look for it.
// They change nothing. Other damage of a block looks like one bit in about one of 130,000 cases,
// of a MANIFEST in one of 16,000.

// Mend looks for one bit of the table in dir that, flipped, makes the damaged block's checksum
// right. It returns the offset of its byte in the file, and the mask of the bit, mask 0 where
// there is none.
func (d *Damage) Mend(disk vfs.FS, dir string) (offset int64, mask byte, err error) {
	f, err := disk.Open(disk.PathJoin(dir, d.Table))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return 0, 0, err
	}
	from, ok := d.Offset, d.opens(b)
	if from >= 0 {
		to := from + d.length + block.TrailerLen
		if d.length <= 0 || to > int64(len(b)) {
			return 0, 0, nil
		}
		b = b[from:to]
		ok = func() bool { return binary.LittleEndian.Uint32(b[len(b)-4:]) == pebbleCRC(b[:len(b)-4]) }
	} else { // no block is named: it is the footer, which has a checksum too
		if from = max(0, int64(len(b)-maxFooter)); !d.Whole {
			return 0, 0, nil
		}
		b = b[from:]
	}
	i, mask := mend(b, ok)
	return from + int64(i), mask, nil
}

// maxFooter is no less than the footer of a table has.
const maxFooter = 64

// opens reports whether a table can be opened.
func (d *Damage) opens(table []byte) func() bool {
	return func() bool {
		r, err := openTable(vfs.NewMemFile(bytes.Clone(table)), d.tuning)
		if err != nil {
			return false
		}
		_, err = r.Layout()
		return errors.Join(err, r.Close()) == nil
	}
}

// MendManifest looks for one bit that, flipped, makes the first bad record of the MANIFEST valid.
func MendManifest(disk vfs.FS, dir string) (name string, offset int64, mask byte, err error) {
	name, err = manifestName(disk, dir)
	if name == "" || err != nil {
		return name, 0, 0, err
	}
	f, err := disk.Open(disk.PathJoin(dir, name))
	if err != nil {
		return name, 0, 0, err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return name, 0, 0, err
	}
	at := badFragment(b)
	if at+manifestHeader > len(b) {
		return name, 0, 0, nil
	}
	end := at + manifestHeader + int(binary.LittleEndian.Uint16(b[at+4:]))
	if end > len(b) {
		end = at + manifestHeader // the length itself, if anything
	}
	i, mask := mend(b[at:end], func() bool { return manifestFragment(b, at) > 0 })
	return name, int64(at + i), mask, nil
}

// mend flips the bits of b, one at a time, until ok. It leaves b as it was.
func mend(b []byte, ok func() bool) (i int, mask byte) {
	for i := range b {
		for mask := byte(1); mask != 0; mask <<= 1 {
			b[i] ^= mask
			found := ok()
			b[i] ^= mask
			if found {
				return i, mask
			}
		}
	}
	return 0, 0
}
