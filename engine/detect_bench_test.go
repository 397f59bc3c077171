package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"countd/hotkeys"
)

// BenchmarkDetector compares increments in process with the detector on and off, and nothing promoted.
// Two writers of one engine take turns of about a millisecond, so that both meet the same machine and
// memory; compared are the turns that nine of ten took longer than, since those were the least disturbed.
// A loop that has a processor to itself would do more commands per second, and so sample fewer of them:
// Config.Samples is lowered for the time that the writer of the benchmark does not run.
func BenchmarkDetector(b *testing.B) {
	for _, load := range []string{"one key", "zipf", "uniform"} {
		b.Run(load, func(b *testing.B) {
			cfg := hotkeys.DefaultConfig()
			cfg.PromoteRate = hotkeys.MaxRate
			e, _, err := Open(Options{Policy: FsyncOff, Hot: &cfg})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			cfg.Off = true
			idle, err := hotkeys.New(cfg)
			if err != nil {
				b.Fatal(err)
			}
			keys := detectorKeys(load)
			off, on := newDetectorTurns(e, keys), newDetectorTurns(e, keys)
			off.op.Writer.sampler = idle.NewSampler()
			on.next = len(keys) / 2 // neither finds in the cache what the other has just used
			for n := 0; n < b.N; n += 2 * detectorTurnKeys {
				off.take(b)
				on.take(b)
				on.adapt(b)
			}
			if len(on.times) < 500 {
				return
			}
			b.ReportMetric(float64(off.least())/detectorTurnKeys, "ns-off")
			b.ReportMetric(float64(on.least())/detectorTurnKeys, "ns-on")
			b.ReportMetric(100*(float64(on.least())/float64(off.least())-1), "cost%")
			s := e.HotStats().Detector
			b.ReportMetric(float64(s.Commands)/float64(s.Samples), "N")
		})
	}
}

const detectorTurnKeys = 1 << 14

// detectorTurns is a writer, and how long its turns took.
type detectorTurns struct {
	e     *Engine
	op    Op
	keys  [][]byte
	next  int
	times []time.Duration
	since time.Time // of the last adapt
	done  int       // turns since
}

func newDetectorTurns(e *Engine, keys [][]byte) *detectorTurns {
	op := Op{Writer: e.NewWriter(), NowMs: e.NowMs()}
	return &detectorTurns{e: e, op: op, keys: keys, since: time.Now()}
}

// take increments the next detectorTurnKeys keys.
func (d *detectorTurns) take(b *testing.B) {
	start := time.Now()
	for _, k := range d.keys[d.next : d.next+detectorTurnKeys] {
		if _, err := d.e.IncrBy(&d.op, k, 1); err != nil {
			b.Fatal(err)
		}
	}
	d.times = append(d.times, time.Since(start))
	d.next = (d.next + detectorTurnKeys) % len(d.keys)
	d.done++
}

// adapt makes N what it would be if all turns were the least disturbed ones, without a pause.
func (d *detectorTurns) adapt(b *testing.B) {
	const every = 256
	if d.done < every {
		return
	}
	ran := time.Duration(every) * d.least()
	cfg := hotkeys.DefaultConfig()
	cfg.PromoteRate = hotkeys.MaxRate
	samples := float64(cfg.Samples) * float64(ran) / float64(time.Since(d.since))
	cfg.Samples = max(int(samples), hotkeys.MinSamples)
	if err := d.e.ConfigureHot(cfg); err != nil {
		b.Fatal(err)
	}
	d.done, d.since = 0, time.Now()
}

// least is the time that a tenth of the turns kept within.
func (d *detectorTurns) least() time.Duration {
	times := slices.Clone(d.times)
	slices.Sort(times)
	return times[len(times)/10]
}

func detectorKeys(load string) [][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.1, 1, 1e6-1)
	var keys [][]byte
	for range 1 << 18 {
		id := uint64(42)
		switch load {
		case "zipf":
			id = zipf.Uint64()
		case "uniform":
			id = rng.Uint64N(1e6)
		}
		keys = append(keys, fmt.Appendf(nil, "counter:%08d", id))
	}
	return keys
}
