package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// report is what a measured phase came to. Its JSON is for scripts: names are stable, units are in
// them.
type report struct {
	Server     string  `json:"server"`
	Commands   string  `json:"commands"`
	Keys       string  `json:"keys"`
	Keyspace   uint64  `json:"keyspace,omitempty"`
	Pipeline   int     `json:"pipeline"`
	Conns      int     `json:"conns"`
	TargetRate float64 `json:"target_per_s,omitempty"`
	Seed       uint64  `json:"seed"`

	Seconds    float64 `json:"seconds"`
	Requests   int64   `json:"requests"`
	Throughput float64 `json:"requests_per_s"`
	Errors     int64   `json:"errors"`
	FirstError string  `json:"first_error,omitempty"`
	Latency    latency `json:"latency_us"`
}

// latency is percentiles in microseconds.
type latency struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99_9"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
}

func newReport(o *options, clients []*client, h *hdrhistogram.Histogram, took time.Duration) *report {
	r := &report{Server: o.address(), Commands: o.mix, Keys: o.keys, Pipeline: o.pipeline,
		Conns: o.conns, TargetRate: o.rate, Seed: o.seed, Seconds: took.Seconds(),
		Latency: latencyOf(h)}
	if len(o.command) > 0 {
		r.Commands = strings.Join(o.command, " ")
	}
	if o.keys != "single" {
		r.Keyspace = o.keyspace
	}
	for _, c := range clients {
		r.Requests += c.done.Load()
		r.Errors += c.replies.errors
		if r.FirstError == "" {
			r.FirstError = string(c.replies.firstError)
		}
	}
	r.Throughput = float64(r.Requests) / r.Seconds
	return r
}

func latencyOf(h *hdrhistogram.Histogram) latency {
	us := func(ns int64) float64 { return float64(ns) / 1e3 }
	return latency{P50: us(h.ValueAtQuantile(50)), P90: us(h.ValueAtQuantile(90)),
		P99: us(h.ValueAtQuantile(99)), P999: us(h.ValueAtQuantile(99.9)), Max: us(h.Max()),
		Mean: h.Mean() / 1e3}
}

// print writes the report for people, or as JSON.
func (r *report) print(w io.Writer, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	keys := r.Keys
	if r.Keyspace > 0 {
		keys = fmt.Sprintf("%s of %s", r.Keys, thousands(int64(r.Keyspace)))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  keys %s  pipeline %d  conns %d\n", r.Server, r.Commands, keys,
		r.Pipeline, r.Conns)
	fmt.Fprintf(&b, "throughput  %s requests/s  (%s in %.2f s)\n", thousands(int64(r.Throughput)),
		thousands(r.Requests), r.Seconds)
	l := r.Latency
	from := ""
	if r.TargetRate > 0 {
		from = fmt.Sprintf(", from the intended instant at %s/s", thousands(int64(r.TargetRate)))
	}
	fmt.Fprintf(&b, "latency     p50 %s  p90 %s  p99 %s  p99.9 %s  max %s%s\n", micros(l.P50),
		micros(l.P90), micros(l.P99), micros(l.P999), micros(l.Max), from)
	if r.Errors > 0 {
		fmt.Fprintf(&b, "errors      %s; the first: %s\n", thousands(r.Errors), r.FirstError)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// micros prints microseconds with the unit that reads best.
func micros(us float64) string {
	switch {
	case us < 1000:
		return fmt.Sprintf("%.0f µs", us)
	case us < 100_000:
		return fmt.Sprintf("%.2f ms", us/1e3)
	default:
		return fmt.Sprintf("%.2f s", us/1e6)
	}
}

// thousands prints n with a comma every three digits.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
