package main

import (
	"flag"
	"fmt"
	"io"
	"time"

	"countd/bench/known"
)

// knownHelp is how fill and verify are used together.
const knownHelp = "" +
	"Fifty million counters, of which a few fit into memory, and what a load on them comes to:\n\n" +
	"  countd --port 7000 --dir giant --maxmemory 256mb\n" +
	"  bench fill --port 7000 --keys 50000000\n" +
	"  bench verify --port 7000 --keys 50000000 --sample 100000\n" +
	"wait two seconds, since everysec may lose the last one, kill -9 the server, start it again, and\n\n" +
	"  bench verify --port 7000 --keys 50000000 --sample 100000 --seed 2\n" +
	"  bench --port 7000 --keys zipf --keyspace 50000000 --pipeline 64 --duration 60s \\\n" +
	"        INCRBY {key} 1000000\n" +
	"  bench verify --port 7000 --keys 50000000 --sample 100000 --stepped\n\n" +
	"The same without --maxmemory is the figure with all of them in memory.\n\n"

// serverOptions binds the options that fill and verify share.
func serverOptions(f *flag.FlagSet, c *known.Config, o *options) {
	f.StringVar(&o.host, "host", o.host, "server's `address`")
	f.IntVar(&o.port, "port", o.port, "server's TCP `port`")
	f.Uint64Var(&c.Keys, "keys", 50_000_000, "`number` of counters")
	f.IntVar(&c.Conns, "conns", 8, "`connections`")
	f.IntVar(&c.Depth, "pipeline", 256, "`requests` a connection sends at once")
}

// parseKnown parses and checks the options of fill and verify.
func parseKnown(f *flag.FlagSet, c *known.Config, o *options, argv []string, stdout io.Writer) error {
	if err := parseFlags(f, argv, stdout); err != nil {
		return err
	}
	o.conns, o.pipeline = c.Conns, c.Depth
	c.Address = o.address()
	switch {
	case f.NArg() > 0:
		return usagef("unexpected argument '%s'", f.Arg(0))
	case c.Keys < 1 || c.Keys > known.MaxKeys:
		return usagef("--keys %d: must be between 1 and %d", c.Keys, uint64(known.MaxKeys))
	}
	return o.check()
}

// runFill is the subcommand fill.
func runFill(argv []string, stdout, stderr io.Writer) error {
	var c known.Config
	o := defaultOptions()
	f := flag.NewFlagSet("bench fill", flag.ContinueOnError)
	serverOptions(f, &c, &o)
	f.Usage = func() {
		fmt.Fprint(f.Output(), "bench fill [options]\n\n"+
			"Makes counters key:000000000000 and so on in an empty server, whose values follow from their\n"+
			"numbers, for `bench verify`.\n\n"+knownHelp)
		printFlags(f)
	}
	if err := parseKnown(f, &c, &o, argv, stdout); err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	began := time.Now()
	if err := known.Fill(ctx, c, stderr); err != nil {
		return err
	}
	return printDone(stdout, "keys filled", c.Keys, began)
}

// runVerify is the subcommand verify.
func runVerify(argv []string, stdout, stderr io.Writer) error {
	var c known.Config
	var k known.Check
	o := defaultOptions()
	f := flag.NewFlagSet("bench verify", flag.ContinueOnError)
	serverOptions(f, &c, &o)
	f.Uint64Var(&k.Sample, "sample", 100_000, "`number` of counters to read")
	f.Uint64Var(&k.Seed, "seed", 1, "seed of the random choice")
	f.BoolVar(&k.Stepped, "stepped", false,
		fmt.Sprintf("a load has incremented counters by %d each time", known.Step))
	f.Int64Var(&k.DBSize, "dbsize", 0, "`number` that DBSIZE must be (default: --keys)")
	f.Usage = func() {
		fmt.Fprint(f.Output(), "bench verify [options]\n\n"+
			"Reads a random sample of the counters that `bench fill` made and compares their values, and\n"+
			"DBSIZE. What is wrong is printed, and the exit status is 1.\n\n"+knownHelp)
		printFlags(f)
	}
	if err := parseKnown(f, &c, &o, argv, stdout); err != nil {
		return err
	}
	if k.DBSize == 0 {
		k.DBSize = int64(c.Keys)
	}
	ctx, stop := untilSignal()
	defer stop()
	began := time.Now()
	if err := known.Verify(ctx, c, k, stderr); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "DBSIZE is %s\n", thousands(k.DBSize))
	return printDone(stdout, "values right", k.Sample, began)
}

// printDone prints what was done since began.
func printDone(stdout io.Writer, what string, n uint64, began time.Time) error {
	took := time.Since(began).Seconds()
	_, err := fmt.Fprintf(stdout, "%s %s in %.1f s, %s/s\n", thousands(int64(n)), what, took,
		thousands(int64(float64(n)/took)))
	return err
}
