package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// formatVersion is the version byte of every record. It changes with any layout in FORMAT.md.
const formatVersion = 1

// voidVersion is that of a header that says that segments before it are void.
const voidVersion = 2

// Kinds of records, the first byte of each.
const (
	kindHeader = 1 // first record of a segment
	kindChunk  = 2 // one chunk of a flush
	kindCommit = 3 // ends a flush
)

// Sizes of the fixed parts, bytes. All integers are little-endian.
const (
	recordPrefixSize = 10 // kind 1, version 1, epoch 8
	headerSize       = recordPrefixSize + 24
	voidHeaderSize   = headerSize + 8
	chunkHeadSize    = recordPrefixSize + 4
	commitHeadSize   = recordPrefixSize + 20

	maxRecordBytes = max(chunkHeadSize+MaxChunkBytes, commitHeadSize+MaxMetaBytes)
)

// header is the first record of a segment. It says what the log was when the segment began, so that
// a loss in the segment before is seen.
type header struct {
	lastEpoch uint64    // of the last flush before this segment, 0 if none
	id        SegmentID // this segment
	prev      SegmentID // the segment before, 0 if there was none
	prevEnd   int64     // where the committed flushes of prev end; they were synced up to there
	void      SegmentID // segments from this one on, and before id, are void; 0: none is
}

// voids reports whether h says that the segment is void.
func (h header) voids(id SegmentID) bool { return h.void != 0 && h.void <= id && id < h.id }

// chunkHead stands before the bytes of a chunk.
type chunkHead struct {
	epoch uint64
	index uint32 // place in the flush, from 0
}

// commitHead ends a flush; the caller's meta follows it.
type commitHead struct {
	epoch  uint64
	chunks uint32 // number of chunks of the flush
	bytes  uint64 // their lengths together
	synced int64  // offset known synced before the flush was written
}

func putPrefix(b []byte, kind byte, epoch uint64) {
	b[0], b[1] = kind, formatVersion
	binary.LittleEndian.PutUint64(b[2:], epoch)
}

// put encodes h, and returns the part of b that it takes.
func (h header) put(b *[voidHeaderSize]byte) []byte {
	putPrefix(b[:], kindHeader, h.lastEpoch)
	binary.LittleEndian.PutUint64(b[10:], uint64(h.id))
	binary.LittleEndian.PutUint64(b[18:], uint64(h.prev))
	binary.LittleEndian.PutUint64(b[26:], uint64(h.prevEnd))
	if h.void == 0 {
		return b[:headerSize]
	}
	b[1] = voidVersion
	binary.LittleEndian.PutUint64(b[34:], uint64(h.void))
	return b[:]
}

func (h chunkHead) put(b *[chunkHeadSize]byte) {
	putPrefix(b[:], kindChunk, h.epoch)
	binary.LittleEndian.PutUint32(b[10:], h.index)
}

func (h commitHead) put(b *[commitHeadSize]byte) {
	putPrefix(b[:], kindCommit, h.epoch)
	binary.LittleEndian.PutUint32(b[10:], h.chunks)
	binary.LittleEndian.PutUint64(b[14:], h.bytes)
	binary.LittleEndian.PutUint64(b[22:], uint64(h.synced))
}

var errShortRecord = errors.New("record too short")

// parsePrefix answers the kind and the epoch of a record and checks its version.
func parsePrefix(b []byte) (kind byte, epoch uint64, err error) {
	if len(b) < recordPrefixSize {
		return 0, 0, errShortRecord
	}
	known := b[1] == formatVersion || b[1] == voidVersion && b[0] == kindHeader && len(b) == voidHeaderSize
	if !known {
		return 0, 0, fmt.Errorf("%w %d: this countd reads versions up to %d; a later version of countd wrote it, "+
			"use that one", ErrFormat, b[1], voidVersion)
	}
	return b[0], binary.LittleEndian.Uint64(b[2:]), nil
}

func parseHeader(b []byte) (header, error) {
	kind, epoch, err := parsePrefix(b)
	if err != nil {
		return header{}, err
	}
	size := len(b)
	if kind != kindHeader || size != headerSize && b[1] == formatVersion {
		return header{}, errors.New("not a segment header")
	}
	h := header{
		lastEpoch: epoch,
		id:        SegmentID(binary.LittleEndian.Uint64(b[10:])),
		prev:      SegmentID(binary.LittleEndian.Uint64(b[18:])),
		prevEnd:   int64(binary.LittleEndian.Uint64(b[26:])),
	}
	if size == voidHeaderSize {
		h.void = SegmentID(binary.LittleEndian.Uint64(b[34:]))
	}
	if h.prev >= h.id || h.prevEnd < 0 || h.void >= h.id || size == voidHeaderSize && h.void <= h.prev {
		return header{}, errors.New("impossible segment header")
	}
	return h, nil
}

// parseChunk answers the head and the bytes of a chunk record; they point into b.
func parseChunk(b []byte) (chunkHead, []byte, error) {
	if len(b) < chunkHeadSize {
		return chunkHead{}, nil, errShortRecord
	}
	return chunkHead{
		epoch: binary.LittleEndian.Uint64(b[2:]),
		index: binary.LittleEndian.Uint32(b[10:]),
	}, b[chunkHeadSize:], nil
}

// parseCommit answers the head and the meta of a commit record; they point into b.
func parseCommit(b []byte) (commitHead, []byte, error) {
	if len(b) < commitHeadSize {
		return commitHead{}, nil, errShortRecord
	}
	return commitHead{
		epoch:  binary.LittleEndian.Uint64(b[2:]),
		chunks: binary.LittleEndian.Uint32(b[10:]),
		bytes:  binary.LittleEndian.Uint64(b[14:]),
		synced: int64(binary.LittleEndian.Uint64(b[22:])),
	}, b[commitHeadSize:], nil
}
