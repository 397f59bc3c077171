package server

import (
	"fmt"
	"math"
	"time"

	"countd/engine"
)

// The COUNT of CNT.HOTKEYS.
const (
	defaultHotKeys = 10
	maxHotKeys     = 1000
)

// cmdHotkeys replies with the keys that take the most commands, whatever their database, fastest
// first.
func cmdHotkeys(s *Session, args [][]byte) {
	n := int64(defaultHotKeys)
	switch {
	case len(args) == 3 && option(args[1], "count"):
		var ok bool
		if n, ok = s.intArg(args[2]); !ok {
			return
		}
		if n < 1 || n > maxHotKeys {
			s.err(fmt.Sprintf("ERR COUNT must be between 1 and %d", maxHotKeys))
			return
		}
	case len(args) != 1:
		s.err(errSyntax)
		return
	}
	s.hotKeys(s.srv.eng.HotKeys(int(n)))
}

// hotKeys replies with an array of maps. rate and error are in commands per second: error is two
// standard deviations of the sampling and, upwards only, what the sketches may have missed. cells is
// 0 where the key is not promoted.
func (s *Session) hotKeys(keys []engine.HotKey) {
	s.array(len(keys))
	for i := range keys {
		k := &keys[i]
		s.mapHeader(6)
		s.bulkString("key")
		s.bulk(k.Key)
		s.fieldInt("db", k.DB)
		s.fieldDouble("rate", hundredths(k.Rate))
		s.fieldDouble("error", hundredths(k.Err))
		s.bulkString("promoted")
		s.boolean(k.Promoted)
		s.fieldInt("cells", k.Cells)
	}
}

// cmdShards replies with how a counter is kept; null where there is none.
func cmdShards(s *Session, args [][]byte) {
	shards, ok, err := s.srv.eng.Shards(&s.op, args[1])
	switch {
	case err != nil:
		s.fail(err)
	case !ok:
		s.null()
	default:
		s.shards(&shards, time.Now())
	}
}

// shards replies with a map. total = base + the cells + drift. drift is what the self-check of the
// closed counter found: 0, or a defect. promoted-seconds is null where the counter is not
// promoted; it then has no cells, and a skew of 1.
func (s *Session) shards(c *engine.ShardsOf, now time.Time) {
	s.mapHeader(8)
	s.bulkString("promoted")
	s.boolean(c.Promoted)
	mode := "exact"
	if c.Relaxed {
		mode = "relaxed"
	}
	s.field("mode", mode)
	s.bulkString("cells")
	s.array(len(c.Cells))
	for _, cell := range c.Cells {
		s.int(cell)
	}
	s.fieldDouble("skew", hundredths(skew(c.Cells)))
	s.bulkString("base")
	s.int(c.Base)
	s.bulkString("total")
	s.int(c.Value)
	s.bulkString("drift")
	s.int(c.Drift)
	s.bulkString("promoted-seconds")
	if !c.Promoted {
		s.null()
		return
	}
	s.int(max(0, int64(now.Sub(c.Since).Seconds())))
}

// skew is how uneven the cells are: the largest by their mean, both of the absolute values, since
// cells may be negative. 1 is even, n is all in one of n cells; where all are 0 or there is none
// it is 1.
func skew(cells []int64) float64 {
	largest, sum := 0.0, 0.0
	for _, c := range cells {
		size := math.Abs(float64(c))
		largest = max(largest, size)
		sum += size
	}
	if sum == 0 {
		return 1
	}
	return largest * float64(len(cells)) / sum
}

// hundredths rounds f to two decimals.
func hundredths(f float64) float64 { return math.Round(f*100) / 100 }

func (s *Session) fieldDouble(name string, f float64) {
	s.bulkString(name)
	s.double(f)
}
