package wal

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The chunk framing is Pebble's "WAL sync" format (pebble/v2/record), drawn in FORMAT.md. Pebble
// calls the framed pieces chunks too; here they are fragments, and a chunk is what a caller appends.
const (
	blockSize          = 32 << 10 // a fragment never crosses a block
	fragmentHeaderSize = 19       // crc 4, length 2, type 1, log number 4, synced offset 8

	fragmentFull   = 9
	fragmentFirst  = 10
	fragmentMiddle = 11
	fragmentLast   = 12
)

// encodeBufferBytes holds a flush of one chunk of MaxChunkBytes with its framing, its commit record
// and a block of room, so that it goes to the OS in one write.
const encodeBufferBytes = MaxChunkBytes + 4*blockSize

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// fragmentCRC is pebble/internal/crc: CRC-32C, rotated and shifted so that stored checksums do not
// look like checksums. It covers type, log number, synced offset and payload.
func fragmentCRC(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// encoder turns records into fragments and writes them at a known offset of a file. It is owned by
// the Log and reused for every flush, so that a flush allocates nothing.
type encoder struct {
	file   vfs.File
	id     SegmentID
	synced int64  // goes into every fragment: the file was synced up to here before this flush
	base   int64  // file offset of buf[0]
	buf    []byte // cap encodeBufferBytes
}

// begin starts a flush at offset off.
func (e *encoder) begin(file vfs.File, id SegmentID, off, synced int64) {
	e.file, e.id, e.synced, e.base, e.buf = file, id, synced, off, e.buf[:0]
}

// end is the file offset after what was encoded so far.
func (e *encoder) end() int64 { return e.base + int64(len(e.buf)) }

// record encodes one record, head followed by body. It copies both. When the buffer has no room for
// another fragment it is written out; the error is that of the write.
func (e *encoder) record(head, body []byte) error {
	for first := true; ; first = false {
		if cap(e.buf)-len(e.buf) < 2*blockSize {
			if err := e.write(); err != nil {
				return err
			}
		}
		rem := blockSize - int(e.end()%blockSize)
		if rem < fragmentHeaderSize {
			e.pad(rem)
			rem = blockSize
		}
		n := min(rem-fragmentHeaderSize, len(head)+len(body))
		h := min(n, len(head))
		last := n == len(head)+len(body)
		e.fragment(fragmentType(first, last), head[:h], body[:n-h])
		if last {
			return nil
		}
		head, body = head[h:], body[n-h:]
	}
}

// fragment appends one fragment to the buffer. REQUIRES: there is room in buffer and block.
func (e *encoder) fragment(kind byte, head, body []byte) {
	i := len(e.buf)
	b := e.buf[: i+fragmentHeaderSize : cap(e.buf)]
	b = append(b, head...)
	b = append(b, body...)
	e.buf = b
	b = b[i:]
	binary.LittleEndian.PutUint16(b[4:], uint16(len(head)+len(body)))
	b[6] = kind
	binary.LittleEndian.PutUint32(b[7:], uint32(e.id))
	binary.LittleEndian.PutUint64(b[11:], uint64(e.synced))
	binary.LittleEndian.PutUint32(b, fragmentCRC(b[6:]))
}

// pad appends n zero bytes. REQUIRES: there is room in the buffer.
func (e *encoder) pad(n int) {
	i := len(e.buf)
	e.buf = e.buf[:i+n]
	clear(e.buf[i:])
}

// write hands the buffer to the OS and empties it. After an error base and buf are left as they
// were, so that [base, end()) is the range that may hold part of it.
func (e *encoder) write() error {
	if len(e.buf) == 0 {
		return nil
	}
	if _, err := e.file.WriteAt(e.buf, e.base); err != nil {
		return err
	}
	e.base += int64(len(e.buf))
	e.buf = e.buf[:0]
	return nil
}

func fragmentType(first, last bool) byte {
	switch {
	case first && last:
		return fragmentFull
	case first:
		return fragmentFirst
	case last:
		return fragmentLast
	default:
		return fragmentMiddle
	}
}

// fragment is a decoded fragment; payload points into the block it was decoded from.
type fragment struct {
	kind    byte
	size    int // header and payload, bytes
	synced  int64
	payload []byte
}

// decodeFragment decodes the fragment of segment id that starts at b[0]; b ends where its block or
// the file ends. It answers false for anything that is not a whole fragment with a valid checksum.
func decodeFragment(b []byte, id SegmentID) (fragment, bool) {
	if len(b) < fragmentHeaderSize || b[6] < fragmentFull || b[6] > fragmentLast ||
		binary.LittleEndian.Uint32(b[7:]) != uint32(id) {
		return fragment{}, false
	}
	size := fragmentHeaderSize + int(binary.LittleEndian.Uint16(b[4:]))
	if size > len(b) || binary.LittleEndian.Uint32(b) != fragmentCRC(b[6:size]) {
		return fragment{}, false
	}
	synced := binary.LittleEndian.Uint64(b[11:])
	if synced > 1<<62 {
		return fragment{}, false
	}
	return fragment{b[6], size, int64(synced), b[fragmentHeaderSize:size]}, true
}
