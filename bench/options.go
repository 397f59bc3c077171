package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// Bounds of the options. A batch is written before its replies are read, so a deeper pipeline than
// maxPipeline could fill the buffers of both directions and stop.
const (
	maxPipeline  = 1 << 16
	maxConns     = 1 << 16
	maxKeyspace  = 1_000_000_000_000 // 12 digits in the key
	maxValueSize = 64 << 20
)

// options are what one load is made of.
type options struct {
	host, password string
	port           int

	mix      string   // as mix.go reads it
	command  []string // one command instead of a mix
	keys     string   // single, uniform, zipf, seq
	keyspace uint64
	zipfS    float64
	valueLen int

	pipeline, conns, threads int

	duration, warmup time.Duration
	requests         int64   // per phase; 0: by duration
	rate             float64 // commands per second; 0: as fast as the server answers
	seed             uint64

	json, quiet bool
}

// defaultOptions is a hot counter under a moderate pipeline.
func defaultOptions() options {
	return options{host: "127.0.0.1", port: 6379, mix: "INCRBY", keys: "single",
		keyspace: 1_000_000, zipfS: 0.99, valueLen: 16, pipeline: 16, conns: 50, threads: 1,
		duration: 10 * time.Second, warmup: time.Second, seed: 1}
}

func (o *options) address() string { return net.JoinHostPort(o.host, strconv.Itoa(o.port)) }

// register binds the options to flags. Defaults are the present values.
func (o *options) register(f *flag.FlagSet) {
	f.StringVar(&o.host, "host", o.host, "server's `address`")
	f.IntVar(&o.port, "port", o.port, "server's TCP `port`")
	f.StringVar(&o.password, "password", o.password, "AUTH with this `password`")
	f.StringVar(&o.mix, "mix", o.mix,
		"`commands` and weights, such as INCRBY=80,GET=15,PFADD=5; of\n"+
			commandNames())
	f.StringVar(&o.keys, "keys", o.keys,
		"how keys are drawn: single, uniform, zipf, or seq (each once, to\n"+
			"fill a key space together with --requests)")
	f.Uint64Var(&o.keyspace, "keyspace", o.keyspace,
		"`number` of keys that uniform, zipf and seq draw from")
	f.Float64Var(&o.zipfS, "zipf-s", o.zipfS,
		"zipf's exponent: the k-th key is drawn in proportion to 1/k^`s`")
	f.IntVar(&o.valueLen, "value-size", o.valueLen,
		"`bytes` of the values of SET, SETNX, GETSET, MSET")
	f.IntVar(&o.pipeline, "pipeline", o.pipeline, "`requests` a connection sends at once")
	f.IntVar(&o.conns, "conns", o.conns, "`connections`")
	f.IntVar(&o.threads, "threads", o.threads, "`cores` the generator may use")
	f.DurationVar(&o.duration, "duration", o.duration, "how long to measure")
	f.Int64Var(&o.requests, "requests", o.requests,
		"measure this `number` of requests instead of --duration")
	f.DurationVar(&o.warmup, "warmup", o.warmup, "load of this length before the measurement")
	f.Float64Var(&o.rate, "rate", o.rate,
		"send this `number` of requests a second (open loop); latency then\n"+
			"counts from the instant at which a request should have been sent")
	f.Uint64Var(&o.seed, "seed", o.seed,
		"seed of the random choices; the same one gives the same requests")
	f.BoolVar(&o.json, "json", o.json, "print the report as JSON")
	f.BoolVar(&o.quiet, "quiet", o.quiet, "no progress line each second on standard error")
}

// check refuses what cannot be run.
func (o *options) check() error {
	for _, c := range []struct {
		name      string
		value     int
		low, high int
	}{
		{"port", o.port, 1, 65535}, {"pipeline", o.pipeline, 1, maxPipeline},
		{"conns", o.conns, 1, maxConns}, {"threads", o.threads, 1, 1024},
		{"value-size", o.valueLen, 0, maxValueSize},
	} {
		if c.value < c.low || c.value > c.high {
			return usagef("--%s %d: must be between %d and %d", c.name, c.value, c.low, c.high)
		}
	}
	switch {
	case o.keyspace < 1 || o.keyspace > maxKeyspace:
		return usagef("--keyspace %d: must be between 1 and %d", o.keyspace, uint64(maxKeyspace))
	case o.zipfS <= 0 || o.zipfS > 10:
		return usagef("--zipf-s %v: must be above 0 and at most 10", o.zipfS)
	case o.requests < 0:
		return usagef("--requests %d: must not be negative", o.requests)
	case o.duration <= 0:
		return usagef("--duration %v: must be above 0", o.duration)
	case o.warmup < 0:
		return usagef("--warmup %v: must not be negative", o.warmup)
	case o.rate < 0:
		return usagef("--rate %v: must not be negative", o.rate)
	}
	return nil
}

// runLoad is the subcommand run.
func runLoad(argv []string, stdout, stderr io.Writer) error {
	o := defaultOptions()
	f := flag.NewFlagSet("bench run", flag.ContinueOnError)
	o.register(f)
	f.Usage = func() {
		fmt.Fprint(f.Output(), "bench [run] [options] [COMMAND ARG...]\n\n"+
			"Loads a server that speaks the Redis protocol and prints throughput and latency. With a\n"+
			"COMMAND that one is sent instead of the mix; {key} and {elem} in it are drawn each time.\n\n"+
			"  bench --port 6379 --pipeline 64 --mix INCRBY=80,GET=20 --keys zipf\n"+
			"  bench --rate 20000 --pipeline 1 --conns 100 --json\n"+
			"  bench --keys uniform PFADD hll:{key} {elem}\n\n"+
			"It also does, each with a --help of its own:\n\n"+
			"  bench compare   countd and redis-server in turn, with ratios\n"+
			"  bench model     a hot counter on many cores, computed\n"+
			"  bench fill      many counters of known values\n"+
			"  bench verify    a sample of those, compared\n"+
			"  bench soak      a long load with kill -9, every value compared\n\n")
		printFlags(f)
	}
	if err := parseFlags(f, argv, stdout); err != nil {
		return err
	}
	o.command = f.Args()
	if err := o.check(); err != nil {
		return err
	}
	if o.quiet {
		stderr = io.Discard
	}
	ctx, stop := untilSignal()
	defer stop()
	r, err := load(ctx, o, stderr)
	if err != nil {
		return err
	}
	return r.print(stdout, o.json)
}
