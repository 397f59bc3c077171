// Package known fills a server with counters whose values follow from their numbers, and verifies a
// random sample of them: for more keys than one can remember.
//
// Counter i is key:I, with twelve digits, as the load generator names keys, and has Value(i). A load that
// increments by Step keeps the value known modulo Step.
package known
