package rdb

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

const testLimit = 1 << 20

func TestChecksumIsRedis(t *testing.T) { // the vector of Redis's crc64.c
	if got := checksum([]byte("123456789")); got != 0xe9c6d914c4b8d9ca {
		t.Errorf("%#x", got)
	}
}

// Payloads as redis-server 7.0.15 dumps them.
var dumped = []struct{ payload, val string }{
	{"\x00\xc0\x01\n\x00&x\xe7\xb6\xd1\x01\x11\xfc", "1"},
	{"\x00\xc0\xff\n\x00\x0c\x93~$\x85\b\x9d\xc5", "-1"},
	{"\x00\xc0\x7f\n\x00\r\xb5\xeb1RT\xc5\x14", "127"},
	{"\x00\xc1\x80\x00\n\x00\xebz\xb3\xb5\x10\xcfKe", "128"},
	{"\x00\xc1\x7f\xff\n\x00\x17`\x82(T\x80\x84\x80", "-129"},
	{"\x00\xc2\x00\x80\x00\x00\n\x00E\xd8.\xed\xd5\xbd\xa9\x10", "32768"},
	{"\x00\xc2\xff\x7f\xff\xff\n\x00\xae\xe3LM\x06\xc6\x856", "-32769"},
	{"\x00\xc2\xff\xff\xff\x7f\n\x00,t\xe5\x9e\xe0.\xad\xa1", "2147483647"},
	{"\x00\n2147483648\n\x00\xe7\xb1)\xa3L\x1dv\xee", "2147483648"},
	{"\x00\x0b-2147483649\n\x00\xc2a7y\b\xf2\x02\x8c", "-2147483649"},
	{"\x00\x00\n\x00]\x9b\\@\x0f\x7f\xa2\xda", ""},
	{"\x00\x05hello\n\x00cr\xdfve4 \n", "hello"},
}

var compressed = []struct{ payload, val string }{
	{"\x00\xc3\t@d\x01aa\xe0W\x00\x01aa\n\x00\xe8\xa3\xb5\a\xb0m\xf2q", strings.Repeat("a", 100)},
	{"\x00\xc3\x152\rhello world, h\xe0\x19\x0c\x01ld\n\x00\"\x99G\xfc\xcc\xb1\x01&",
		"hello world, hello world, hello world, hello world"},
	{"\x00\xc3\x13B\xd4\x03abca\xe0\xff\x02\xe1\xff\a\xe1\xb3\a\x03tail\n\x00e\xbb\xcdvyx\x8dd",
		strings.Repeat("abc", 240) + "tail"},
}

func TestDumpsAreRedis(t *testing.T) {
	for _, c := range dumped {
		got := AppendString([]byte("before"), []byte(c.val))
		if n, err := strconv.ParseInt(c.val, 10, 64); err == nil {
			got = AppendInt([]byte("before"), n)
		}
		if string(got) != "before"+c.payload {
			t.Errorf("%q is dumped as %q, want %q", c.val, got[len("before"):], c.payload)
		}
	}
	for _, c := range append(compressed, dumped...) {
		if got, _, err := Read([]byte(c.payload), testLimit); err != nil || string(got) != c.val {
			t.Errorf("%q is read as %q, %v", c.val, got, err)
		}
	}
}

func TestADumpIsReadBack(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 16383, 16384, 70000} {
		val := bytes.Repeat([]byte("v"), n)
		payload := AppendString(nil, val)
		if len(payload) != StringBytes(n) {
			t.Errorf("%d bytes: the payload has %d, not %d", n, len(payload), StringBytes(n))
		}
		if got, _, err := Read(payload, n); err != nil || !bytes.Equal(got, val) {
			t.Errorf("%d bytes: %v", n, err)
		}
		if _, _, err := Read(payload, n-1); n > 0 && err != ErrFormat {
			t.Errorf("%d bytes, one more than the limit: %v", n, err)
		}
	}
	for _, n := range []int64{0, math.MinInt8, math.MaxInt8 + 1, math.MinInt16, math.MaxInt16 + 1,
		math.MinInt32, math.MaxInt32 + 1, math.MinInt64, math.MaxInt64} {
		got, own, err := Read(AppendInt(nil, n), 20)
		if err != nil || string(got) != strconv.FormatInt(n, 10) || n == 0 && !own {
			t.Errorf("%d comes back as %q, %v, %v", n, got, own, err)
		}
	}
}

func TestWhatIsDamagedIsRefused(t *testing.T) {
	payload := []byte(dumped[len(dumped)-1].payload)
	for i := range payload {
		bad := bytes.Clone(payload)
		bad[i] ^= 0x10
		if _, _, err := Read(bad, testLimit); err != ErrChecksum {
			t.Errorf("byte %d damaged: %v", i, err)
		}
		if _, _, err := Read(payload[:i], testLimit); err != ErrChecksum {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
	later := binary.LittleEndian.AppendUint16([]byte("\x00\x01a"), Version+1)
	later = binary.LittleEndian.AppendUint64(later, checksum(later))
	if _, _, err := Read(later, testLimit); err != ErrChecksum {
		t.Errorf("a later version: %v", err)
	}
}

// TestBodiesAreReadAsRedisDoes: with a footer of their own. What Redis answers is checked by the
// transcript restore.txt of package server.
func TestBodiesAreReadAsRedisDoes(t *testing.T) {
	const bad = "\x00bad"
	for body, want := range map[string]string{
		"":                          bad,
		"\x00":                      bad,   // the version is the length
		"\x01\x01a":                 bad,   // a list
		"\x00\x02a":                 "a\n", // into the footer
		"\x00\x40\x01a":             "a",
		"\x00\x80\x00\x00\x00\x01a": "a",
		"\x00\x81\x00\x00\x00\x00\x00\x00\x00\x01a":             "a",
		"\x00\x82\x00\x00\x00\x01a":                             bad,
		"\x00\xc4\x01":                                          bad,
		"\x00\x80\x7f\xff\xff\xffa":                             bad,
		"\x00\x81\xff\xff\xff\xff\xff\xff\xff\xffa":             bad,
		"\x00\x01abc":                                           "a", // the rest is ignored
		"\x00\xc3\x02\x01\x00a":                                 "a",
		"\x00\xc3\x02\x02\x00a":                                 bad, // too short
		"\x00\xc3\x02\x00\xffa":                                 "",
		"\x00\xc3\x00\x00":                                      "",
		"\x00\xc3\x02\xc1\x00a":                                 "a",
		"\x00\xc3\x04\x03\x00a\x20\x01":                         bad, // from before the start
		"\x00\xc3\x81\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00a": bad,
		"\x00\xc3\x02\x81\x7f\xff\xff\xff\xff\xff\xff\xff\x00a": bad,
		"\x00\xc3\x05\x80\x10\x00\x00\x00\x00a\xe0\xff\x00":     bad, // 268 MB of five bytes
	} {
		payload := AppendFooter([]byte(body), 0)
		got, _, err := Read(payload, 512<<20)
		if want == bad {
			if err != ErrFormat {
				t.Errorf("%q is read as %q, %v", body, got, err)
			}
		} else if err != nil || string(got) != want {
			t.Errorf("%q is read as %q, %v; want %q", body, got, err, want)
		}
	}
}

// pack is a slow compressor that makes use of all forms.
func pack(rng *rand.Rand, src []byte) (dst []byte) {
	for at := 0; at < len(src); {
		best, from := 0, 0
		for back := 1; back <= min(at, 1<<13); back++ {
			n := 0
			for at+n < len(src) && n < 264 && src[at+n] == src[at-back+n] {
				n++
			}
			if n > best {
				best, from = n, back-1
			}
		}
		switch {
		case best < 3:
			n := min(1+rng.IntN(32), len(src)-at)
			dst = append(append(dst, byte(n-1)), src[at:at+n]...)
			at += n
			continue
		case best <= 8:
			dst = append(dst, byte((best-2)<<5|from>>8), byte(from))
		default:
			dst = append(dst, byte(7<<5|from>>8), byte(best-9), byte(from))
		}
		at += best
	}
	return dst
}

func TestUnpackingIsTheInverseOfPacking(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		val := make([]byte, rng.IntN(3000))
		letters := 1 + rng.IntN(4)
		for i := range val {
			val[i] = byte('a' + rng.IntN(letters))
			if i > 0 && rng.IntN(20) > 0 {
				val[i] = val[max(i-1-rng.IntN(2), 0)]
			}
		}
		packed := pack(rng, val)
		if len(val) > maxExpansion*len(packed) {
			t.Fatalf("seed %d: %d bytes became %d", seed, len(val), len(packed))
		}
		if got := unpack(packed, len(val)); !bytes.Equal(got, val) {
			t.Fatalf("seed %d: %q is unpacked as %q", seed, val, got)
		}
		for _, n := range []int{len(val) - 1, len(val) + 1} {
			if n >= 0 && unpack(packed, n) != nil {
				t.Fatalf("seed %d: unpacked to %d bytes, of %d", seed, n, len(val))
			}
		}
	}
}

// plainUnpack is unpack a byte at a time.
func plainUnpack(src []byte, n int) (dst []byte) {
	for i := 0; i < len(src); {
		first := int(src[i])
		i++
		if first < 32 {
			for range first + 1 {
				if i == len(src) {
					return nil
				}
				dst = append(dst, src[i])
				i++
			}
			continue
		}
		run := first>>5 + 2
		if run == 9 && i < len(src) {
			run += int(src[i])
			i++
		}
		if i == len(src) {
			return nil
		}
		from := len(dst) - (first&31)<<8 - int(src[i]) - 1
		i++
		for range run {
			if from < 0 {
				return nil
			}
			dst = append(dst, dst[from])
			from++
		}
	}
	if len(dst) != n {
		return nil
	}
	return dst
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte("\x01aa\xe0W\x00\x01aa"), 100)
	f.Add([]byte("\x03abca\xe0\xff\x02\xe1\xff\a\xe1\xb3\a\x03tail"), 724)
	f.Add([]byte("\x00a\x20"), 4)
	f.Fuzz(func(t *testing.T, src []byte, n int) {
		if n < 0 || n > maxExpansion*len(src) {
			return
		}
		got, want := unpack(src, n), plainUnpack(src, n)
		if !bytes.Equal(got, want) || cap(got) > n {
			t.Fatalf("%q is unpacked as %q, want %q", src, got, want)
		}
	})
}

// FuzzRead reads any body with a good footer: what comes of it is within the limit, and the same when
// it is dumped and read again.
func FuzzRead(f *testing.F) {
	for _, c := range append(compressed, dumped...) {
		f.Add([]byte(c.payload[:len(c.payload)-footerBytes]))
	}
	f.Add([]byte("\x00\x81\xff\xff\xff\xff\xff\xff\xff\xffa"))
	f.Add([]byte("\x00\xc3\x81\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00a"))
	f.Fuzz(func(t *testing.T, body []byte) {
		const limit = 1000
		_, _, _ = Read(body, limit) // mostly no footer
		val, own, err := Read(AppendFooter(bytes.Clone(body), 0), limit)
		if err != nil {
			if err != ErrFormat || val != nil || own {
				t.Fatal(val, own, err)
			}
			return
		}
		if len(val) > limit {
			t.Fatalf("%d bytes", len(val))
		}
		again, _, err := Read(AppendString(nil, val), limit)
		if err != nil || !bytes.Equal(again, val) {
			t.Fatalf("%q comes back as %q, %v", val, again, err)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	payload := AppendString(nil, bytes.Repeat([]byte("x"), 1<<20))
	b.SetBytes(1 << 20)
	for b.Loop() {
		if _, _, err := Read(payload, testLimit); err != nil {
			b.Fatal(err)
		}
	}
}
