package wal

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Examination is what Examine found in a log's directory.
type Examination struct {
	Segments []Examined // all files, by id
	// Missing is a segment behind after that a later one says came before it, and that is not
	// there; 0: none is known to be missing.
	Missing SegmentID

	log *Log // that was never opened: fs and dirs
}

// Examined is one segment. Its flushes up to End can be used, unless Unusable is set.
type Examined struct {
	ID      SegmentID
	Name    string
	Dir     string // the directory it is in
	Size    int64  // of the file
	Merged  bool   // not behind after: Replay passes it over
	Empty   bool   // no flush can be in it, since its start was interrupted, or it is void
	End     int64  // where the committed flushes end that can be read, one after the other
	Flushes int    // up to End
	Chunks  int
	Bytes   int64  // of those
	Epoch   uint64 // of the last of them, or of the last flush before the segment
	Meta    []byte // of the last of them; nil: there is none
	Torn    int64  // bytes behind End that were never acknowledged; Open overwrites them

	// Damage is nil or what is wrong from At on: it matches ErrCorrupt or ErrFormat. Open or
	// Replay fail then, unless the segment is merged.
	Damage error
	At     int64
	// Unusable: damage or a gap comes before this segment, so that Replay does not get to it.
	Unusable bool

	hasHeader bool
	header    header
	intact    int64 // fragments are, up to here
	tail      int64 // behind the last byte that is not zero
}

// Examine reads all segments of a log in one or more directories and says what Open and Replay(after)
// would find, without changing anything. Where they would stop at the first damage it goes on. The
// error is of the file system, or ErrCorrupt where two directories have the same segment.
func Examine(fs vfs.FS, after SegmentID, dirs ...string) (*Examination, error) {
	x := &Examination{log: &Log{fs: fs, dirs: newDirectories(dirs...)}}
	ids, err := x.log.list()
	if err != nil {
		return nil, err
	}
	headers := map[SegmentID]header{}
	for _, id := range ids {
		s := Examined{ID: id, Name: segmentName(id), Dir: x.log.dirOf(id).name, Merged: id <= after}
		s.header, s.hasHeader, err = x.log.readHeader(id)
		switch {
		case isDamage(err):
			s.Damage = err
		case err != nil:
			return nil, err
		case !s.hasHeader:
			s.Empty = true
		default:
			headers[id] = s.header
		}
		x.Segments = append(x.Segments, s)
	}
	ends := x.ends(headers)
	for i := range x.Segments {
		end, known := ends[x.Segments[i].ID]
		if !known {
			end = math.MaxInt64
		}
		if err := x.examine(&x.Segments[i], end); err != nil {
			return nil, err
		}
	}
	if err := x.checkEnds(ends); err != nil {
		return nil, err
	}
	x.checkChain(after)
	return x, nil
}

// Damaged reports whether Open or Replay fail.
func (x *Examination) Damaged() bool {
	damaged := func(s Examined) bool { return s.Damage != nil || s.Unusable }
	return x.Missing != 0 || slices.ContainsFunc(x.Segments, damaged)
}

// ends says where segments end that others follow, and passes over those that are void.
func (x *Examination) ends(headers map[SegmentID]header) map[SegmentID]int64 {
	ends := map[SegmentID]int64{}
	for i := range x.Segments {
		switch s := &x.Segments[i]; {
		case isVoid(headers, s.ID):
			s.Damage, s.Empty, s.hasHeader = nil, true, false
		case s.hasHeader && s.header.prev != 0:
			ends[s.header.prev] = s.header.prevEnd
		}
	}
	return ends
}

// examine reads one segment up to end, behind which it is of no account.
func (x *Examination) examine(s *Examined, end int64) error {
	file, err := x.log.fs.Open(x.log.path(s.ID))
	if err != nil {
		return fmt.Errorf("wal: open segment %s: %w", s.Name, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("wal: segment %s: %w", s.Name, err)
	}
	s.Size = info.Size()
	if !s.hasHeader {
		return nil
	}
	if s.intact, err = intactEnd(file, s.ID); err != nil {
		return fmt.Errorf("wal: segment %s: %w", s.Name, err)
	}
	s.intact = min(s.intact, end)
	r := newFlushReader(io.NewSectionReader(file, 0, s.intact), s.ID)
	err = r.run()
	s.End, s.Flushes, s.Chunks, s.Bytes = r.end, r.info.Flushes, r.info.Chunks, r.info.Bytes
	s.Epoch, s.Meta = r.lastEpoch, r.info.LastMeta
	switch {
	case isDamage(err):
		s.Damage, s.At = err, r.end
	case err != nil:
		return err
	}
	if s.tail, err = lastNonZero(file, s.End); err != nil {
		return fmt.Errorf("wal: segment %s: %w", s.Name, err)
	}
	return nil
}

func isDamage(err error) bool { return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrFormat) }

// checkEnds compares where each segment ends with where it should.
func (x *Examination) checkEnds(ends map[SegmentID]int64) error {
	for i := range x.Segments {
		s := &x.Segments[i]
		if s.Damage != nil || !s.hasHeader {
			continue
		}
		end, known := ends[s.ID]
		switch {
		case known && s.End < end:
			s.damage(s.intact, "bad record: synced up to %d", end)
		case known:
		case i < len(x.Segments)-1 && s.tail > s.End:
			s.damage(s.intact, "bad record in a segment that was sealed")
		default:
			s.Torn = s.tail - s.End
			if err := x.proveTail(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// proveTail looks whether the torn tail of the last segment is one.
func (x *Examination) proveTail(s *Examined) error {
	file, err := x.log.fs.Open(x.log.path(s.ID))
	if err != nil {
		return fmt.Errorf("wal: open segment %s: %w", s.Name, err)
	}
	defer file.Close()
	proof, found, err := syncedBeyond(file, s.ID, s.intact)
	if err != nil {
		return fmt.Errorf("wal: segment %s: %w", s.Name, err)
	}
	if found {
		s.damage(s.intact, "bad record, synced as offset %d says", proof)
	}
	return nil
}

func (s *Examined) damage(at int64, format string, args ...any) {
	s.Damage, s.At, s.Torn = corrupt(s.ID, at, format, args...), at, 0
}

// checkChain follows the segments behind after from one to the next, up to the first damage.
func (x *Examination) checkChain(after SegmentID) {
	prev, usable := (*Examined)(nil), true
	for i := range x.Segments {
		s := &x.Segments[i]
		if s.Merged || s.Empty {
			continue
		}
		if usable && s.hasHeader {
			switch from := s.header.prev; {
			case prev == nil && from > after, prev != nil && from > prev.ID:
				x.Missing, usable = from, false
			case prev != nil && from < prev.ID:
				prev.damage(0, "no later segment follows this one")
				prev.Unusable, usable = true, false
			}
		}
		s.Unusable = !usable
		usable = usable && s.Damage == nil
		prev = s
	}
}

// Read calls fn for every chunk of the committed flushes of a segment, up to its End. See
// Log.ReadSegment.
func (x *Examination) Read(s *Examined, fn func(epoch uint64, chunk []byte) error) error {
	if s.End == 0 {
		return nil
	}
	return x.log.readSealed(SegmentInfo{s.ID, s.End}, new(ReplayInfo), fn)
}

// ReadLost calls fn for the chunks of a segment that can be read but not used: those behind its
// damage, all where it is Unusable. They are in order, but there may be some missing between two;
// index is the place of a chunk in its flush. It calls commit, unless that is nil, where a flush ends that
// had so many chunks, and returns how many did.
func (x *Examination) ReadLost(
	s *Examined, fn func(epoch uint64, index uint32, chunk []byte), commit func(epoch uint64, chunks uint32),
) (flushes int, err error) {
	from := s.End
	switch {
	case s.Unusable:
		from = 0
	case s.Damage == nil:
		return 0, nil
	}
	file, err := x.log.fs.Open(x.log.path(s.ID))
	if err != nil {
		return 0, fmt.Errorf("wal: open segment %s: %w", s.Name, err)
	}
	defer file.Close()
	err = scattered(file, s.ID, from, func(record []byte) {
		switch kind, epoch, err := parsePrefix(record); {
		case err != nil:
		case kind == kindCommit:
			h, _, err := parseCommit(record)
			if err != nil {
				return
			}
			flushes++
			if commit != nil {
				commit(epoch, h.chunks)
			}
		case kind == kindChunk:
			if h, chunk, err := parseChunk(record); err == nil {
				fn(epoch, h.index, chunk)
			}
		}
	})
	return flushes, err
}

// scattered calls fn for the records at or behind offset from all of whose fragments are there,
// whatever lies between. A record is only valid during the call.
func scattered(file io.ReaderAt, id SegmentID, from int64, fn func(record []byte)) error {
	var record []byte
	open := false // record holds the beginning of one
	return blocks(file, from, func(off int64, block []byte) bool {
		for i := int(max(0, from-off)); i < len(block); {
			f, ok := decodeFragment(block[i:], id)
			if !ok {
				if endsBlock(block, i) {
					break
				}
				open = false
				i++
				continue
			}
			i += f.size
			if f.kind == fragmentFull || f.kind == fragmentFirst {
				record, open = record[:0], true
			}
			if !open || len(record)+len(f.payload) > maxRecordBytes {
				open = false
				continue
			}
			record = append(record, f.payload...)
			if f.kind == fragmentFull || f.kind == fragmentLast {
				fn(slices.Clip(record))
				open = false
			}
		}
		return true
	})
}
