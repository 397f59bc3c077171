package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"countd/shards"
	"countd/wal"
)

// segmentsOf cuts images into the segments of a log, each a flush of chunks of odd lengths.
type segmentsOf [][]byte

func (s segmentsOf) sealed() (all []wal.SegmentInfo) {
	for i, b := range s {
		all = append(all, wal.SegmentInfo{ID: wal.SegmentID(i + 1), Bytes: int64(len(b))})
	}
	return all
}

func (s segmentsOf) read(id wal.SegmentID, fn func(epoch uint64, chunk []byte) error) ([]byte, error) {
	for b := s[id-1]; len(b) > 0; {
		n := min(len(b), 777)
		if err := fn(uint64(id), b[:n]); err != nil {
			return nil, err
		}
		b = b[n:]
	}
	return (&flushMeta{clockMs: int64(id)}).append(nil), nil
}

func appendKeyOf(b []byte, im *image) []byte {
	b = binary.AppendUvarint(b, im.space)
	b = binary.AppendUvarint(b, uint64(len(im.key)))
	return append(b, im.key...)
}

// TestAMergeInRangesIsTheSame merges the same segments in one range and in more and more: what is
// yielded is the same, in order, and it is the last image of each key in the spaces that live.
func TestAMergeInRangesIsTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	pos := position{spaces: newSpaces()}
	now := pos.spaces // as of the image that is made
	want := map[string]int64{}
	var segments segmentsOf
	for i := range 20 {
		var b []byte
		for j := range 500 {
			db := [...]int{0, 0, 0, 0, 0, 0, 3, 7}[rng.IntN(8)]
			if i%8 == 5 && j%400 == 0 { // the end of a space
				now[db] = 1000 + uint64(i*1000+j)
				b = appendSpaceImage(b, db, now[db])
				continue
			}
			im := image{op: imageInt, space: now[db], expireAt: NoExpiry, n: rng.Int64N(1 << 40)}
			im.key = fmt.Appendf(nil, "key:%d", rng.IntN(2000))
			key := fmt.Sprintf("%d %s", im.space, im.key)
			if want[key] = im.n; rng.IntN(5) == 0 {
				im.op, want[key] = imageDelete, -1
			}
			b = append(b, im.opByte())
			b = appendKeyOf(b, &im)
			b = im.appendState(b)
		}
		segments = append(segments, b)
	}
	live := map[string]int64{}
	for key, n := range want {
		for _, space := range now {
			if bytes.HasPrefix([]byte(key), fmt.Appendf(nil, "%d ", space)) {
				live[key] = n
			}
		}
	}

	var first []byte
	for _, c := range []struct{ rangeMax, ranges int64 }{{1 << 30, 0}, {50_000, 2}, {10_000, 6}, {700, 60}} {
		reads := 0
		m := merge{sealed: segments.sealed(), rangeMax: c.rangeMax}
		m.readSeg = func(id wal.SegmentID, fn func(epoch uint64, chunk []byte) error) ([]byte, error) {
			reads++
			return segments.read(id, fn)
		}
		m.seed, m.pos = shards.Seed{K0: 1, K1: 2}, pos
		if err := m.survey(); err != nil {
			t.Fatal(err)
		}
		if m.pos.spaces != now || m.pos.segment != 20 || m.pos.epoch != 20 || !m.pos.counted || len(m.dead) == 0 {
			t.Errorf("%d: position %+v, %d dead spaces", c.rangeMax, m.pos, len(m.dead))
		}
		got, all := map[string]int64{}, []byte(nil)
		var last []byte
		eachMerged(t, &m, func(key, value []byte) {
			if bytes.Compare(last, key) >= 0 {
				t.Fatalf("%d: %q after %q", c.rangeMax, key, last)
			}
			last = append(last[:0], key...)
			all = append(append(append(all, key...), '='), value...)
			name := fmt.Sprintf("%d %s", spaceOf(key), key[storedPrefixBytes:])
			if got[name] = -1; value != nil {
				im, err := decodeStoredState(value)
				if err != nil {
					t.Fatal(err)
				}
				got[name] = im.n
			}
		})
		for key, n := range live {
			if g, ok := got[key]; !ok || g != n {
				t.Fatalf("%d: %s: %d, want %d", c.rangeMax, key, g, n)
			}
		}
		if len(got) != len(live) || m.keys != len(live) {
			t.Errorf("%d: %d keys, %d counted, want %d", c.rangeMax, len(got), m.keys, len(live))
		}
		if first == nil {
			first = all
		} else if !bytes.Equal(first, all) {
			t.Errorf("%d: other bytes than in one range", c.rangeMax)
		}
		if n := int64(reads/len(segments)) - 1; n < c.ranges || c.ranges == 0 && n > 0 {
			t.Errorf("%d: read %d times for ranges, want at least %d", c.rangeMax, n, c.ranges)
		}
	}
}

// TestAMergeThatCannotReadALaterRangeFails: what was read until then must not be taken for all.
func TestAMergeThatCannotReadALaterRangeFails(t *testing.T) {
	var b []byte
	for i := range 1000 {
		im := image{op: imageInt, space: newSpaces()[0], expireAt: NoExpiry, key: fmt.Appendf(nil, "%d", i)}
		b = append(b, im.opByte())
		b = im.appendState(appendKeyOf(b, &im))
	}
	segments := segmentsOf{b}
	broken := errors.New("broken")
	reads := 0
	m := merge{sealed: segments.sealed(), rangeMax: 1000}
	m.readSeg = func(id wal.SegmentID, fn func(epoch uint64, chunk []byte) error) ([]byte, error) {
		if reads++; reads == 4 {
			return nil, broken
		}
		return segments.read(id, fn)
	}
	m.pos = position{spaces: newSpaces()}
	if err := m.survey(); err != nil {
		t.Fatal(err)
	}
	for {
		if _, _, err := m.next(); err != nil {
			if err != broken || m.keys == 0 {
				t.Errorf("%v after %d keys", err, m.keys)
			}
			return
		}
	}
}

// eachMerged calls fn for all that a merge yields.
func eachMerged(t *testing.T, m *merge, fn func(key, value []byte)) {
	t.Helper()
	for {
		key, value, err := m.next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		fn(key, value)
	}
}

// TestAMergeOfFewLargeValuesReadsTheLogOnceForEach: values of which each is more than a range, logged again
// and again. That the log has many ranges' worth of bytes must not make it be read as many times.
func TestAMergeOfFewLargeValuesReadsTheLogOnceForEach(t *testing.T) {
	const keys, times, large = 3, 6, 2 * mergeBlockBytes
	var segments segmentsOf
	for i := range times {
		var b []byte
		for k := range keys {
			im := image{op: imageBytes, space: newSpaces()[0], expireAt: NoExpiry, key: fmt.Appendf(nil, "%d", k)}
			im.bytes = bytes.Repeat([]byte{byte('a' + i)}, large)
			b = append(b, im.opByte())
			b = im.appendState(appendKeyOf(b, &im))
		}
		segments = append(segments, b)
	}
	reads := 0
	m := merge{sealed: segments.sealed(), rangeMax: large / 4}
	m.readSeg = func(id wal.SegmentID, fn func(epoch uint64, chunk []byte) error) ([]byte, error) {
		reads++
		return nil, fn(uint64(id), segments[id-1])
	}
	m.seed, m.pos = shards.Seed{K0: 1, K1: 2}, position{spaces: newSpaces()}
	if err := m.survey(); err != nil {
		t.Fatal(err)
	}
	eachMerged(t, &m, func(key, value []byte) {
		im, err := decodeStoredState(value)
		if err != nil || len(im.bytes) != large || im.bytes[0] != 'a'+times-1 || im.bytes[large-1] != 'a'+times-1 {
			t.Errorf("%q: %d bytes, %v: not its last value", key, len(im.bytes), err)
		}
		held := 0
		for _, b := range m.blocks {
			held += cap(b)
		}
		if held > keys*large*5/4 {
			t.Errorf("%d bytes are held for the last value of %d keys of %d", held, keys, large)
		}
	})
	if n := reads/times - 1; n > keys || m.keys != keys {
		t.Errorf("read %d times for the ranges of %d keys, %d yielded", n, keys, m.keys)
	}
}
