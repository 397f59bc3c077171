package config

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Bounds of config files.
const (
	maxIncludeDepth = 16
	maxLineBytes    = 1 << 20
)

// LoadFile reads a config file in the syntax of redis.conf: one option and its words on each line,
// "#" comments, quotes as splitWords reads them, and `include <path>` (wildcards allowed; relative
// to the working directory, as in Redis). Errors name file and line.
func (c *Config) LoadFile(name string) error {
	l := &loader{config: c, seen: map[string]bool{}}
	return l.file(name, 0)
}

// LoadReader is LoadFile on what r has; name stands for it in errors.
func (c *Config) LoadReader(name string, r io.Reader) error {
	l := &loader{config: c, seen: map[string]bool{}}
	return l.read(name, r, 0)
}

// loader reads the lines of one source: a file with what it includes, or the command line.
type loader struct {
	config *Config
	seen   map[string]bool // options that this source has set: repeating ones are added to
}

func (l *loader) set(name string, args []string) error {
	name = strings.ToLower(name)
	more := l.seen[name]
	l.seen[name] = true
	return l.config.set(name, args, more)
}

func (l *loader) file(name string, depth int) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("cannot open the config file: %w", err)
	}
	defer f.Close()
	return l.read(name, f, depth)
}

func (l *loader) read(name string, r io.Reader, depth int) error {
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, maxLineBytes)
	line := 0
	for scan.Scan() {
		line++
		if err := l.line(scan.Text(), depth); err != nil {
			return at(err, fmt.Sprintf("%s:%d", name, line))
		}
	}
	if err := scan.Err(); err != nil {
		return fmt.Errorf("%s:%d: %w", name, line+1, err)
	}
	return nil
}

func (l *loader) line(text string, depth int) error {
	text = strings.Trim(text, blanks)
	if text == "" || text[0] == '#' {
		return nil
	}
	words, ok := splitWords(text)
	if !ok {
		return &Error{Kind: BadSyntax, Reason: "unbalanced quotes in configuration line"}
	}
	if strings.EqualFold(words[0], "include") {
		return l.include(words[1:], depth+1)
	}
	return l.set(words[0], words[1:])
}

func (l *loader) include(args []string, depth int) error {
	if len(args) != 1 {
		return &Error{Kind: BadSyntax, Reason: "include takes one path"}
	}
	if depth > maxIncludeDepth {
		return &Error{Kind: BadSyntax, Reason: fmt.Sprintf(
			"includes are nested deeper than %d: does a file include itself?", maxIncludeDepth)}
	}
	if !strings.ContainsAny(args[0], "*?[") {
		return l.file(args[0], depth)
	}
	names, err := filepath.Glob(args[0])
	if err != nil {
		return &Error{Kind: BadSyntax, Reason: fmt.Sprintf("include '%s': %v", args[0], err)}
	}
	for _, name := range names {
		if err := l.file(name, depth); err != nil {
			return err
		}
	}
	return nil
}

// at adds the place to an error that has none yet; the innermost file's place stays.
func at(err error, where string) error {
	e, ok := err.(*Error)
	if !ok {
		return fmt.Errorf("%s: %w", where, err)
	}
	if e.Where == "" {
		e.Where = where
	}
	return e
}
