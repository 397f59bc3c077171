package soak

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Report is what a soak came to. Its JSON is for scripts: names are stable, units are in them.
type Report struct {
	Fsync     string `json:"appendfsync"`
	MaxMemory string `json:"maxmemory"`
	Keys      int    `json:"counters"`
	Writers   int    `json:"writers"`
	Seed      uint64 `json:"seed"`

	Seconds     float64 `json:"seconds"`
	LoadSeconds float64 `json:"load_seconds"`
	Commands    int64   `json:"commands"`
	// Rate is of each stretch of load between two kills, in commands per second.
	Rate       Spread `json:"rate_per_s"`
	Kills      int    `json:"kills"`
	EarlyKills int    `json:"kills_while_starting"`
	Restart    Spread `json:"restart_ms"` // from the start of the process to the first right answer
	Compared   int64  `json:"values_compared"`
	CheckSec   Spread `json:"comparison_s"`
	// DBSizeSec is how long after the last comparison DBSIZE counted keys that had expired.
	DBSizeSec float64 `json:"dbsize_exact_after_s"`
	Lost      int     `json:"lost_of_last_second"`
	OldestMs  float64 `json:"oldest_lost_ms"`
	Unacked   int     `json:"unacknowledged_that_survived"`

	Evicted    int64 `json:"evicted"`
	ReadBack   int64 `json:"read_back"`
	Expired    int64 `json:"expired"`
	Merges     int64 `json:"merges"`
	SlowedMs   int64 `json:"writers_slowed_ms"`
	PeakRSS    int64 `json:"rss_max_bytes"`
	TableBytes int64 `json:"table_max_bytes"`

	Latency Latency  `json:"latency_ms"`
	Wrong   int      `json:"wrong"`
	Faults  []string `json:"faults,omitempty"` // the first 100
}

// Latency is of a command in its batch, in milliseconds.
type Latency struct {
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99_9"`
	Max  float64 `json:"max"`
}

// Spread is the least, the median and the greatest of some figures.
type Spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

func spreadOf(figures []float64) Spread {
	if len(figures) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(figures))
	last := len(sorted) - 1
	return Spread{sorted[0], (sorted[last/2] + sorted[len(sorted)/2]) / 2, sorted[last]}
}

func (s Spread) format(format string) string {
	return fmt.Sprintf("min "+format+"  median "+format+"  max "+format, s.Min, s.Median, s.Max)
}

func (s *soak) report(took time.Duration) *Report {
	r := &Report{Fsync: s.cfg.Fsync, MaxMemory: s.cfg.MaxMemory, Keys: s.cfg.Keys, Writers: s.cfg.Writers,
		Seed: s.cfg.Seed, Seconds: took.Seconds(), LoadSeconds: s.loaded.Seconds(), Commands: s.commands(),
		Rate: spreadOf(s.rates), Kills: s.kills, EarlyKills: s.earlyKills, Restart: spreadOf(s.restarts),
		Compared: s.compared, CheckSec: spreadOf(s.checks), DBSizeSec: s.sizeSec, Lost: s.lost,
		OldestMs: float64(s.oldest), Unacked: s.unacked, Evicted: s.total.evicted, ReadBack: s.total.readBack,
		Expired: s.total.expired, Merges: s.total.merges, SlowedMs: s.total.slowedMs,
		PeakRSS: s.total.peakRSS, TableBytes: s.total.tableBytes}
	sum := hdrhistogram.New(100, int64(time.Minute), 3)
	for _, w := range s.writers {
		sum.Merge(w.latency)
	}
	ms := func(ns int64) float64 { return float64(ns) / 1e6 }
	r.Latency = Latency{ms(sum.ValueAtQuantile(50)), ms(sum.ValueAtQuantile(99)),
		ms(sum.ValueAtQuantile(99.9)), ms(sum.Max())}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	r.Wrong, r.Faults = s.faults.mu.count, s.faults.mu.first
	return r
}

// Print writes the report for people.
func (r *Report) Print(w io.Writer) error {
	mib := func(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
	_, err := fmt.Fprintf(w, `soak            appendfsync %s, maxmemory %s, %d counters, %d writers, seed %d
time            %.0f s, of them %.0f s under load
commands        %d
rate            %s commands/s between kills
latency         p50 %.2f ms  p99 %.2f ms  p99.9 %.2f ms  max %.2f ms
kill -9         %d under load, %d while starting
restart         %s ms to the first right answer
compared        %d values, in %s s for all keys
DBSIZE          right each time; in the end exact after %.1f s
unacknowledged  %d commands survived
lost            %d acknowledged commands, the oldest %.0f ms before the kill
evicted         %d entries; %d reads of the store
expired         %d keys
merges          %d; writers slowed for %d ms
memory          process %s at most, table %s
wrong           %d
`, r.Fsync, r.MaxMemory, r.Keys, r.Writers, r.Seed, r.Seconds, r.LoadSeconds, r.Commands,
		r.Rate.format("%.0f"), r.Latency.P50, r.Latency.P99, r.Latency.P999, r.Latency.Max, r.Kills,
		r.EarlyKills, r.Restart.format("%.0f"), r.Compared, r.CheckSec.format("%.2f"),
		r.DBSizeSec, r.Unacked, r.Lost, r.OldestMs, r.Evicted, r.ReadBack, r.Expired,
		r.Merges, r.SlowedMs, mib(r.PeakRSS), mib(r.TableBytes), r.Wrong)
	return err
}
