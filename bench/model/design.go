package model

// Design is a way to keep one counter, and the pipeline depth that it is loaded with.
type Design struct {
	Name, Short string
	depth       int  // index into Params.Depths
	measured    bool // the measured costs of two loops are of such a design: a write for each run
	demand      func(p Params, b batch, n int) demand
}

// Designs are the lines of the plot and the columns of the table.
func Designs() []Design {
	return []Design{
		{"one mutex, P=64", "mutex", 2, false, lockEach},
		{"one atomic, P=64", "atomic", 2, false, addEach},
		{"exact with runs, P=1", "exact/1", 0, true, addRuns},
		{"exact with runs, P=16", "exact/16", 1, true, addRuns},
		{"exact with runs, P=64", "exact/64", 2, true, addRuns},
		{"relaxed, P=64", "relaxed", 2, false, sumCells},
		{"relaxed with staleness, P=64", "stale", 2, false, readRollup},
	}
}

// batch is the mean of what one loop serves at one time.
type batch struct {
	commands, incrs, runs, gets float64
}

func newBatch(commands int, reads float64) batch {
	p, w := float64(commands), 1-reads
	return batch{commands: p, incrs: p * w, runs: w * (1 + (p-1)*reads), gets: p * reads}
}

// demand is what one command takes, in nanoseconds, besides its measured cost: own delays its loop
// alone, line occupies the busiest shared line, for which loops wait in turn.
type demand struct{ own, line float64 }

// Throughput returns commands per second of n cores at a share of reads.
func (p Params) Throughput(d Design, n int, reads float64) float64 {
	depth := p.Depths[d.depth]
	extra := d.demand(p, newBatch(depth.Commands, reads), n)
	return 1e9 * closedQueue(n, depth.NS+extra.own, extra.line)
}

// closedQueue is mean value analysis: the completions per unit of time of n customers who think for
// `think` and then are served for `service`, one at a time.
func closedQueue(n int, think, service float64) float64 {
	queue, rate := 0.0, 0.0
	for k := 1; k <= n; k++ {
		response := service * (1 + queue)
		rate = float64(k) / (think + response)
		queue = rate * response
	}
	return rate
}

// lockEach takes the lock for every command, GETs too.
func lockEach(p Params, b batch, n int) demand {
	return shared(p, b.commands, 0, b.commands, p.LockMoves, n)
}

// addEach does one fetch-and-add for every INCR and one load for every GET.
func addEach(p Params, b batch, n int) demand {
	return shared(p, b.incrs, b.gets, b.commands, 1, n)
}

// addRuns does one fetch-and-add for every run of INCRs and one load for every GET.
func addRuns(p Params, b batch, n int) demand {
	return shared(p, b.runs, b.gets, b.commands, 1, n)
}

// shared is the demand of a line that all cores write and read alike: so many writes and reads
// for so many commands, a visit being so many moves.
func shared(p Params, writes, reads, commands, moves float64, n int) demand {
	if n == 1 || writes == 0 {
		return demand{}
	}
	others := float64(n-1) / float64(n)
	misses := reads * odds(float64(n-1)*writes, writes+reads)
	inTurn := misses
	if !p.ReadsInTurn {
		inTurn = writes * odds(others*reads, writes) // the first after a write
	}
	s := moves * p.Line.At(n) / commands
	return demand{own: s * max(misses-inTurn, 0), line: s * (writes*others + inTurn)}
}

// sumCells adds to the loop's own cell and sums all of them on GET. All n cells are in equal
// demand; line is that of one.
func sumCells(p Params, b batch, n int) demand {
	if n == 1 || b.runs == 0 || b.gets == 0 {
		return demand{}
	}
	s, others := p.Line.At(n)/b.commands, float64(n-1)
	taken := b.runs * odds(others*b.gets, b.runs) // adds whose cell was read since the last
	moved := others * odds(b.runs, b.gets)        // cells of one sum
	sum := min(moved, 1) + max(moved-1, 0)/p.Overlap
	inTurn := taken
	if p.ReadsInTurn {
		inTurn = b.gets * moved
	}
	line := s * (taken + inTurn) / float64(n)
	return demand{own: s*(taken+b.gets*sum) - line, line: line}
}

// odds is the probability that an event of rate a comes before one of rate b.
func odds(a, b float64) float64 {
	if a == 0 {
		return 0
	}
	return a / (a + b)
}

// readRollup adds to the loop's own cell and reads a total that is refreshed in the background.
func readRollup(Params, batch, int) demand { return demand{} }

// Bend is from where more cores give little.
type Bend struct {
	Cores int     // the first count at which a core gives less than half of one alone; 0: none
	Rate  float64 // commands per second there
}

// Bend looks for it among 2 to limit cores.
func (p Params) Bend(d Design, reads float64, limit int) Bend {
	alone := p.Throughput(d, 1, reads)
	for n := 2; n <= limit; n++ {
		if x := p.Throughput(d, n, reads); x < float64(n)*alone/2 {
			return Bend{n, x}
		}
	}
	return Bend{}
}
