package main

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// streams are replies as servers send them, with how many there are and how many are errors.
var streams = []struct {
	name    string
	text    string
	replies int
	errors  int64
}{
	{"simple replies", "+OK\r\n:1\r\n:-12\r\n-ERR no\r\n", 4, 1},
	{"bulks", "$5\r\nhello\r\n$0\r\n\r\n$-1\r\n$2\r\n\r\n\r\n", 4, 0},
	{"arrays", "*2\r\n:1\r\n$1\r\na\r\n*0\r\n*-1\r\n", 3, 0},
	{"nested arrays", "*3\r\n*2\r\n:1\r\n:2\r\n*0\r\n$3\r\nabc\r\n+OK\r\n", 2, 0},
	{"errors inside of arrays", "*2\r\n-ERR a\r\n-ERR b\r\n", 1, 2},
	{"RESP3", "%2\r\n+a\r\n:1\r\n+b\r\n" +
		"~1\r\n#t\r\n_\r\n,1.5\r\n(123456789012345678901\r\n" +
		"=7\r\ntxt:abc\r\n!5\r\nERR x\r\n", 6, 1},
	{"attributes", "|1\r\n+ttl\r\n:5\r\n$1\r\na\r\n", 1, 0},
	{"a bulk that holds replies", "$11\r\n+OK\r\n:1\r\n$1\r\n:7\r\n", 2, 0},
}

func TestReplyReaderCountsAtEverySplit(t *testing.T) {
	for _, s := range streams {
		for size := 1; size <= len(s.text); size++ {
			var r replyReader
			count := 0
			for at := 0; at < len(s.text); at += size {
				n, err := r.feed([]byte(s.text[at:min(at+size, len(s.text))]))
				if err != nil {
					t.Fatalf("%s in pieces of %d: %v", s.name, size, err)
				}
				count += n
			}
			if count != s.replies || r.errors != s.errors || r.open != 0 || r.state != atType {
				t.Errorf("%s in pieces of %d: %d replies, %d errors, %+v", s.name, size, count, r.errors, r)
			}
		}
	}
}

func TestReplyReaderCountsARandomlyCutStream(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var text strings.Builder
	want := 0
	for range 2000 {
		s := streams[rng.IntN(len(streams))]
		text.WriteString(s.text)
		want += s.replies
	}
	in, got := []byte(text.String()), 0
	var r replyReader
	for len(in) > 0 {
		cut := min(len(in), 1+rng.IntN(300))
		n, err := r.feed(in[:cut])
		if err != nil {
			t.Fatal(err)
		}
		got += n
		in = in[cut:]
	}
	if got != want {
		t.Errorf("%d replies, want %d", got, want)
	}
}

func TestReplyReaderKeepsTheFirstError(t *testing.T) {
	var r replyReader
	for _, part := range []string{"-ERR the", " first\r", "\n-ERR the second\r\n"} {
		if _, err := r.feed([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if got := string(r.firstError); got != "ERR the first" || r.errors != 2 {
		t.Errorf("%q, %d errors", got, r.errors)
	}
}

func TestReplyReaderRefusesWhatIsNoRESP(t *testing.T) {
	for _, text := range []string{"$abc\r\n", "*1x\r\n", "$99999999999999999999\r\n"} {
		if _, err := new(replyReader).feed([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestReplyReaderDoesNotAllocate(t *testing.T) {
	in := []byte(strings.Repeat(":123456\r\n$5\r\nhello\r\n*2\r\n:1\r\n:2\r\n", 100))
	var r replyReader
	if n := testing.AllocsPerRun(100, func() { r.feed(in) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkReplyReader(b *testing.B) {
	in := []byte(strings.Repeat(":1234567\r\n", 64))
	var r replyReader
	b.ReportAllocs()
	for b.Loop() {
		r.feed(in)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/reply")
}

func FuzzReplyReader(f *testing.F) {
	for _, s := range streams {
		f.Add([]byte(s.text), 3)
	}
	// However a stream is cut, the count is the same.
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		var whole, parts replyReader
		want, err1 := whole.feed(in)
		cut = max(0, min(cut, len(in)))
		a, err2 := parts.feed(in[:cut])
		b := 0
		if err2 == nil {
			b, err2 = parts.feed(in[cut:])
		}
		if (err1 == nil) != (err2 == nil) || err1 == nil && (a+b != want || whole.errors != parts.errors) {
			t.Fatalf("%q cut at %d: %d+%d replies, want %d; %v, %v", in, cut, a, b, want, err1, err2)
		}
	})
}
