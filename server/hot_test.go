package server

import (
	"math"
	"strings"
	"testing"
	"time"

	"countd/engine"
)

// rendered is what reply makes of a session's output, cut into lines.
func rendered(resp3 bool, reply func(s *Session)) string {
	s := &Session{resp3: resp3}
	reply(s)
	return strings.TrimSuffix(strings.ReplaceAll(string(s.out), "\r\n", " "), " ")
}

func TestHotKeysAreMaps(t *testing.T) {
	keys := []engine.HotKey{
		{DB: 0, Key: []byte("page:1"), Rate: 123456.789, Err: 12.004, Promoted: true, Cells: 4},
		{DB: 15, Key: []byte{}, Rate: 3},
	}
	tests := map[bool]string{
		false: "*2 *12 $3 key $6 page:1 $2 db :0 $4 rate $9 123456.79 $5 error $2 12 $8 promoted :1 " +
			"$5 cells :4 *12 $3 key $0  $2 db :15 $4 rate $1 3 $5 error $1 0 $8 promoted :0 $5 cells :0",
		true: "*2 %6 $3 key $6 page:1 $2 db :0 $4 rate ,123456.79 $5 error ,12 $8 promoted #t " +
			"$5 cells :4 %6 $3 key $0  $2 db :15 $4 rate ,3 $5 error ,0 $8 promoted #f $5 cells :0",
	}
	for resp3, want := range tests {
		if got := rendered(resp3, func(s *Session) { s.hotKeys(keys) }); got != want {
			t.Errorf("RESP3 %v\ngot  %s\nwant %s", resp3, got, want)
		}
	}
}

func TestShardsAreAMap(t *testing.T) {
	since := time.Unix(1_000_000, 0)
	c := engine.ShardsOf{Value: 135, Promoted: true, Since: since, Relaxed: true,
		Cells: []int64{30, -10, 10}, Base: 105}
	tests := map[bool]string{
		false: "*16 $8 promoted :1 $4 mode $7 relaxed $5 cells *3 :30 :-10 :10 $4 skew $3 1.8 $4 base :105 " +
			"$5 total :135 $5 drift :0 $16 promoted-seconds :61",
		true: "%8 $8 promoted #t $4 mode $7 relaxed $5 cells *3 :30 :-10 :10 $4 skew ,1.8 $4 base :105 " +
			"$5 total :135 $5 drift :0 $16 promoted-seconds :61",
	}
	for resp3, want := range tests {
		got := rendered(resp3, func(s *Session) { s.shards(&c, since.Add(61_900*time.Millisecond)) })
		if got != want {
			t.Errorf("RESP3 %v\ngot  %s\nwant %s", resp3, got, want)
		}
	}
}

func TestSkewIsTheLargestCellByTheMean(t *testing.T) {
	tests := []struct {
		cells []int64
		want  float64
	}{
		{nil, 1}, {[]int64{0, 0}, 1}, {[]int64{5}, 1}, {[]int64{5, 5, 5, 5}, 1}, {[]int64{5, -5}, 1},
		{[]int64{8, 0, 0, 0}, 4}, {[]int64{-8, 0, 0, 0}, 4}, {[]int64{3, 1}, 1.5}, {[]int64{-3, 1}, 1.5},
		{[]int64{math.MinInt64, math.MaxInt64}, 1},
	}
	for _, tc := range tests {
		if got := skew(tc.cells); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.cells, got, tc.want)
		}
	}
}
