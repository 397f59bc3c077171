package main

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"countd/bench/zipf"
)

func TestParseMix(t *testing.T) {
	m, err := parseMix("INCRBY=80, get=15,PFADD=5", 3)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.templates) != 3 || m.upTo[0] != 80 || m.upTo[1] != 95 || m.upTo[2] != 100 {
		t.Errorf("weights %v", m.upTo)
	}
	r := rand.New(rand.NewPCG(1, 1))
	counts := map[*template]int{}
	for range 100_000 {
		counts[m.pick(r)]++
	}
	for i, want := range []int{80_000, 15_000, 5_000} {
		if got := counts[&m.templates[i]]; math.Abs(float64(got-want)) > 1000 {
			t.Errorf("command %d was picked %d times of 100,000, want about %d", i, got, want)
		}
	}
	for _, s := range []string{"", "NOPE", "GET=0", "GET=-1", "GET=x", "GET=1,,SET=1"} {
		if _, err := parseMix(s, 3); err == nil {
			t.Errorf("%q is taken", s)
		}
	}
}

func TestRequestsAreWhatGoesOverTheWire(t *testing.T) {
	for _, tc := range []struct {
		command []string
		want    string
	}{
		{strings.Fields(shapes["INCRBY"]), "*3\r\n$6\r\nINCRBY\r\n$16\r\nkey:000000000042\r\n$1\r\n1\r\n"},
		{strings.Fields(shapes["SET"]), "*3\r\n$3\r\nSET\r\n$16\r\nstr:000000000042\r\n$3\r\nxxx\r\n"},
		{[]string{"PING"}, "*1\r\n$4\r\nPING\r\n"},
		{[]string{"GET", "a:{key}:{key}"}, "*2\r\n$3\r\nGET\r\n$35\r\na:key:000000000042:key:000000000042\r\n"},
	} {
		m := &mix{}
		m.add(newTemplate(tc.command, 3), 1)
		b := newBatch(m, constantKey(42), rand.New(rand.NewPCG(1, 1)))
		if got := string(b.next(1)); got != tc.want {
			t.Errorf("%q gives %q, want %q", tc.command, got, tc.want)
		}
		if got := string(b.next(3)); got != strings.Repeat(tc.want, 3) {
			t.Errorf("%q three times gives %q", tc.command, got)
		}
	}
}

type constantKey uint64

func (k constantKey) next() uint64 { return uint64(k) }

func TestABatchOfTheHotKeyIsBuiltOnce(t *testing.T) {
	m, _ := parseMix("INCRBY", 0)
	b := newBatch(m, singleKey{}, rand.New(rand.NewPCG(1, 1)))
	first := string(b.next(5))
	if !b.whole || strings.Count(first, "INCRBY") != 5 {
		t.Errorf("%v, %q", b.whole, first)
	}
	if got := string(b.next(2)); got != first[:len(first)/5*2] {
		t.Errorf("a shorter batch is %q", got)
	}
}

func TestBatchesDoNotAllocate(t *testing.T) {
	m, _ := parseMix("INCRBY=80,GET=15,PFADD=5", 0)
	r := rand.New(rand.NewPCG(1, 1))
	b := newBatch(m, zipfKeys{zipf.New(r, 0.99, 1000)}, r)
	b.buf = make([]byte, 0, 1<<16)
	if n := testing.AllocsPerRun(100, func() { b.next(64) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkBatch(b *testing.B) {
	m, _ := parseMix("INCRBY=80,GET=15,PFADD=5", 0)
	r := rand.New(rand.NewPCG(1, 1))
	kinds := map[string]keys{"uniform": &uniformKeys{r, 1e6}, "zipf": zipfKeys{zipf.New(r, 0.99, 1e6)}}
	for name, k := range kinds {
		b.Run(name, func(b *testing.B) {
			batch := newBatch(m, k, r)
			for b.Loop() {
				batch.next(64)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/request")
		})
	}
}
