package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// medians takes the median of each figure on its own.
func medians(rounds []measured) measured {
	figure := func(of func(measured) float64) float64 {
		var all []float64
		for _, m := range rounds {
			all = append(all, of(m))
		}
		return median(all)
	}
	m := measured{
		Throughput: figure(func(m measured) float64 { return m.Throughput }),
		P50:        figure(func(m measured) float64 { return m.P50 }),
		P99:        figure(func(m measured) float64 { return m.P99 }),
		CPU:        figure(func(m measured) float64 { return m.CPU }),
	}
	for _, r := range rounds {
		m.Errors += r.Errors
	}
	return m
}

// median of a list that is not empty; it sorts the list.
func median(all []float64) float64 {
	slices.Sort(all)
	mid := len(all) / 2
	if len(all)%2 == 1 {
		return all[mid]
	}
	return (all[mid-1] + all[mid]) / 2
}

// ratios divides the figures of each round.
func ratios(a, b []measured) []measured {
	var all []measured
	for i := range a {
		all = append(all, measured{
			Throughput: ratio(a[i].Throughput, b[i].Throughput),
			P50:        ratio(a[i].P50, b[i].P50),
			P99:        ratio(a[i].P99, b[i].P99),
			CPU:        ratio(a[i].CPU, b[i].CPU),
		})
	}
	return all
}

// ratio is a/b, and 0 where b is not known.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// printHead prints the heading of the results; both: there is a redis-server.
func printHead(w io.Writer, title string, both bool) error {
	var b strings.Builder
	b.WriteString(title)
	if !both {
		fmt.Fprintf(&b, "\n%-12s %12s %9s %9s %12s\n", "", "requests/s", "p50", "p99", "CPU ns/req")
		_, err := io.WriteString(w, b.String())
		return err
	}
	b.WriteString("; ratio: countd / redis, the median of the rounds' ratios\n")
	fmt.Fprintf(&b, "%-12s %-30s %-26s %-26s %s\n", "", "requests/s", "p50", "p99", "CPU ns per request")
	fmt.Fprintf(&b, "%-12s %11s %11s %6s", "", "redis", "countd", "ratio")
	for range 2 {
		fmt.Fprintf(&b, " %9s %9s %6s", "redis", "countd", "ratio")
	}
	fmt.Fprintf(&b, " %7s %7s %6s\n", "redis", "countd", "ratio")
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *result) print(w io.Writer) error {
	var b strings.Builder
	c := r.Countd
	if r.Redis == nil {
		fmt.Fprintf(&b, "%-12s %12s %9s %9s %12.0f", r.Case, thousands(int64(c.Throughput)),
			micros(c.P50), micros(c.P99), c.CPU)
	} else {
		p, q := r.Redis, r.Ratio
		fmt.Fprintf(&b, "%-12s %11s %11s %6.2f", r.Case, thousands(int64(p.Throughput)),
			thousands(int64(c.Throughput)), q.Throughput)
		fmt.Fprintf(&b, " %9s %9s %6.2f", micros(p.P50), micros(c.P50), q.P50)
		fmt.Fprintf(&b, " %9s %9s %6.2f", micros(p.P99), micros(c.P99), q.P99)
		fmt.Fprintf(&b, " %7.0f %7.0f %6.2f", p.CPU, c.CPU, q.CPU)
	}
	if c.Errors > 0 || r.Redis != nil && r.Redis.Errors > 0 {
		fmt.Fprintf(&b, "  ERRORS: countd %d", c.Errors)
		if r.Redis != nil {
			fmt.Fprintf(&b, ", redis %d", r.Redis.Errors)
		}
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}
