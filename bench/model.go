package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"countd/bench/model"
)

// maxList bounds the lists that the model's options take.
const maxList = 32

// plotReads are the shares of reads that --svg has a panel for.
var plotReads = []float64{0, 0.1, 0.9}

// runModel is the subcommand model: no server, only arithmetic.
func runModel(argv []string, stdout, _ io.Writer) error {
	p := model.Defaults()
	cores, reads := list(model.Cores), list(model.Reads)
	var line, svg string
	f := flag.NewFlagSet("bench model", flag.ContinueOnError)
	f.StringVar(&line, "line", p.Line.Name,
		"what moving a contended cache line takes: `ns`, or published figures by core count:\n"+
			strings.Join(model.ProfileNames(), ", "))
	for i := range p.Depths {
		d := &p.Depths[i]
		f.Float64Var(&d.NS, fmt.Sprintf("cost-p%d", d.Commands), d.NS,
			fmt.Sprintf("`ns` of server CPU for a command in a pipeline of %d", d.Commands))
	}
	f.Float64Var(&p.LockMoves, "lock-moves", p.LockMoves,
		"`moves` of a line that passing a lock takes")
	f.Float64Var(&p.Overlap, "overlap", p.Overlap, "`lines` of one sum that move at the same time")
	f.BoolVar(&p.ReadsInTurn, "reads-in-turn", p.ReadsInTurn,
		"GETs that find the line written are served one after the other; else only\n"+
			"the first of them is, and the others read copies at the same time")
	f.StringVar(&cores, "cores", cores, "`counts` of cores")
	f.StringVar(&reads, "reads", reads, "`shares` of GETs among the commands, 0 to 1")
	f.StringVar(&svg, "svg", "", "draw a plot into this `file`: reads of 0, 10 and 90%")
	f.Usage = func() {
		fmt.Fprint(f.Output(), "bench model [options]\n\n"+
			"Computes what one hot counter may come to on many cores, by design of the counter, from\n"+
			"published costs of contended cache lines and our measured cost of a command. A model, not\n"+
			"a measurement: bench/model/doc.go has its assumptions, the output the sources.\n\n"+
			"  bench model --line epyc --cores 16,64 --svg many-cores.svg\n\n")
		printFlags(f)
	}
	if err := parseFlags(f, argv, stdout); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return usagef("unexpected argument '%s'", f.Arg(0))
	}
	var err error
	if p.Line, err = model.ParseProfile(line); err != nil {
		return usagef("--line: %v", err)
	}
	if err := p.Check(); err != nil {
		return usageError{err.Error()}
	}
	counts, err := parseCores(cores)
	if err != nil {
		return err
	}
	shares, err := parseReads(reads)
	if err != nil {
		return err
	}
	if svg != "" {
		if err := writeSVG(svg, p, counts); err != nil {
			return err
		}
	}
	return p.Write(stdout, counts, shares)
}

// writeSVG draws the plot and writes it as a whole or not at all.
func writeSVG(path string, p model.Params, cores []int) error {
	if len(cores) < 2 {
		return usagef("--svg: a plot needs two --cores")
	}
	var b bytes.Buffer
	if err := p.WriteSVG(&b, cores, plotReads); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// list is values with commas between them.
func list[T any](values []T) string {
	return strings.Join(strings.Fields(strings.Trim(fmt.Sprint(values), "[]")), ",")
}

// parseCores reads a list of core counts, which must rise.
func parseCores(s string) ([]int, error) {
	var all []int
	for _, word := range strings.Split(s, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > model.MaxCores {
			return nil, usagef("--cores: '%s' is not a number from 1 to %d", word, model.MaxCores)
		}
		all = append(all, n)
	}
	rising := slices.IsSorted(all) && len(slices.Compact(slices.Clone(all))) == len(all)
	if len(all) > maxList || !rising {
		return nil, usagef("--cores: at most %d counts, each above the one before", maxList)
	}
	return all, nil
}

// parseReads reads a list of shares.
func parseReads(s string) ([]float64, error) {
	var all []float64
	for _, word := range strings.Split(s, ",") {
		r, err := strconv.ParseFloat(word, 64)
		if err != nil || math.IsNaN(r) || r < 0 || r > 1 {
			return nil, usagef("--reads: '%s' is not a number from 0 to 1", word)
		}
		all = append(all, r)
	}
	if len(all) > maxList {
		return nil, usagef("--reads: at most %d shares", maxList)
	}
	return all, nil
}
