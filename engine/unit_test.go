package engine

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func TestParseIntTakesOnlyCanonicalText(t *testing.T) {
	for _, s := range []string{"0", "1", "-1", "9223372036854775807", "-9223372036854775808", "10"} {
		want, _ := strconv.ParseInt(s, 10, 64)
		if n, ok := ParseInt([]byte(s)); !ok || n != want {
			t.Errorf("%q: %d, %v", s, n, ok)
		}
	}
	for _, s := range []string{"", "-", "+1", "-0", "01", "00", " 1", "1 ", "1.0", "a", "0x1",
		"9223372036854775808", "-9223372036854775809", "99999999999999999999", "--1", "1\x00"} {
		if n, ok := ParseInt([]byte(s)); ok {
			t.Errorf("%q was taken as %d", s, n)
		}
	}
}

// The sums are what redis-server 7.0.15 on x86-64 answers (the differential test of package server
// asks a real one).
func TestLongDoubleAddsAsRedisDoes(t *testing.T) {
	for _, c := range []struct{ a, b, sum string }{
		{"0", "0.1", "0.1"}, {"10.5", "0.1", "10.6"}, {"5.0e3", "2.0e2", "5200"}, {"3", "1.1", "4.1"},
		{"0.1", "0.2", "0.3"}, {"1", "-1", "0"}, {"-0.0", "0", "0"}, {"1e-30", "-2e-30", "0"},
		{"17179869184", "1.5", "17179869185.5"}, {"0x10", "0x1p-1", "16.5"}, {".5", "5.", "5.5"},
		{"9223372036854775807", "1", "9223372036854775808"},
	} {
		a, ok1 := parseLongDouble([]byte(c.a))
		b, ok2 := parseLongDouble([]byte(c.b))
		if !ok1 || !ok2 {
			t.Errorf("%s + %s: not read", c.a, c.b)
			continue
		}
		sum, ok := a.add(b)
		if got := string(sum.appendHuman(nil)); !ok || got != c.sum {
			t.Errorf("%s + %s = %s, want %s", c.a, c.b, got, c.sum)
		}
	}
	for _, s := range []string{"", " 1", "1 ", "1_0", "nan", "0b1", "1e", "e1", ".", "0x", "1e99999999999",
		"1e5000", "1e-5000", "--1", "1\x00", "0x1e1p", strings.Repeat("1", longDoubleMaxText)} {
		if _, ok := parseLongDouble([]byte(s)); ok {
			t.Errorf("%q was taken", s)
		}
	}
	inf, ok := parseLongDouble([]byte("-Inf"))
	if _, finite := inf.add(longDoubleFromInt(1)); !ok || finite {
		t.Error("-Inf must be read, and its sum refused")
	}
	big, _ := parseLongDouble([]byte("1.1e4932"))
	if _, finite := big.add(big); finite {
		t.Error("the sum of two of the largest numbers must be refused")
	}
}

// allocations is testing.AllocsPerRun, the least of a few tries: the engine's goroutines allocate, too, and on
// a slow machine more of that falls into a try than it forgives.
func allocations(runs int, fn func()) (least float64) {
	least = math.Inf(1)
	for range 5 {
		if least = min(least, testing.AllocsPerRun(runs, fn)); least == 0 {
			break
		}
	}
	return least
}

// TestIncrOfAnExistingCounterAllocatesNothing: the hot path, logged and not.
func TestIncrOfAnExistingCounterAllocatesNothing(t *testing.T) {
	for _, p := range []FsyncPolicy{FsyncOff, FsyncEverySec} {
		e, _, err := Open(Options{Dir: "d", FS: vfs.NewMem(), Policy: p})
		if err != nil {
			t.Fatal(err)
		}
		op, key := Op{NowMs: e.NowMs()}, []byte("counter")
		mustIncr(t, e, &op, "counter", 1)
		if n := allocations(1000, func() {
			if _, err := e.IncrBy(&op, key, 1); err != nil {
				t.Fatal(err)
			}
			if v, err := e.Get(&op, key); err != nil || !v.IsInt {
				t.Fatal(v, err)
			}
		}); n != 0 {
			t.Errorf("policy %d: %v allocations", p, n)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

var imageSamples = []image{
	{op: imageDelete, space: 1, key: []byte("k"), expireAt: NoExpiry},
	{op: imageInt, space: 300, key: []byte{}, n: math.MinInt64, expireAt: NoExpiry},
	{op: imageInt, space: 1, key: []byte("counter"), n: 7, expireAt: 1},
	{op: imageBytes, space: 1, key: []byte("s"), bytes: []byte("value"), expireAt: math.MaxInt64 - 1},
	{op: imageSketch, space: 9, key: bytes.Repeat([]byte("x"), 300), bytes: []byte{}, expireAt: NoExpiry},
	{op: imageInt, space: 1, key: []byte("t"), n: -3, expireAt: NoExpiry, tally: tally{4, math.MaxInt64}},
	{op: imageInt, space: 1, key: []byte("u"), n: 1, expireAt: 5, tally: tally{ups: 1}},
	{op: imageSpace, space: 77, db: 15},
	{op: imageContract, contract: &Contract{Glob: "user:*", Replies: RepliesRelaxed, Shards: 4,
		Durability: FsyncAlways, StalenessMs: MaxStalenessMs}},
	{op: imageContract, contract: &Contract{Min: math.MinInt64, Max: 7, HasMin: true, HasMax: true,
		Tally: true}},
	{op: imageNoContract, contract: &Contract{Glob: "user:*"}},
}

func encodeSample(im image) []byte {
	switch im.op {
	case imageSpace:
		return appendSpaceImage(nil, im.db, im.space)
	case imageContract:
		return appendContractImage(nil, im.contract)
	case imageNoContract:
		return appendContractDeleteImage(nil, im.contract.Glob)
	}
	b := []byte{im.opByte()}
	b = strconvAppendUvarint(b, im.space)
	b = strconvAppendUvarint(b, uint64(len(im.key)))
	b = append(b, im.key...)
	return im.appendState(b)
}

func strconvAppendUvarint(b []byte, v uint64) []byte {
	for ; v >= 0x80; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v))
}

// TestImagesSurviveAnyCut: a flush comes back image by image wherever the log cuts it into chunks.
func TestImagesSurviveAnyCut(t *testing.T) {
	var stream []byte
	for _, im := range imageSamples {
		stream = append(stream, encodeSample(im)...)
	}
	for cut := 1; cut <= len(stream); cut++ {
		var a assembler
		var got []image
		for b := stream; len(b) > 0; {
			n := min(cut, len(b))
			err := a.chunk(5, b[:n], func(im *image, _ []byte) error {
				c := *im
				c.key, c.bytes = bytes.Clone(c.key), bytes.Clone(c.bytes)
				got = append(got, c)
				return nil
			})
			if err != nil {
				t.Fatalf("cut %d: %v", cut, err)
			}
			b = b[n:]
		}
		if !reflect.DeepEqual(got, imageSamples) {
			t.Fatalf("cut %d:\n got %v\nwant %v", cut, got, imageSamples)
		}
	}
}

// FuzzDecodeImage: any bytes are an image, too short for one, or refused; what is an image is
// encoded to what it was decoded from, but for overlong varints.
func FuzzDecodeImage(f *testing.F) {
	for _, im := range imageSamples {
		f.Add(encodeSample(im))
	}
	f.Add([]byte{0x11, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		im, rest, err := decodeImage(b)
		if err != nil {
			if err != errImageBad && err != errImageShort {
				t.Fatal(err)
			}
			return
		}
		again, _, err := decodeImage(encodeSample(im))
		if err != nil || !reflect.DeepEqual(again, im) {
			t.Fatalf("%v (rest %d) came back as %v, %v", im, len(rest), again, err)
		}
	})
}

func FuzzDecodePosition(f *testing.F) {
	p := position{segment: 7, epoch: 9, clockMs: -1, spaces: newSpaces()}
	f.Add(p.append(nil))
	f.Add(append([]byte{1}, p.append(nil)[1:len(p.append(nil))-1]...)) // version 1 ends there
	p.contracts = contractList{{Glob: "a"}, {Glob: "b*", HasMax: true, Max: -1, Tally: true}}
	f.Add(p.append(nil))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decodePosition(b)
		if err == nil && b != nil {
			if q, err := decodePosition(p.append(nil)); err != nil || !reflect.DeepEqual(q, p) {
				t.Fatalf("%v came back as %v, %v", p, q, err)
			}
		}
		var m flushMeta
		_ = m.decode(b) // must not panic
	})
}

func BenchmarkIncrBy(b *testing.B) {
	for _, p := range []FsyncPolicy{FsyncOff, FsyncEverySec} {
		for _, n := range []int{1, 1_000_000} {
			b.Run(fmt.Sprintf("policy=%d/keys=%d", p, n), func(b *testing.B) {
				e, _, err := Open(Options{Dir: b.TempDir(), Policy: p})
				if err != nil {
					b.Fatal(err)
				}
				defer e.Close()
				op, key := Op{NowMs: e.NowMs()}, make([]byte, 0, 16)
				x := uint32(1)
				for b.Loop() {
					x = x*1664525 + 1013904223
					key = fmt.Appendf(key[:0], "key:%012d", int(x>>8)%n)
					if _, err := e.IncrBy(&op, key, 1); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// TestALargeImageIsPutTogetherInLinearTime: 64 MB in chunks of 64 bytes would be moved half a million times
// over, if each chunk moved what there is, and take an hour.
func TestALargeImageIsPutTogetherInLinearTime(t *testing.T) {
	const large, chunk = 64 << 20, 64
	im := image{op: imageBytes, space: 1, expireAt: NoExpiry, key: []byte("key"), bytes: make([]byte, large)}
	im.bytes[large-1] = 'z'
	b := im.appendState(appendKeyOf([]byte{im.opByte()}, &im))
	var a assembler
	taken := 0
	take := func(got *image, raw []byte) error {
		if taken++; len(got.bytes) != large || got.bytes[large-1] != 'z' || len(raw) != len(b) {
			t.Errorf("%d bytes, %d raw", len(got.bytes), len(raw))
		}
		return nil
	}
	for rest := b; len(rest) > 0; {
		n := min(len(rest), chunk)
		if err := a.chunk(1, rest[:n], take); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	if err := a.end(); err != nil || taken != 1 {
		t.Errorf("%d images, %v", taken, err)
	}
}
