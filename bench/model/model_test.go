package model

import (
	"math"
	"math/rand/v2"
	"testing"
)

var someCores = []int{1, 2, 3, 5, 8, 16, 33, 64, 100, 128, 1024}

// design finds a design by its short name.
func design(t *testing.T, short string) Design {
	t.Helper()
	for _, d := range Designs() {
		if d.Short == short {
			return d
		}
	}
	t.Fatalf("no design %s", short)
	return Design{}
}

// constant are the default parameters with moves that take ns whatever the cores.
func constant(ns float64) Params {
	p := Defaults()
	p.Line = Profile{Name: "constant", points: []point{{2, ns}}}
	return p
}

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance*math.Abs(b) }

func TestRelaxedScalesLinearlyWithoutReads(t *testing.T) {
	for _, l := range profiles {
		p := Defaults()
		p.Line = l
		for _, short := range []string{"relaxed", "stale"} {
			d := design(t, short)
			alone := p.Throughput(d, 1, 0)
			for _, n := range someCores {
				if x := p.Throughput(d, n, 0); !near(x, float64(n)*alone, 1e-9) {
					t.Errorf("%s, %s: %d cores do %g, not %d times %g", l.Name, short, n, x, n, alone)
				}
			}
		}
	}
}

func TestStalenessFreesReadsOfTheLine(t *testing.T) {
	d, p := design(t, "stale"), Defaults()
	for _, r := range Reads {
		if x := p.Throughput(d, 64, r); !near(x, 64*p.Throughput(d, 1, 0), 1e-9) {
			t.Errorf("reads %g: 64 cores do %g", r, x)
		}
	}
}

// TestALineSaturatesAtOneOverItsMove: a line that moves for every write takes 1/s writes a second
// and no more; a write for a run of k gives k times as many commands.
func TestALineSaturatesAtOneOverItsMove(t *testing.T) {
	const ns = 5000
	p := constant(ns)
	for short, commands := range map[string]float64{
		"mutex": 1 / p.LockMoves, "atomic": 1, "exact/1": 1, "exact/16": 16, "exact/64": 64,
	} {
		limit := commands * 1e9 / ns
		if x := p.Throughput(design(t, short), MaxCores, 0); !near(x, limit, 0.01) {
			t.Errorf("%s: %d cores do %g, not about %g", short, MaxCores, x, limit)
		}
	}
}

// TestThroughputIsWithinTheLimitsOfANetworkWithOneQueue checks Denning and Buzen's bounds, and that
// a slower line or a slower command never gives more.
func TestThroughputIsWithinTheLimitsOfANetworkWithOneQueue(t *testing.T) {
	for _, inTurn := range []bool{false, true} {
		for _, d := range Designs() {
			for _, r := range []float64{0, 0.1, 0.5, 0.9, 0.99, 1} {
				for _, n := range someCores {
					p := constant(60)
					p.ReadsInTurn = inTurn
					depth := p.Depths[d.depth]
					e := d.demand(p, newBatch(depth.Commands, r), n)
					x := p.Throughput(d, n, r)
					if e.own < 0 || e.line < 0 {
						t.Fatalf("%s, %d cores, reads %g: demand %+v", d.Name, n, r, e)
					}
					most := float64(n) * 1e9 / (depth.NS + e.own + e.line)
					if !(x > 0 && x <= most*(1+1e-9)) {
						t.Errorf("%s, %d cores, reads %g: %g is above %g", d.Name, n, r, x, most)
					}
					if e.line > 0 && x > 1e9/e.line*(1+1e-9) {
						t.Errorf("%s, %d cores, reads %g: %g is above %g", d.Name, n, r, x, 1e9/e.line)
					}
					if n == 1 && !near(x, 1e9/depth.NS, 1e-9) {
						t.Errorf("%s: one core does %g; a command takes %g ns", d.Name, x, depth.NS)
					}
					slow := constant(90)
					slow.ReadsInTurn = inTurn
					if y := slow.Throughput(d, n, r); y > x*(1+1e-9) {
						t.Errorf("%s, %d cores, reads %g: slower moves give %g for %g", d.Name, n, r, y, x)
					}
					p.Depths[d.depth].NS *= 2
					if y := p.Throughput(d, n, r); y > x*(1+1e-9) {
						t.Errorf("%s, %d cores, reads %g: dearer commands give %g for %g", d.Name, n, r, y, x)
					}
				}
			}
		}
	}
}

func TestFewerWritesToALineNeverGiveLess(t *testing.T) {
	p := Defaults()
	for _, n := range someCores {
		last := 0.0
		for _, short := range []string{"mutex", "atomic", "exact/64", "relaxed", "stale"} {
			x := p.Throughput(design(t, short), n, 0)
			if x < last*(1-1e-9) {
				t.Errorf("%d cores: %s does %g, the design before %g", n, short, x, last)
			}
			last = x
		}
	}
}

func TestReadsInTurnNeverGiveMore(t *testing.T) {
	p, inTurn := Defaults(), Defaults()
	inTurn.ReadsInTurn = true
	for _, d := range Designs() {
		for _, r := range Reads {
			for _, n := range someCores {
				if a, b := p.Throughput(d, n, r), inTurn.Throughput(d, n, r); b > a*(1+1e-9) {
					t.Errorf("%s, %d cores, reads %g: %g in turn, %g else", d.Name, n, r, b, a)
				}
			}
		}
	}
}

// TestMeanValueAnalysisAgreesWithTheMachineRepairman compares with the closed form of the same
// network: the server is idle with probability 1 / sum over k of N!/(N-k)! (service/think)^k.
func TestMeanValueAnalysisAgreesWithTheMachineRepairman(t *testing.T) {
	for _, n := range []int{1, 2, 7, 40} {
		for _, service := range []float64{0.01, 1, 30} {
			const think = 20.0
			term, all := 1.0, 1.0
			for k := 0; k < n; k++ {
				term *= float64(n-k) * service / think
				all += term
			}
			want := (1 - 1/all) / service
			if got := closedQueue(n, think, service); !near(got, want, 1e-9) {
				t.Errorf("%d customers, service %g: %g, not %g", n, service, got, want)
			}
		}
	}
}

// TestMovesAgreeWithARandomLoad counts what the formulas of doc.go say, with the rules of a
// coherence protocol on accesses in random order.
func TestMovesAgreeWithARandomLoad(t *testing.T) {
	const seed, cores, accesses = 42, 8, 1_000_000
	random := rand.New(rand.NewPCG(seed, seed))
	for _, writes := range []float64{0.1, 0.5, 0.9} {
		var has [cores]bool // which cores have the line as it is
		before, owner := 0, -1
		var taken, missed, first float64
		for range accesses {
			core := random.IntN(cores)
			if random.Float64() < writes {
				if core != before {
					taken++
				}
				has = [cores]bool{}
				owner = core
			} else if !has[core] {
				missed++
				if owner >= 0 {
					first++
				}
				owner = -1
			}
			has[core], before = true, core
		}
		one := Params{Line: constant(1).Line}
		parallel := shared(one, writes, 1-writes, 1, 1, cores)
		one.ReadsInTurn = true
		inTurn := shared(one, writes, 1-writes, 1, 1, cores)
		if got := (taken + missed) / accesses; !near(inTurn.line, got, 0.02) || inTurn.own > 1e-9 {
			t.Errorf("seed %d, writes %g: %+v in turn, counted %g", seed, writes, inTurn, got)
		}
		if got := (taken + first) / accesses; !near(parallel.line, got, 0.02) {
			t.Errorf("seed %d, writes %g: %+v, counted %g", seed, writes, parallel, got)
		}
		if got := (missed - first) / accesses; !near(parallel.own, got, 0.02) {
			t.Errorf("seed %d, writes %g: %+v, counted %g", seed, writes, parallel, got)
		}
	}
}

func TestRunsAgreeWithRandomPipelines(t *testing.T) {
	const seed, batches = 7, 50_000
	random := rand.New(rand.NewPCG(seed, seed))
	for _, commands := range []int{1, 2, 16, 64} {
		for _, reads := range []float64{0, 0.1, 0.9} {
			runs := 0
			for range batches {
				adding := false
				for range commands {
					incr := random.Float64() >= reads
					if incr && !adding {
						runs++
					}
					adding = incr
				}
			}
			got, b := float64(runs)/batches, newBatch(commands, reads)
			if !near(b.runs, got, 0.03) {
				t.Errorf("seed %d, %d commands, reads %g: %g runs, counted %g", seed, commands, reads,
					b.runs, got)
			}
		}
	}
}

func TestAProfileIsReadBetweenItsPoints(t *testing.T) {
	p := Profile{points: []point{{2, 10}, {8, 30}}}
	for n, want := range map[int]float64{1: 10, 2: 10, 4: 20, 8: 30, 1024: 30} {
		if got := p.At(n); !near(got, want, 1e-9) {
			t.Errorf("s(%d) is %g, not %g", n, got, want)
		}
	}
	for _, l := range profiles {
		for i := 1; i < len(l.points); i++ {
			if l.points[i].cores <= l.points[i-1].cores {
				t.Errorf("%s: %d cores after %d", l.Name, l.points[i].cores, l.points[i-1].cores)
			}
		}
	}
}

func TestABendIsTheFirstCountBelowHalf(t *testing.T) {
	p := Defaults()
	for _, d := range Designs() {
		for _, r := range Reads {
			bend := p.Bend(d, r, 128)
			last := bend.Cores
			if last == 0 {
				last = 129
			}
			for n := 1; n < last; n++ {
				if 2*p.Throughput(d, n, r) < float64(n)*p.Throughput(d, 1, r) {
					t.Errorf("%s, reads %g: %d cores are below half, not %d", d.Name, r, n, bend.Cores)
				}
			}
			if n := float64(bend.Cores); n > 0 && 2*bend.Rate >= n*p.Throughput(d, 1, r) {
				t.Errorf("%s, reads %g: %+v is not below half", d.Name, r, bend)
			}
		}
	}
}
