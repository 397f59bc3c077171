package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"countd/bench/soak"
)

// runSoak is the subcommand soak.
func runSoak(argv []string, stdout, stderr io.Writer) error {
	c := soak.Defaults()
	var args, jsonPath string
	f := flag.NewFlagSet("bench soak", flag.ContinueOnError)
	f.StringVar(&c.Binary, "countd", "", "`path` of countd; without it, it is built from this module")
	f.StringVar(&args, "countd-args", "", "further `options` of countd, such as \"--io-threads 2\"")
	f.StringVar(&c.Dir, "dir", "", "empty `directory` for the data and the server's log, which stay there;\n"+
		"without it a temporary one is made, and kept only where something was wrong")
	f.DurationVar(&c.Duration, "duration", c.Duration, "how long in all; the last cycle is finished")
	f.DurationVar(&c.KillEvery, "kill-every", c.KillEvery, "how long a server is under load before kill -9")
	f.BoolVar(&c.EarlyKill, "kill-early", c.EarlyKill, "every third restart is killed once while it starts")
	f.IntVar(&c.Keys, "keys", c.Keys, "`number` of counters")
	f.IntVar(&c.Writers, "writers", c.Writers, "`connections`, each with keys of its own")
	f.IntVar(&c.Depth, "depth", c.Depth, "most `commands` that a connection sends at once")
	f.Float64Var(&c.ZipfS, "zipf-s", c.ZipfS, "zipf's exponent `s`")
	f.DurationVar(&c.MaxTTL, "max-ttl", c.MaxTTL, "longest time to live of a SET")
	f.StringVar(&c.MaxMemory, "maxmemory", c.MaxMemory, "countd's maxmemory in `bytes`, or with a unit")
	f.StringVar(&c.Fsync, "appendfsync", c.Fsync, "`policy`: always; or everysec, which may lose a second")
	f.DurationVar(&c.LoseSlack, "lose-slack", c.LoseSlack,
		"how far above a second everysec may lose; machines are held up")
	f.Uint64Var(&c.Seed, "seed", 0, "seed of the random choices (default: the time)")
	f.StringVar(&jsonPath, "json", "", "write the report as JSON into this `file`, too")
	f.Usage = func() {
		fmt.Fprint(f.Output(), "bench soak [options]\n\n"+
			"Starts countd with less memory than its keys need, and writes and reads with a Zipfian mix of\n"+
			"INCRBY, GET, SET with a time to live, DEL, PFADD and one hot key. Every reply is compared with\n"+
			"what it must be. Again and again the server is killed with kill -9 in the middle of it and\n"+
			"restarted; then every key's value and DBSIZE are compared before the load goes on. What is\n"+
			"wrong is printed, and the exit status is 1.\n\n"+
			"  bench soak --duration 20m --json soak.json\n"+
			"  bench soak --countd bin/countd --kill-every 5s --appendfsync everysec\n\n")
		printFlags(f)
	}
	if err := parseFlags(f, argv, stdout); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return usagef("unexpected argument '%s'", f.Arg(0))
	}
	if c.Seed == 0 {
		c.Seed = soak.Defaults().Seed
	}
	c.Args = strings.Fields(args)
	if err := c.Check(); err != nil {
		return usageError{err.Error()}
	}
	return soakIn(c, jsonPath, stdout, stderr)
}

// soakIn makes what the soak needs, runs it, and prints the report.
func soakIn(c soak.Config, jsonPath string, stdout, stderr io.Writer) error {
	temp, err := os.MkdirTemp("", "bench-soak-")
	if err != nil {
		return err
	}
	keep := false
	defer func() {
		if !keep {
			os.RemoveAll(temp)
		}
	}()
	if c.Dir == "" {
		c.Dir = temp
	} else if err := emptyDir(c.Dir); err != nil {
		return err
	}
	if c.Binary == "" {
		c.Binary = filepath.Join(temp, "countd")
		build := exec.Command("go", "build", "-o", c.Binary, "countd/cmd/countd")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("cannot build countd (--countd names a binary): %w\n%s", err, out)
		}
	} else if err := isProgram(c.Binary); err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	r, err := soak.Run(ctx, c, stderr)
	if err != nil {
		keep = c.Dir == temp
		fmt.Fprintf(stderr, "the data and the server's log stay in %s\n", c.Dir)
	}
	if printErr := r.Print(stdout); err == nil {
		err = printErr
	}
	if jsonPath != "" {
		text, _ := json.MarshalIndent(r, "", "  ")
		if writeErr := os.WriteFile(jsonPath, append(text, '\n'), 0o644); err == nil {
			err = writeErr
		}
	}
	return err
}

// emptyDir makes a directory, or checks that there is nothing in it.
func emptyDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		return usagef("--dir %s: it must be empty (%d files, %v)", dir, len(files), err)
	}
	return nil
}
