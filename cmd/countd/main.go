// Command countd is the counter server: it reads its options, opens the data directory, and serves
// the Redis protocol until it is told to stop.
//
// The order of a start is fixed. Options first: a wrong one stops the start before anything is
// touched. Then the addresses: a busy port stops the start before the data directory is opened or
// created, so that starting countd twice by mistake leaves no trace. Then the data, then the server.
// A stop goes the same way back.
//
// With check or restore as its first argument it does that instead (subcommand.go).
//
// Exit codes: 0 after a stop that was asked for, 1 where something failed, 2 for a wrong option.
package main

import (
	"fmt"
	"io"
	"os"

	"countd/config"
	"countd/server"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	os.Exit(run(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// run is main with what it takes from the process as parameters; it returns the exit code.
func run(argv, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if code, ok := runSubcommand(argv, stdout, stderr); ok {
		return code
	}
	cfg := config.New()
	cfg.CheckLine("contract", checkContract)
	ask, err := cfg.ParseArgs(argv, environ, stdin)
	if err != nil {
		fmt.Fprintf(stderr, "countd: %v\nTry 'countd --help'.\n", err)
		return exitUsage
	}
	switch ask {
	case config.AskHelp:
		fmt.Fprint(stdout, config.Help())
		return exitOK
	case config.AskVersion:
		fmt.Fprintln(stdout, config.VersionLine())
		return exitOK
	}
	hot, err := server.HotConfig(cfg)
	if err != nil {
		fmt.Fprintf(stderr, "countd: the options of hot keys (hot-…): %v\nTry 'countd --help'.\n", err)
		return exitUsage
	}
	if err := checkContracts(cfg); err != nil {
		fmt.Fprintf(stderr, "countd: %v\nTry 'countd --help'.\n", err)
		return exitUsage
	}
	if err := start(cfg, hot, stderr); err != nil {
		fmt.Fprintf(stderr, "countd: %v\n", err)
		return exitFailed
	}
	return exitOK
}
