package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A subcommand is what countd does besides serving. Its first word is not taken for a
// configuration file then; a file of that name is ./check.
type subcommand struct {
	name string
	help string
	run  func(args []string, stdout, stderr io.Writer) int
}

func subcommands() []subcommand {
	return []subcommand{{"check", checkHelp, runCheck}, {"restore", restoreHelp, runRestore}}
}

// runSubcommand runs the subcommand that argv begins with; ok is false where it begins with none.
func runSubcommand(argv []string, stdout, stderr io.Writer) (code int, ok bool) {
	for _, c := range subcommands() {
		if len(argv) == 0 || argv[0] != c.name {
			continue
		}
		for _, arg := range argv[1:] {
			if arg == "--help" || arg == "-h" {
				fmt.Fprint(stdout, c.help)
				return exitOK, true
			}
		}
		return c.run(argv[1:], stdout, stderr), true
	}
	return 0, false
}

// subcommandArgs reads one operand, and options: a flag is an option without a value.
func subcommandArgs(
	args []string, operand string, flags, values []string,
) (string, map[string]string, error) {
	first, options := "", map[string]string{}
	for i := 0; i < len(args); i++ {
		name, value, hasValue := strings.Cut(args[i], "=")
		switch {
		case slices.Contains(flags, args[i]):
			options[args[i]] = "yes"
		case slices.Contains(values, name):
			if !hasValue {
				if i++; i == len(args) {
					return "", nil, fmt.Errorf("%s needs a value", name)
				}
				value = args[i]
			}
			options[name] = value
		case strings.HasPrefix(args[i], "-") && args[i] != "-":
			return "", nil, fmt.Errorf("there is no option %s", name)
		case first != "":
			return "", nil, fmt.Errorf("unexpected argument '%s'; only one %s can be named", args[i], operand)
		default:
			first = args[i]
		}
	}
	if first == "" {
		return "", nil, errors.New("name the " + operand)
	}
	return first, options, nil
}

// usageError prints what is wrong with a command line.
func usageError(stderr io.Writer, name string, err error) int {
	fmt.Fprintf(stderr, "countd %s: %v\nTry 'countd %s --help'.\n", name, err, name)
	return exitUsage
}
