package server

import (
	"sync/atomic"
	"time"
)

// loopStats are what one event loop counts. Only its loop adds (once per run of equal commands or
// once per read), INFO sums them over the loops, so no counter is contended. The padding keeps two
// loops' structs off one cache line (128 bytes: pairs of lines are fetched together).
type loopStats struct {
	_ [128]byte

	connections  atomic.Uint64 // accepted, without those turned away
	rejected     atomic.Uint64 // turned away: maxclients, protected mode
	errorReplies atomic.Uint64
	inputBytes   atomic.Uint64
	outputBytes  atomic.Uint64
	reads        atomic.Uint64
	writes       atomic.Uint64
	queryLimit   atomic.Uint64 // clients closed for client-query-buffer-limit
	outputLimit  atomic.Uint64 // clients closed for client-output-buffer-limit
	slowed       atomic.Uint64 // nanoseconds of rest that slowDown imposed

	rows []rowStats // by command.id

	_ [128]byte
}

// rowStats are the counters of one row of the command table.
type rowStats struct {
	calls    atomic.Uint64
	nanos    atomic.Uint64
	rejected atomic.Uint64 // arity, NOAUTH
	failed   atomic.Uint64 // ran and replied with an error
}

func newLoopStats() *loopStats {
	return &loopStats{rows: make([]rowStats, numCommands())}
}

// commandStat is a row of INFO commandstats.
type commandStat struct {
	cmd                           *command
	calls, usec, rejected, failed uint64
}

// serverStats are the sums that INFO prints.
type serverStats struct {
	connectionsReceived uint64
	connectionsRejected uint64
	connectedClients    int64
	maxClients          int64
	commandsProcessed   uint64
	errorReplies        uint64
	netInputBytes       uint64
	netOutputBytes      uint64
	reads, writes       uint64
	queryLimitCloses    uint64
	outputLimitCloses   uint64
	slowedNanos         uint64
	opsPerSec           int64
	inputKbps           float64
	outputKbps          float64
}

// stats sums the counters of all loops.
func (srv *Server) stats() serverStats {
	st := serverStats{
		connectedClients: srv.connected.Load(),
		maxClients:       srv.maxClients(),
		opsPerSec:        srv.rates.ops.Load(),
		inputKbps:        float64(srv.rates.input.Load()) / 1024,
		outputKbps:       float64(srv.rates.output.Load()) / 1024,
	}
	srv.eachStats(func(l *loopStats) {
		st.connectionsReceived += l.connections.Load()
		st.connectionsRejected += l.rejected.Load()
		for i := range l.rows {
			st.commandsProcessed += l.rows[i].calls.Load()
		}
		st.errorReplies += l.errorReplies.Load()
		st.netInputBytes += l.inputBytes.Load()
		st.netOutputBytes += l.outputBytes.Load()
		st.reads += l.reads.Load()
		st.writes += l.writes.Load()
		st.queryLimitCloses += l.queryLimit.Load()
		st.outputLimitCloses += l.outputLimit.Load()
		st.slowedNanos += l.slowed.Load()
	})
	return st
}

// commandStats are the rows that were called or refused, in the table's order.
func (srv *Server) commandStats() []commandStat {
	sums := make([]commandStat, numCommands())
	srv.eachStats(func(l *loopStats) {
		for i := range l.rows {
			row, sum := &l.rows[i], &sums[i]
			sum.calls += row.calls.Load()
			sum.usec += row.nanos.Load()
			sum.rejected += row.rejected.Load()
			sum.failed += row.failed.Load()
		}
	})
	var used []commandStat
	for i, sum := range sums {
		if sum.calls+sum.rejected+sum.failed == 0 {
			continue
		}
		sum.cmd = commands().all[i]
		sum.usec /= 1000
		used = append(used, sum)
	}
	return used
}

// resetStats is CONFIG RESETSTAT. Runs that end meanwhile may be counted or not.
func (srv *Server) resetStats() {
	srv.eachStats(func(l *loopStats) {
		for _, c := range []*atomic.Uint64{&l.connections, &l.rejected, &l.errorReplies,
			&l.inputBytes, &l.outputBytes, &l.reads, &l.writes, &l.queryLimit, &l.outputLimit, &l.slowed} {
			c.Store(0)
		}
		for i := range l.rows {
			row := &l.rows[i]
			row.calls.Store(0)
			row.nanos.Store(0)
			row.rejected.Store(0)
			row.failed.Store(0)
		}
	})
	srv.rates.reset.Store(true)
}

// eachStats calls fn for the counters of every loop and for those of sessions without one.
func (srv *Server) eachStats(fn func(*loopStats)) {
	fn(srv.looseStats)
	for _, l := range srv.loops() {
		fn(l.stats)
	}
}

// rateSamples is how many samples a rate is the mean of, rateInterval how far they are apart
// (Redis's STATS_METRIC_SAMPLES and its 100 ms).
const (
	rateSamples  = 16
	rateInterval = 100 * time.Millisecond
)

// rates are the instantaneous figures of INFO. sample is called by one goroutine; the results are
// atomics for INFO.
type rates struct {
	ops, input, output atomic.Int64 // per second
	reset              atomic.Bool  // the counters were set to zero

	last               time.Duration
	lastOps, lastInput uint64
	lastOutput         uint64
	ring               [rateSamples][3]int64
	ticks              int
	next               int
}

func (r *rates) sample(st serverStats, now time.Duration) {
	elapsed := now - r.last
	if r.last > 0 && !r.reset.Swap(false) && elapsed > 0 {
		perSecond := func(delta uint64) int64 {
			return int64(float64(delta) / elapsed.Seconds())
		}
		r.ring[r.next] = [3]int64{perSecond(st.commandsProcessed - r.lastOps),
			perSecond(st.netInputBytes - r.lastInput), perSecond(st.netOutputBytes - r.lastOutput)}
		r.next = (r.next + 1) % rateSamples
		var sums [3]int64
		for _, sample := range r.ring {
			for i, v := range sample {
				sums[i] += v
			}
		}
		r.ops.Store(sums[0] / rateSamples)
		r.input.Store(sums[1] / rateSamples)
		r.output.Store(sums[2] / rateSamples)
	}
	r.last, r.lastOps = now, st.commandsProcessed
	r.lastInput, r.lastOutput = st.netInputBytes, st.netOutputBytes
}
