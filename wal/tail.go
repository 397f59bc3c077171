package wal

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// blocks calls fn with the blocks of file from the one that holds offset from, in order, until fn
// answers false or the file ends. off is the offset of block[0]. A block is only valid in the call.
func blocks(file io.ReaderAt, from int64, fn func(off int64, block []byte) bool) error {
	buf := make([]byte, blockSize)
	for off := from - from%blockSize; ; off += blockSize {
		n, err := file.ReadAt(buf, off)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n == 0 || !fn(off, buf[:n]) || n < blockSize {
			return nil
		}
	}
}

// intactEnd answers the offset after the last fragment of the unbroken run of valid fragments that
// begins at offset 0. Pebble's own reader is used only below it: at a bad checksum that one looks
// for a flipped bit, which takes most of a second, and it takes a log number one too high for a
// clean end without a look at the checksum.
func intactEnd(file io.ReaderAt, id SegmentID) (int64, error) {
	end := int64(0)
	inRecord := false
	err := blocks(file, 0, func(off int64, block []byte) bool {
		for i := 0; ; {
			f, ok := decodeFragment(block[i:], id)
			if !ok {
				return endsBlock(block, i)
			}
			if continues := f.kind == fragmentMiddle || f.kind == fragmentLast; continues != inRecord {
				return false
			}
			inRecord = f.kind == fragmentFirst || f.kind == fragmentMiddle
			i += f.size
			end = off + int64(i)
		}
	})
	return end, err
}

// endsBlock says whether block[i:] is the padding at the end of a whole block.
func endsBlock(block []byte, i int) bool {
	return len(block) == blockSize && blockSize-i < fragmentHeaderSize && allZero(block[i:])
}

// syncedBeyond looks for proof that the bytes at offset bad had been synced: a valid fragment
// anywhere behind it that was written after the file was synced beyond it. Lengths between are not
// believed, so every byte offset is tried; log number and type rule out nearly all at once.
func syncedBeyond(file io.ReaderAt, id SegmentID, bad int64) (proof int64, found bool, err error) {
	err = blocks(file, bad, func(off int64, block []byte) bool {
		for i := max(0, int(bad-off)); i+fragmentHeaderSize <= len(block); i++ {
			if binary.LittleEndian.Uint32(block[i+7:]) != uint32(id) {
				continue
			}
			if f, ok := decodeFragment(block[i:], id); ok && f.synced > bad {
				proof, found = off+int64(i), true
				return false
			}
		}
		return true
	})
	return proof, found, err
}

// lastNonZero answers the offset after the last byte at or behind from that is not zero; from if
// there is none.
func lastNonZero(file io.ReaderAt, from int64) (int64, error) {
	end := from
	err := blocks(file, from, func(off int64, block []byte) bool {
		for i := len(block) - 1; i >= 0 && off+int64(i) >= end; i-- {
			if block[i] != 0 {
				end = off + int64(i) + 1
				break
			}
		}
		return true
	})
	return end, err
}

// writeZeros overwrites [from, to). It does not sync.
func writeZeros(file vfs.File, from, to int64) error {
	zeros := make([]byte, min(max(to-from, 0), zeroAheadBytes))
	for from < to {
		n := min(int64(len(zeros)), to-from)
		if _, err := file.WriteAt(zeros[:n], from); err != nil {
			return err
		}
		from += n
	}
	return nil
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
