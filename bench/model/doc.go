// Package model computes what one hot counter may come to on more cores than we have: throughput
// against cores and share of reads, by design of the counter. It is a model, not a measurement. Its
// parameters, each with its source, are in costs.go.
//
// # The load
//
// Each of n cores runs one event loop that is never idle. All loops serve one key; each works
// through pipelines of P commands, of which a share r, at random places, are GETs and the others
// INCRs. That is the worst load for a hot counter: a second key, idle loops, or GETs that come in
// pipelines of their own lift every ceiling.
//
// # Moves
//
// A cache line that another core had last must move; s(n) is what one move takes between two of the
// first n cores (Profile). An access to a line that the core still has is part of a command's
// measured cost, with parser, reply and kernel (Depth).
//
// For a line that n cores write and read alike, accesses being in random order: a write moves the
// line unless the access before was by the same core, so with probability (n-1)/n. A GET needs the
// line where another core wrote since this core's last access. That is so if, going back, one of
// the others' writes is met before one of our accesses: (n-1)w / ((n-1)w + 1), with w the share of
// writes. The first GET after a write occupies the line for a move. Those behind it read its copies
// at the same time; with Params.ReadsInTurn they occupy it too, which is the other extreme.
//
// A pipeline of P commands has on average (1-r)(1 + (P-1)r) runs of consecutive INCRs. An exact
// counter is written once for each run, a mutex and an atomic once for each command.
//
// In a relaxed counter a loop adds to its own cell, which it must fetch back where another core
// summed since. A GET sums n cells, of which each that was written since this loop's last sum
// moves. The first takes s(n), each further one s(n)/Overlap, since loads do not wait for each
// other. Where a staleness is allowed, GET reads a total that a background task refreshes. Not
// counted, since they come to about 1% on 128 cores: those refreshes, and the sums for the replies
// of INCR, which each loop makes once a millisecond.
//
// # Queueing
//
// Moves of one line are made in turn. n loops that compute for `own` ns a command and occupy the
// busiest line for `line` ns are a closed network of one queue and a delay, whose throughput mean
// value analysis finds (Reiser and Lavenberg, JACM 1980). Its limits are n/(own+line) and 1/line
// (Denning and Buzen, ACM Computing Surveys 1978). MVA takes all times as exponential, which is a
// little pessimistic around the knee.
package model
