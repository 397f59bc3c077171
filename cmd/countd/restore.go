package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"countd/engine"
)

const restoreHelp = `countd restore makes a new data directory of a backup.

Usage:
  countd restore BACKUP --dir DIR

BACKUP is a directory that SAVE or BGSAVE made, backup-... in the data directory, or a copy of it. It is
checked first, and not changed. DIR is made, or must be empty. Files that never change are hard links to
those of the backup where both are on one file system, so that this takes little time and room; no file
that is ever written is shared.

Exit codes: 0 restored, 1 failed, 2 wrong usage.

Example:
  countd restore /var/lib/countd/backup-20251130-225200Z --dir /var/lib/countd-restored
  countd --dir /var/lib/countd-restored
`

func runRestore(args []string, stdout, stderr io.Writer) int {
	backup, options, err := subcommandArgs(args, "backup", nil, []string{"--dir"})
	dir := options["--dir"]
	if err == nil && dir == "" {
		err = errors.New("name the new data directory with --dir")
	}
	if err != nil {
		return usageError(stderr, "restore", err)
	}
	report, err := engine.Restore(backup, dir, nil)
	if err != nil {
		fmt.Fprintf(stderr, "countd restore: %v\n", plain(err))
		if errors.Is(err, engine.ErrDamaged) {
			printReport(stderr, report)
		}
		return exitFailed
	}
	fmt.Fprintf(stdout, "%s: %s, as of %s. Start with: countd --dir %s\n", dir,
		count(total(report.Keys[:]), "key", "keys"), report.Made.Format(time.RFC3339), dir)
	return exitOK
}
