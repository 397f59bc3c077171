// Command bench puts load on a server that speaks the Redis protocol and reports what it did.
//
//	bench [run] [options] [COMMAND ARG...]   load one server
//	bench compare --countd PATH [options]    countd and redis-server in turn, and the ratios
//	bench model [options]                    a hot counter on many cores, computed
//	bench fill, bench verify [options]       many counters of known values, and a sample of them
//	bench soak [options]                     a long load with kill -9, every value compared
//
// The nouns: a mix is the commands with their weights; a keys draws the key of each; a batch is the
// pipeline of requests that one write sends; a client owns one connection and works batch by batch;
// a phase is one timed stretch of all clients (the warm-up is one, the measurement another); a
// report is what a phase came to.
//
// The generator usually shares its cores with the server, so it spends as little as it can: one
// write for a batch, requests copied from templates in which only digits change, replies counted
// but not decoded, no allocation once it runs. It knows RESP and nothing of countd.
//
// Without --rate a client sends its next batch when the last is answered (closed loop), which says
// how much a server can do. With --rate the batches have instants at which they should be sent, and
// latency counts from those instants even where the client came late because the server kept it
// waiting. Otherwise a server that stalls would be asked less just while it is slow, and its worst
// moments would be missing from the percentiles (coordinated omission, Gil Tene's term).
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run dispatches to the subcommand and returns the exit code: 0, 1 where something failed, 2 for a
// wrong option.
func run(argv []string, stdout, stderr io.Writer) int {
	stderr = &lockedWriter{w: stderr}
	command, name := runLoad, "run"
	if len(argv) > 0 && !strings.HasPrefix(argv[0], "-") {
		switch argv[0] {
		case "run":
			argv = argv[1:]
		case "help": // of Redis's commands none has this name
			argv = []string{"--help"}
		case "compare":
			command, name, argv = runCompare, "compare", argv[1:]
		case "model":
			command, name, argv = runModel, "model", argv[1:]
		case "fill":
			command, name, argv = runFill, "fill", argv[1:]
		case "verify":
			command, name, argv = runVerify, "verify", argv[1:]
		case "soak":
			command, name, argv = runSoak, "soak", argv[1:]
		}
	}
	err := command(argv, stdout, stderr)
	var usage usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "bench %s: %v\nTry 'bench %s --help'.\n", name, err, name)
		return 2
	default:
		fmt.Fprintf(stderr, "bench %s: %v\n", name, err)
		return 1
	}
}

// usageError is a wrong option.
type usageError struct{ reason string }

func (e usageError) Error() string { return e.reason }

func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// parseFlags parses argv; its errors are usageErrors, and --help prints to stdout.
func parseFlags(f *flag.FlagSet, argv []string, stdout io.Writer) error {
	f.SetOutput(io.Discard)
	err := f.Parse(argv)
	if errors.Is(err, flag.ErrHelp) {
		f.SetOutput(stdout)
		f.Usage()
		return err
	}
	if err != nil {
		return usageError{err.Error()}
	}
	return nil
}

// printFlags is f.PrintDefaults with two dashes.
func printFlags(f *flag.FlagSet) {
	f.VisitAll(func(o *flag.Flag) {
		arg, usage := flag.UnquoteUsage(o)
		line := "  --" + o.Name
		if arg != "" {
			line += " " + arg
		}
		line += "\n        " + strings.ReplaceAll(usage, "\n", "\n        ")
		switch o.DefValue {
		case "", "0", "false":
		default:
			line += " (default: " + o.DefValue + ")"
		}
		fmt.Fprintln(f.Output(), line)
	})
}
