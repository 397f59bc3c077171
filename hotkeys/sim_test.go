package hotkeys

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// sim runs a detector beside exact counts, on a clock of its own. Keys are numbers; those below
// counted have their truth kept.
type sim struct {
	t      testing.TB
	rng    *rand.Rand
	d      *Detector
	loops  []*Sampler
	now    time.Duration
	hot    []Key
	events []event
	counts []uint32 // by key, since the last tick
	total  uint64
	past   []simPeriod // newest first
	buf    [8]byte

	worst   float64 // relative error of a rate above the thresholds
	checked int     // rates above the thresholds that were compared
	outside int     // of those, how many were off by more than Err
}

type simPeriod struct {
	elapsed time.Duration
	counts  []uint32
	total   uint64
}

// event is a promotion or a demotion.
type event struct {
	at      time.Duration
	id      uint64
	promote bool
}

func (e event) String() string {
	return fmt.Sprintf("%v key %d promoted=%v", e.at, e.id, e.promote)
}

const counted = 1 << 12

// newSim starts a detector at a random time of its clock.
func newSim(t testing.TB, cfg Config, loops int, seed uint64) *sim {
	t.Helper()
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	s := &sim{t: t, rng: rand.New(rand.NewPCG(seed, 1)), counts: make([]uint32, counted)}
	s.d = newDetector(cfg, seed, func() time.Duration { return 0 })
	for range loops {
		s.loops = append(s.loops, s.d.NewSampler())
	}
	s.now = time.Duration(s.rng.Int64N(int64(time.Hour)))
	s.d.Tick(s.now, nil)
	return s
}

var seedFlag = flag.Uint64("hotkeys.seed", 2, "another seed for the tests that draw at random")

// forSeeds runs a test with two seeds. They are the same each time, since what these tests compare are samples:
// a new seed would now and then be one of those few with which a sample is as far off as samples may be.
func forSeeds(t *testing.T, test func(t *testing.T, seed uint64)) {
	for _, seed := range []uint64{1, *seedFlag} {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { test(t, seed) })
	}
}

// hashID is the hash of a key (splitmix64).
func hashID(id uint64) uint64 {
	id += 0x9e3779b97f4a7c15
	id = (id ^ id>>30) * 0xbf58476d1ce4e5b9
	id = (id ^ id>>27) * 0x94d049bb133111eb
	return id ^ id>>31
}

func keyOfID(id uint64) Key {
	return Key{Hash: hashID(id), Name: string(binary.BigEndian.AppendUint64(nil, id))}
}

func (s *sim) hit(loop int, id uint64, n int) {
	if id < counted {
		s.counts[id] += uint32(n)
	}
	s.total += uint64(n)
	binary.BigEndian.PutUint64(s.buf[:], id)
	s.loops[loop].Hit(0, hashID(id), s.buf[:], n)
}

// tick lets time pass and does what the detector says.
func (s *sim) tick(elapsed time.Duration) {
	s.t.Helper()
	s.now += elapsed
	promote, demote := s.d.Tick(s.now, s.hot)
	for _, k := range demote {
		i := slices.Index(s.hot, k)
		if i < 0 {
			s.t.Fatalf("at %v: %q is demoted, but not hot", s.now, k.Name)
		}
		s.hot = slices.Delete(s.hot, i, i+1)
		s.note(k, false)
	}
	for _, k := range promote {
		if slices.Contains(s.hot, k) {
			s.t.Fatalf("at %v: %q is promoted, but hot already", s.now, k.Name)
		}
		s.hot = append(s.hot, k)
		s.note(k, true)
	}
	if most := s.d.Config().MaxHot; len(s.hot) > most {
		s.t.Fatalf("at %v: %d hot keys, want at most %d", s.now, len(s.hot), most)
	}
	s.past = slices.Insert(s.past, 0, simPeriod{elapsed, s.counts, s.total})
	s.past = s.past[:min(len(s.past), MaxTicks)]
	s.counts, s.total = make([]uint32, counted), 0
	s.compare()
}

func (s *sim) note(k Key, promote bool) {
	id := binary.BigEndian.Uint64([]byte(k.Name))
	if k != keyOfID(id) {
		s.t.Fatalf("key %+v, want %+v", k, keyOfID(id))
	}
	s.events = append(s.events, event{s.now, id, promote})
}

// run lets load happen for a time: load makes the commands of a tick of the given length. Ticks are a
// little early or late.
func (s *sim) run(length time.Duration, load func(tick time.Duration)) {
	s.t.Helper()
	for end := s.now + length; s.now < end; {
		tick := s.d.cfg.Tick
		tick += time.Duration(s.rng.Int64N(int64(tick/10))) - tick/20
		load(tick)
		s.tick(tick)
	}
}

// compare compares the rates of all keys above the promotion thresholds with the truth of the same
// window.
func (s *sim) compare() {
	s.t.Helper()
	w, cfg := &s.d.window, &s.d.cfg
	var covered time.Duration
	var total uint64
	periods := 0
	for ; covered < w.covered; periods++ {
		covered += s.past[periods].elapsed
		total += s.past[periods].total
	}
	if covered != w.covered {
		s.t.Fatalf("at %v: the window is %v, no sum of ticks", s.now, w.covered)
	}
	if covered < cfg.Window*9/10 {
		return
	}
	least := max(cfg.PromoteRate*covered.Seconds(), cfg.Share*float64(total))
	for id := range uint64(counted) {
		var n uint64
		for _, p := range s.past[:periods] {
			n += uint64(p.counts[id])
		}
		if float64(n) < least {
			continue
		}
		k := keyOfID(id)
		truth := float64(n) / covered.Seconds()
		rate, err := s.d.Rate(0, k.Hash, []byte(k.Name))
		s.checked++
		s.worst = max(s.worst, math.Abs(rate-truth)/truth)
		if math.Abs(rate-truth) > err+1e-6*truth {
			s.outside++
		}
	}
}

// wantExact fails where a rate above the thresholds was off by more than a fifth, or where more of
// them were beyond their error than two standard deviations let expect: a twentieth, and as much again
// since windows overlap.
func (s *sim) wantExact() {
	s.t.Helper()
	s.t.Logf("%d rates above the thresholds, worst error %.1f%%, %d beyond their bound",
		s.checked, 100*s.worst, s.outside)
	if s.worst > 0.2 {
		s.t.Errorf("a rate is off by %.1f%%", 100*s.worst)
	}
	if s.checked >= 100 && s.outside > s.checked/10 {
		s.t.Errorf("%d of %d rates are beyond their error", s.outside, s.checked)
	}
}

// wantOnly fails where a key was promoted that is not among may, one of must is not hot, or one was
// promoted twice.
func (s *sim) wantOnly(must, may []uint64) {
	s.t.Helper()
	seen := map[uint64]bool{}
	for _, e := range s.events {
		if !slices.Contains(must, e.id) && !slices.Contains(may, e.id) {
			s.t.Errorf("unexpected: %v", e)
		}
		if e.promote && seen[e.id] {
			s.t.Errorf("a second time: %v", e)
		}
		seen[e.id] = true
	}
	for _, id := range must {
		if !slices.Contains(s.hot, keyOfID(id)) {
			s.t.Errorf("key %d is not hot", id)
		}
	}
}

// wantPromoted returns when key id was promoted after since, and fails where that was not within
// limit.
func (s *sim) wantPromoted(id uint64, since, limit time.Duration) time.Duration {
	s.t.Helper()
	for _, e := range s.events {
		if e.id == id && e.promote && e.at >= since {
			if e.at-since > limit {
				s.t.Errorf("key %d was promoted after %v, want %v", id, e.at-since, limit)
			}
			return e.at - since
		}
	}
	s.t.Errorf("key %d was not promoted", id)
	return 0
}

// tape is a long sequence of keys drawn in advance, since drawing costs more than sampling.
type tape struct {
	ids []uint32
	at  int
}

const tapeLen = 1 << 20

func zipfTape(rng *rand.Rand, s float64, keys uint64) *tape {
	z := rand.NewZipf(rng, s, 1, keys-1)
	t := &tape{ids: make([]uint32, tapeLen)}
	for i := range t.ids {
		t.ids[i] = uint32(z.Uint64())
	}
	return t
}

func uniformTape(rng *rand.Rand, keys uint32) *tape {
	t := &tape{ids: make([]uint32, tapeLen)}
	for i := range t.ids {
		t.ids[i] = rng.Uint32N(keys)
	}
	return t
}

func (t *tape) next() uint64 {
	t.at = (t.at + 1) % tapeLen
	return uint64(t.ids[t.at])
}
