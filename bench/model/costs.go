package model

import (
	"fmt"
	"math"
	"strconv"
)

// Profile is s(n): nanoseconds that moving a contended line takes, by the number of cores.
type Profile struct {
	Name, What, Source string

	points []point // by rising cores; not empty
}

type point struct {
	cores int
	ns    float64
}

// The sources of the profiles.
const (
	coreToCore = "github.com/nviennot/core-to-core-latency, 96a943a, results/: mean of n cores' pairs"
	perfbook   = "McKenney, Is Parallel Programming Hard, git 4c69e89, CodeSamples/count/data/"
)

// profiles are published figures. The first two are the latency of one move: two cores hand a line
// to and fro, averaged over the pairs of the first n cores. The others are the time per
// fetch-and-add of n CPUs that do nothing else. Those are the lower bound: a core adds several
// times while it has the line, which an event loop with a command to serve in between does not.
var profiles = []Profile{
	{"xeon", "two 32-core Xeon Platinum 8375C (Ice Lake)", coreToCore,
		[]point{{2, 45.5}, {4, 48.3}, {8, 47.9}, {16, 46.9}, {32, 51.3}, {48, 75.7}, {64, 79.9}}},
	{"epyc", "one 64-core EPYC 7773X (Milan-X)", coreToCore,
		[]point{{2, 28.2}, {4, 28.2}, {8, 25.9}, {16, 67.6}, {32, 83.7}, {48, 99.7}, {64, 105.5}}},
	{"xeon-faa", "fetch-and-adds in a loop, 448 CPUs (Xeon Platinum 8176)",
		perfbook + "count_atomic:u.hps.2019.10.23a",
		[]point{{2, 31.9}, {4, 28.3}, {8, 25.4}, {16, 23.2}, {32, 22.0}, {64, 24.8}, {128, 29.4}}},
	{"epyc-faa", "fetch-and-adds in a loop, 128 CPUs (AMD Milan)",
		perfbook + "amd-milan.2024.09.22a/count_atomic:u",
		[]point{{2, 5.6}, {4, 6.2}, {8, 6.5}, {16, 7.2}, {32, 8.4}, {64, 9.1}, {128, 12.5}}},
}

// ProfileNames lists what ParseProfile knows by name.
func ProfileNames() []string {
	var names []string
	for _, p := range profiles {
		names = append(names, p.Name)
	}
	return names
}

// ParseProfile returns the profile of that name, or one that is the same for all core counts where
// s is a number of nanoseconds.
func ParseProfile(s string) (Profile, error) {
	for _, p := range profiles {
		if p.Name == s {
			return p, nil
		}
	}
	ns, err := strconv.ParseFloat(s, 64)
	if err != nil || !(ns > 0 && ns <= maxNS) {
		return Profile{}, fmt.Errorf("'%s' is not one of %v or a number of ns", s, ProfileNames())
	}
	return Profile{s + " ns", "the same for all core counts", "given", []point{{2, ns}}}, nil
}

// At returns s(n) in nanoseconds: linear in log n between the points, constant outside of them.
func (p Profile) At(n int) float64 {
	last := p.points[0]
	for _, next := range p.points {
		if n <= next.cores {
			if next.cores == last.cores {
				return next.ns
			}
			f := math.Log2(float64(n)/float64(last.cores)) /
				math.Log2(float64(next.cores)/float64(last.cores))
			return last.ns + f*(next.ns-last.ns)
		}
		last = next
	}
	return last.ns
}

// Depth is what a command costs the server at one pipeline depth, contention apart.
type Depth struct {
	Commands int     // in a pipeline
	NS       float64 // of server CPU per command, kernel included, with one loop
	TwoLoops float64 // CPU per command with two loops, divided by that with one
}

// Params are the inputs of the model.
type Params struct {
	Line      Profile
	Depths    [3]Depth // by rising pipeline depth
	LockMoves float64  // line moves for one passing of a lock
	Overlap   float64  // lines of one sum that are on their way at the same time

	// ReadsInTurn: all GETs that move a line are served one after the other. Else only the first
	// after a write is, and the others read its copies at the same time. The truth lies between.
	ReadsInTurn bool
}

// Bounds of what Check accepts.
const (
	MaxCores = 1024
	maxNS    = 1e9
)

// Defaults are the figures that ARCHITECTURE.md and docs/ are made with.
func Defaults() Params {
	return Params{
		Line:      profiles[0],
		Depths:    [3]Depth{{1, 6700, 1.12}, {16, 450, 1.08}, {64, 150, 1.00}},
		LockMoves: 3,
		Overlap:   11,
	}
}

// Check refuses parameters that mean nothing.
func (p Params) Check() error {
	for _, d := range p.Depths {
		if !(d.NS > 0 && d.NS <= maxNS) {
			return fmt.Errorf("cost of a command at depth %d is %g ns: must be above 0, at most %g",
				d.Commands, d.NS, maxNS)
		}
	}
	if !(p.LockMoves >= 1 && p.LockMoves <= 1000) {
		return fmt.Errorf("%g moves for a lock: must be between 1 and 1000", p.LockMoves)
	}
	if !(p.Overlap >= 1 && p.Overlap <= 1000) {
		return fmt.Errorf("an overlap of %g lines: must be between 1 and 1000", p.Overlap)
	}
	return nil
}

// parameter is a row of the table of parameters.
type parameter struct{ name, value, source string }

// table lists the parameters with their sources. "Assumed" means that nobody measured it.
func (p Params) table() []parameter {
	rows := []parameter{{"a line's move", p.Line.Name + ": " + p.Line.What, p.Line.Source}}
	for _, d := range p.Depths {
		rows = append(rows, parameter{
			fmt.Sprintf("a command at P=%d", d.Commands), fmt.Sprintf("%g ns", d.NS),
			"measured (ARCHITECTURE.md, Decisions), one loop without a log; assumed for GET"})
	}
	reads := "first after a write"
	if p.ReadsInTurn {
		reads = "all"
	}
	return append(rows,
		parameter{"moves for a lock", fmt.Sprintf("%g", p.LockMoves),
			"assumed, in the mutex's favour: mutex/atomic is 2.4-2.9 on Skylake, 3-8 on\n      " +
				"Graviton, 10-18 on Graviton 2 (Downs, A Concurrency Cost Hierarchy, data 1b3f7f8)"},
		parameter{"overlap in a sum", fmt.Sprintf("%g lines", p.Overlap),
			"measured (bench/primitives_test.go): 7.3 ns for a further line, 82 for a move"},
		parameter{"GETs in turn", reads,
			"assumed (--reads-in-turn): later ones read copies at the same time"},
		parameter{"load", "one key",
			"assumed: one loop a core, never idle; GETs at random places"})
}
