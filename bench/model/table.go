package model

import (
	"fmt"
	"io"
	"strings"
)

// Cores and Reads are what tables and plots show by default.
var (
	Cores = []int{1, 2, 4, 8, 16, 32, 64, 128}
	Reads = []float64{0, 0.1, 0.5, 0.9, 0.99}
)

// Write prints the parameters with their sources, throughput by cores and share of reads, where
// each design bends, and what was measured beside what the model says.
func (p Params) Write(w io.Writer, cores []int, reads []float64) error {
	var b strings.Builder
	b.WriteString("A model, not a measurement: one hot counter that all cores serve.\n\nParameters\n")
	for _, r := range p.table() {
		fmt.Fprintf(&b, "  %s: %s\n      %s\n", r.name, r.value, r.source)
	}
	b.WriteString("\nA line's move by cores, ns; constant above the last core count published\n" +
		"  cores    ")
	for _, n := range cores {
		fmt.Fprintf(&b, "%7d", n)
	}
	for _, l := range p.lines() {
		fmt.Fprintf(&b, "\n  %-9s", l.Name)
		for _, n := range cores {
			fmt.Fprintf(&b, "%7s", moveAt(l, n))
		}
	}
	b.WriteString("\n\nMillion commands per second by cores; /n: in pipelines of n, else of 64\n")
	for _, r := range reads {
		fmt.Fprintf(&b, "\n  reads %-5s", percent(r))
		for _, d := range Designs() {
			fmt.Fprintf(&b, " %9s", d.Short)
		}
		for _, n := range cores {
			fmt.Fprintf(&b, "\n  %5d      ", n)
			for _, d := range Designs() {
				fmt.Fprintf(&b, " %9s", millions(p.Throughput(d, n, r)))
			}
		}
		b.WriteByte('\n')
	}
	b.WriteString("\n" + p.Bends(reads) + "\n" + p.measured())
	_, err := io.WriteString(w, b.String())
	return err
}

// lines are the profiles that are printed: p's own first, then the published ones.
func (p Params) lines() []Profile {
	all := []Profile{p.Line}
	for _, l := range profiles {
		if l.Name != p.Line.Name {
			all = append(all, l)
		}
	}
	return all
}

// moveAt is s(n) as text; one core moves nothing.
func moveAt(l Profile, n int) string {
	if n < 2 {
		return "-"
	}
	return fmt.Sprintf("%.1f", l.At(n))
}

// bendLimit is up to how many cores Bends looks, atCores where it gives the throughput.
const (
	bendLimit = 128
	atCores   = 64
)

// Bends says in a Markdown table from which load each design bends: the first core count at which
// a core gives less than half of one alone, the throughput there, and that of 64 cores, in millions
// of commands per second.
func (p Params) Bends(reads []float64) string {
	var b strings.Builder
	b.WriteString("| bends at: cores, M/s (M/s at 64) |")
	for _, r := range reads {
		fmt.Fprintf(&b, " reads %s |", percent(r))
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(reads)) + "\n")
	for _, d := range Designs() {
		fmt.Fprintf(&b, "| %s |", d.Name)
		for _, r := range reads {
			at := millions(p.Throughput(d, atCores, r))
			if bend := p.Bend(d, r, bendLimit); bend.Cores > 0 {
				fmt.Fprintf(&b, " %d, %s (%s) |", bend.Cores, millions(bend.Rate), at)
			} else {
				fmt.Fprintf(&b, " none (%s) |", at)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Point is a throughput of a design, in commands per second.
type Point struct {
	Cores int
	Rate  float64
}

// Measured returns what one and two loops were measured to do with such a design, from their CPU
// per command; none for designs that were not. The model has that of one loop as a parameter.
func (p Params) Measured(d Design) []Point {
	depth := p.Depths[d.depth]
	if !d.measured {
		return nil
	}
	return []Point{{1, 1e9 / depth.NS}, {2, 2e9 / (depth.NS * depth.TwoLoops)}}
}

// measured sets the measured points beside the model.
func (p Params) measured() string {
	var b strings.Builder
	b.WriteString("Two loops, no reads, million commands per second\n" +
		"                         measured    model   (measured: from the CPU per command)\n")
	for _, d := range Designs() {
		for _, m := range p.Measured(d) {
			if m.Cores == 2 {
				fmt.Fprintf(&b, "  %-22s %8s %8s\n", d.Name, millions(m.Rate),
					millions(p.Throughput(d, m.Cores, 0)))
			}
		}
	}
	return b.String()
}

// percent is a share in whole percents or as many digits as it needs.
func percent(share float64) string { return fmt.Sprintf("%.4g%%", share*100) }

// millions is a rate in millions, with three digits.
func millions(rate float64) string {
	m := rate / 1e6
	switch {
	case m < 1:
		return fmt.Sprintf("%.3f", m)
	case m < 10:
		return fmt.Sprintf("%.2f", m)
	case m < 100:
		return fmt.Sprintf("%.1f", m)
	default:
		return fmt.Sprintf("%.0f", m)
	}
}
