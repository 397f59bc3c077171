package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"countd/engine"
)

const checkHelp = `countd check verifies a data directory, or a backup, that no server uses.

Usage:
  countd check DIR              verify it, change nothing
  countd check DIR --repair     verify it, and salvage what can be

It reads everything: IDENTITY, every segment of the log, every block of the store, every key; and
compares the number of keys with what the last flush says of itself. Of a backup it also says whether
it is complete. It changes nothing. What is wrong is printed line by line with file and offset.

A torn write at the end of the log, as kill -9 or a power cut leaves, is no damage: it was never
acknowledged, and a start cuts it off.

With --repair a data directory that is damaged is made one that a server starts on:
  - Where one flipped bit explains a checksum it is set right, and nothing is lost.
  - The log is cut before its first damage. What comes behind is of later instants and cannot be used
    without what is lost between: the keys have the values that they had at the cut.
  - A store with damaged tables is made anew of the keys that no damage touches, and of the log.
Every step is printed, with file, offset and what it loses. The damaged files are kept as they were in
damaged-TIME in DIR; remove them when you no longer need them. Restore a backup instead where one is new
enough. A repair that was interrupted may be repeated; no server starts before it is finished.

Exit codes: 0 all is well, or is after a repair; 1 damaged; 2 it was not checked (wrong usage, a server
uses it, no such directory).

Examples:
  countd check /var/lib/countd
  countd check /var/lib/countd/backup-20251130-225200Z
  countd check /var/lib/countd --repair
`

// Exit codes of check, besides exitOK.
const (
	exitDamaged    = 1
	exitNotChecked = 2
)

func runCheck(args []string, stdout, stderr io.Writer) int {
	dir, options, err := subcommandArgs(args, "directory", []string{"--repair"}, nil)
	if err != nil {
		return usageError(stderr, "check", err)
	}
	report, err := engine.Check(engine.CheckOptions{Dir: dir})
	if err != nil {
		fmt.Fprintf(stderr, "countd check: %v\n", explainCheck(dir, err))
		return exitNotChecked
	}
	printReport(stdout, report)
	switch {
	case len(report.Problems) == 0:
		return exitOK
	case options["--repair"] == "":
		return exitDamaged
	}
	return repair(dir, stdout, stderr)
}

// repair repairs a data directory and prints what it does, and what is there afterwards.
func repair(dir string, stdout, stderr io.Writer) int {
	_, after, err := engine.Repair(engine.CheckOptions{Dir: dir}, func(step string) {
		fmt.Fprintf(stdout, "repair: %s\n", step)
	})
	if err != nil {
		fmt.Fprintf(stderr, "countd check: %v\n", explainCheck(dir, err))
		return exitDamaged
	}
	printReport(stdout, after)
	return exitOK
}

// explainCheck says what to do about an error.
func explainCheck(dir string, err error) error {
	if errors.Is(err, engine.ErrLocked) {
		return fmt.Errorf("a server uses %s; stop it, or check one of its backups", dir)
	}
	return plain(err)
}

// plainError is an error whose text does not begin with the package that it comes from, which says nothing to
// an operator.
type plainError struct{ error }

func plain(err error) error { return plainError{err} }

func (e plainError) Error() string { return strings.TrimPrefix(e.error.Error(), "engine: ") }

func (e plainError) Unwrap() error { return e.error }

// count is a number with its noun.
func count[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func printReport(w io.Writer, r *engine.CheckReport) {
	what := "data directory"
	if r.Backup {
		what = "backup"
		if !r.Made.IsZero() {
			what += " of " + r.Made.Format("2006-01-02 15:04:05 MST")
		}
	}
	fmt.Fprintf(w, "%s: %s\n", r.Dir, what)
	fmt.Fprintf(w, "  store  %s, %d bytes, %s\n", count(r.Tables, "table", "tables"), r.StoreBytes,
		count(r.StoredKeys, "key", "keys"))
	fmt.Fprintf(w, "  log    %s behind the store, %d bytes, %s, %s; last epoch %d\n",
		count(r.Segments, "segment", "segments"), r.LogBytes, count(r.Flushes, "flush", "flushes"),
		count(r.Images, "image", "images"), r.Epoch)
	fmt.Fprintf(w, "  keys   %d", total(r.Keys[:]))
	for db, n := range r.Keys {
		if n > 0 {
			fmt.Fprintf(w, ", database %d: %d", db, n)
		}
	}
	fmt.Fprintf(w, "; contracts %d\n", r.Contracts)
	for _, note := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", note)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(w, "DAMAGED: %s\n", p)
	}
	switch {
	case r.LostFlushes == 1:
		fmt.Fprintln(w, "At least 1 flush lies behind damage of the log.")
	case r.LostFlushes > 1:
		fmt.Fprintf(w, "At least %d flushes lie behind damage of the log.\n", r.LostFlushes)
	}
	if len(r.Problems) == 0 {
		fmt.Fprintln(w, "all is well")
	} else {
		fmt.Fprintln(w, count(len(r.Problems), "problem", "problems"))
	}
}

func total(counts []int64) (sum int64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}
