package config

import (
	"fmt"
	"strings"
)

// helpWidth is the width of the lines of Help.
const helpWidth = 96

// Help is what --help prints: the options by group, and how to set them.
func Help() string {
	var b strings.Builder
	b.WriteString(helpHead)
	for _, g := range []Group{GroupNetwork, GroupDurability, GroupLimits, GroupHotKeys,
		GroupLog} {
		fmt.Fprintf(&b, "\n%s:\n", g)
		for i := range options {
			if options[i].Group == g {
				appendOption(&b, &options[i])
			}
		}
	}
	fmt.Fprintf(&b, "\n%s:\n", GroupCompat)
	appendNames(&b, GroupCompat)
	b.WriteString(helpFoot)
	return b.String()
}

const helpHead = `countd counts over the Redis protocol: redis-cli, redis-benchmark and Redis clients use it as it is.

Usage:
  countd [CONFIG-FILE] [--option value...]...   serve
  countd check DIR [--repair]                   verify a data directory or a backup, or salvage one
  countd restore BACKUP --dir DIR               make a data directory of a backup

Examples:
  countd                                     serve on 127.0.0.1:6379 with the data in ./data
  countd --port 7000 --appendfsync always    every acknowledged increment survives a crash
  countd /etc/countd.conf --loglevel debug   options from a file, one of them overridden
`

const helpFoot = `
Every option can be set in three places; the later ones win:
  config file   the lines of redis.conf: "port 7000", "bind 127.0.0.1 ::1", "include more.conf";
                the first argument names it, "-" reads it from standard input
  environment   COUNTD_ and the name in capitals, "_" for "-": COUNTD_PORT=7000, COUNTD_IO_THREADS=2
  command line  as above, or --port=7000
Sizes take b, k, kb, m, mb, g, gb (1kb is 1024 bytes, 1k is 1000).

  -h, --help      this text
  -v, --version   the version
`

// appendOption prints one option: its name and value on the left, what it does and its default on
// the right, on a line of its own where the left is long.
func appendOption(b *strings.Builder, o *Option) {
	const column = 34
	left := "  --" + o.Name + " " + o.Arg
	if len(left) >= column {
		b.WriteString(left + "\n")
		left = ""
	}
	fmt.Fprintf(b, "%-*s%s%s\n", column, left, o.Help, defaultNote(o))
}

func defaultNote(o *Option) string {
	switch {
	case o.Default == "" || o.Min == o.Max && o.Kind == KindInt || len(o.Choices) == 1:
		return "" // nothing, or nothing else
	case o.Name == "client-output-buffer-limit":
		return "" // a line of its own length; the class normal has no limit
	case o.Kind == KindMemory:
		return fmt.Sprintf(" (default: %s)", memoryText(mustInt(o.Default)))
	default:
		return fmt.Sprintf(" (default: %s)", o.Default)
	}
}

// memoryText prints a size with the largest unit that divides it.
func memoryText(bytes int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"gb", gib}, {"mb", mib}, {"kb", kib}} {
		if bytes > 0 && bytes%u.size == 0 {
			return fmt.Sprintf("%d%s", bytes/u.size, u.name)
		}
	}
	return fmt.Sprint(bytes)
}

// appendNames prints the names of a group as a paragraph.
func appendNames(b *strings.Builder, g Group) {
	line := " "
	for i := range options {
		if options[i].Group != g {
			continue
		}
		if len(line)+1+len(options[i].Name) > helpWidth {
			b.WriteString(line + "\n")
			line = " "
		}
		line += " " + options[i].Name
	}
	b.WriteString(line + "\n")
}
