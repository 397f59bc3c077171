package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// comparison is the subcommand compare: two servers in turn under the same loads.
type comparison struct {
	countd, redis string // paths; redis is "" where there is none
	countdArgs    string
	modes, cases  string
	rounds        int
	base          options
	json          bool
}

const defaultCases = "hot-p1,hot-p16,hot-p64,unif-p64,get-p64,pfadd-p64,mixed-p16"

// runCompare is the subcommand compare.
func runCompare(argv []string, stdout, stderr io.Writer) error {
	c := comparison{base: defaultOptions()}
	c.base.duration, c.base.warmup = 2*time.Second, 500*time.Millisecond
	f := flag.NewFlagSet("bench compare", flag.ContinueOnError)
	f.StringVar(&c.countd, "countd", "", "`path` of countd; required")
	f.StringVar(&c.countdArgs, "countd-args", "",
		"further `options` of countd, such as \"--io-threads 2\"")
	f.StringVar(&c.redis, "redis", "redis-server", "`path` of redis-server")
	f.StringVar(&c.modes, "modes", "everysec", "`durabilities` to compare under: none, everysec, always")
	f.StringVar(&c.cases, "cases", defaultCases, "`loads`, each KIND-pPIPELINE, with a KIND of\n"+caseNames())
	f.IntVar(&c.rounds, "rounds", 3, "`times` each server has its turn; medians are printed")
	f.DurationVar(&c.base.duration, "duration", c.base.duration, "length of one turn")
	f.DurationVar(&c.base.warmup, "warmup", c.base.warmup, "load before each turn")
	f.IntVar(&c.base.conns, "conns", c.base.conns, "`connections`")
	f.IntVar(&c.base.threads, "threads", c.base.threads, "`cores` the generator may use")
	f.Uint64Var(&c.base.keyspace, "keyspace", c.base.keyspace, "`number` of keys")
	f.BoolVar(&c.json, "json", false, "print the results as JSON")
	f.Usage = func() {
		fmt.Fprint(f.Output(), "bench compare --countd PATH [options]\n\n"+
			"Starts countd and redis-server with the same durability and loads them in turn (A B A B),\n"+
			"each from its own fresh directory. Machines are noisy: the ratios say more than the figures.\n"+
			"Of each figure the rounds' median is printed; a ratio is the median of the rounds' ratios,\n"+
			"countd / redis-server, which may differ a little from the ratio of the two medians.\n\n"+
			"  bench compare --countd bin/countd --rounds 5 --cases hot-p16,get-p64 --modes everysec,always\n\n")
		printFlags(f)
	}
	if err := parseFlags(f, argv, stdout); err != nil {
		return err
	}
	if err := c.check(f.Args()); err != nil {
		return err
	}
	if err := isProgram(c.countd); err != nil {
		return err
	}
	if path, err := exec.LookPath(c.redis); err == nil {
		c.redis = path
	} else {
		fmt.Fprintf(stderr, "%s is not installed (Debian package redis): countd is measured alone\n", c.redis)
		c.redis = ""
	}
	ctx, stop := untilSignal()
	defer stop()
	err := c.run(ctx, stdout)
	if err != nil && ctx.Err() != nil {
		return errInterrupted // whatever it looked like: the terminal's Ctrl-C reaches the servers too
	}
	return err
}

// isProgram says what to do where --countd names no program.
func isProgram(countd string) error {
	if _, err := exec.LookPath(countd); err != nil {
		return usagef("--countd: %v; make build builds bin/countd", err)
	}
	return nil
}

func (c *comparison) check(extra []string) error {
	switch {
	case len(extra) > 0:
		return usagef("unexpected argument '%s'", extra[0])
	case c.countd == "":
		return usagef("--countd is missing: the path of the binary, such as bin/countd")
	case c.rounds < 1 || c.rounds > 1000:
		return usagef("--rounds %d: must be between 1 and 1000", c.rounds)
	}
	for _, mode := range strings.Split(c.modes, ",") {
		if modes[mode] == nil {
			return usagef("--modes: '%s' is not none, everysec or always", mode)
		}
	}
	for _, name := range strings.Split(c.cases, ",") {
		if _, err := caseOptions(name, c.base); err != nil {
			return err
		}
	}
	return c.base.check()
}

// result is one case under one mode.
type result struct {
	Mode   string   `json:"mode"`
	Case   string   `json:"case"`
	Countd measured `json:"countd"`
	// Redis and Ratio are missing where there is no redis-server. A ratio is countd's figure
	// divided by redis-server's of the same round; its median is given.
	Redis *measured `json:"redis,omitempty"`
	Ratio *measured `json:"ratio,omitempty"`
}

// measured is one server's figures: medians over the rounds.
type measured struct {
	Throughput float64 `json:"requests_per_s"`
	P50        float64 `json:"p50_us"`
	P99        float64 `json:"p99_us"`
	CPU        float64 `json:"cpu_ns_per_request"` // 0 where it is not known
	Errors     int64   `json:"errors,omitempty"`
}

func (c *comparison) run(ctx context.Context, stdout io.Writer) error {
	var results []result
	for _, mode := range strings.Split(c.modes, ",") {
		if !c.json {
			if err := printHead(stdout, c.title(mode), c.redis != ""); err != nil {
				return err
			}
		}
		err := c.runMode(ctx, mode, func(r result) error {
			results = append(results, r)
			if c.json {
				return nil
			}
			return r.print(stdout)
		})
		if err != nil {
			return err
		}
	}
	if !c.json {
		return nil
	}
	enc := json.NewEncoder(stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(results)
}

// title is the first line of a mode's heading.
func (c *comparison) title(mode string) string {
	rounds := "rounds"
	if c.rounds == 1 {
		rounds = "round"
	}
	return fmt.Sprintf("mode %s, %d %s of %v in turn, %d connections, %d cores", mode, c.rounds, rounds,
		c.base.duration, c.base.conns, runtime.NumCPU())
}

// runMode starts the servers and measures all cases; each result is given to found, whose error
// ends the comparison.
func (c *comparison) runMode(ctx context.Context, mode string, found func(result) error) error {
	var servers []*server // redis-server first, where there is one; countd last
	defer func() {
		for _, p := range servers {
			p.stop()
		}
	}()
	if c.redis != "" {
		p, err := startServer(ctx, "redis-server", c.redis, modes[mode])
		if err != nil {
			return err
		}
		servers = append(servers, p)
	}
	args := slices.Concat(modes[mode], strings.Fields(c.countdArgs))
	p, err := startServer(ctx, "countd", c.countd, args)
	if err != nil {
		return err
	}
	servers = append(servers, p)
	for _, p := range servers {
		if _, err := turn(ctx, p, fillOptions(c.base)); err != nil {
			return err
		}
	}
	for _, name := range strings.Split(c.cases, ",") {
		r, err := c.runCase(ctx, name, servers)
		if err != nil {
			return err
		}
		r.Mode, r.Case = mode, name
		if err := found(r); err != nil {
			return err
		}
	}
	return nil
}

// runCase gives each server its turn in every round.
func (c *comparison) runCase(ctx context.Context, name string, servers []*server) (result, error) {
	o, err := caseOptions(name, c.base)
	if err != nil {
		return result{}, err
	}
	rounds := make([][]measured, len(servers))
	for range c.rounds {
		for i, p := range servers {
			m, err := turn(ctx, p, o)
			if err != nil {
				return result{}, fmt.Errorf("%s, %s: %w", p.name, name, err)
			}
			rounds[i] = append(rounds[i], m)
		}
	}
	last := len(servers) - 1
	r := result{Countd: medians(rounds[last])}
	if last > 0 {
		redis := medians(rounds[0])
		ratio := medians(ratios(rounds[last], rounds[0]))
		r.Redis, r.Ratio = &redis, &ratio
	}
	return r, nil
}

// turn loads one server once.
func turn(ctx context.Context, p *server, o options) (measured, error) {
	o.port = p.Port
	g, stop, err := start(ctx, o, io.Discard)
	if err != nil {
		return measured{}, err
	}
	defer stop()
	if err := g.warmUp(); err != nil {
		return measured{}, err
	}
	before, known := p.CPU()
	r, err := g.measure()
	if err != nil {
		return measured{}, err
	}
	after, _ := p.CPU()
	m := measured{Throughput: r.Throughput, P50: r.Latency.P50, P99: r.Latency.P99, Errors: r.Errors}
	if known {
		m.CPU = float64(after-before) / float64(max(r.Requests, 1))
	}
	if ctx.Err() != nil {
		return m, errInterrupted
	}
	return m, nil
}
