package config

import (
	"fmt"
	"io"
	"strings"
)

// Ask is what the command line asks for.
type Ask uint8

// What can be asked for.
const (
	AskServe   Ask = iota // run the server
	AskHelp               // print Help
	AskVersion            // print VersionLine
)

// ParseArgs fills c from all sources in rising priority: the config file that argv names first ("-"
// is stdin), environ, and the options of argv. argv is without the program's name:
//
//	[/path/to/countd.conf | -] [--name value...]... [-]
//
// An option takes the words up to the next that begins with "--"; the word right after the option's
// name is always its value, so that a password may begin with dashes, except that `--save --port 1`
// reads as `--save "" --port 1`. `--name=value` and a single argument "--name value" work too.
func (c *Config) ParseArgs(argv, environ []string, stdin io.Reader) (Ask, error) {
	ask, lines, file, err := splitArgs(argv)
	if err != nil || ask != AskServe {
		return ask, err
	}
	if file != "" && file != "-" {
		if err := c.LoadFile(file); err != nil {
			return ask, err
		}
	}
	if file == "-" || len(lines) > 0 && lines[len(lines)-1].name == "-" {
		if err := c.LoadReader("standard input", stdin); err != nil {
			return ask, err
		}
	}
	if err := c.loadEnv(environ); err != nil {
		return ask, err
	}
	l := &loader{config: c, seen: map[string]bool{}}
	for _, line := range lines {
		if line.name == "-" {
			continue
		}
		if err := l.set(line.name, line.args); err != nil {
			return ask, at(err, "command line")
		}
	}
	return ask, nil
}

// argLine is one option of the command line: what would be a line in a file. A last argument "-" is
// a line of that name.
type argLine struct {
	name string
	args []string
}

// splitArgs groups argv into the config file ("" for none) and the options.
func splitArgs(argv []string) (ask Ask, lines []argLine, file string, err error) {
	if len(argv) > 0 && (argv[0] == "-" || !strings.HasPrefix(argv[0], "-")) {
		file, argv = argv[0], argv[1:]
	}
	for i, arg := range argv {
		needsValue := len(lines) > 0 && lines[len(lines)-1].args == nil
		isOption := strings.HasPrefix(arg, "--") && len(arg) > 2
		if needsValue && isOption && lines[len(lines)-1].name == "save" {
			lines[len(lines)-1].args = []string{""}
			needsValue = false
		}
		switch {
		case needsValue:
			lines[len(lines)-1].args = []string{arg}
		case arg == "--help" || arg == "-h":
			return AskHelp, nil, "", nil
		case arg == "--version" || arg == "-v":
			return AskVersion, nil, "", nil
		case isOption:
			line, err := optionLine(arg[2:])
			if err != nil {
				return 0, nil, "", err
			}
			lines = append(lines, line)
		case arg == "-" && i == len(argv)-1:
			lines = append(lines, argLine{name: "-", args: []string{}})
		case len(lines) == 0:
			return 0, nil, "", badArgument(arg)
		default:
			last := &lines[len(lines)-1]
			last.args = append(last.args, arg)
		}
	}
	if n := len(lines); n > 0 && lines[n-1].args == nil && lines[n-1].name == "save" {
		lines[n-1].args = []string{""}
	}
	return AskServe, lines, file, nil
}

// optionLine reads an option without its dashes: name, name=value, or "name value..." in one
// argument. args is nil where the value is still to come.
func optionLine(s string) (argLine, error) {
	i := strings.IndexAny(s, "= ")
	if i < 0 {
		return argLine{name: strings.ToLower(s)}, nil
	}
	line := argLine{name: strings.ToLower(s[:i])}
	if s[i] == '=' {
		line.args = []string{s[i+1:]}
		if o, ok := lookup(line.name); ok {
			line.args = o.words(s[i+1:])
		}
		return line, nil
	}
	words, ok := splitWords(s[i:])
	if !ok {
		return line, &Error{Kind: BadSyntax, Where: "command line",
			Reason: fmt.Sprintf("unbalanced quotes in '--%s'", s)}
	}
	line.args = words // nil where only blanks follow
	return line, nil
}

func badArgument(arg string) *Error {
	reason := fmt.Sprintf("unexpected argument '%s'; options begin with two dashes: --port 7000", arg)
	if !strings.HasPrefix(arg, "-") {
		reason = fmt.Sprintf("unexpected argument '%s'; only one config file can be named", arg)
	}
	return &Error{Kind: BadSyntax, Where: "command line", Reason: reason}
}
