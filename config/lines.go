package config

import (
	"fmt"
	"strings"
)

// An option of KindLines has any number of lines, each of some words: every line of a file, every
// variable and every option of the command line adds one, within one source. Its canonical text is the
// lines, each behind a line end but the first, with words quoted as splitWords reads them. One empty word
// stands for no line.

// maxLines bounds the lines of one option.
const maxLines = 1024

// CheckLine has check look at each line that is given to an option of KindLines; where it returns an
// error, its text is the reason why the line is refused. Register before the sources are read.
func (c *Config) CheckLine(name string, check func(words []string) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.lineChecks == nil {
		c.mu.lineChecks = make(map[*Option]func(words []string) error)
	}
	c.mu.lineChecks[mustLookup(name)] = check
}

// Lines is the lines of an option of KindLines. The slices are the caller's.
func (c *Config) Lines(name string) (lines [][]string) {
	o := mustLookup(name)
	if o.Kind != KindLines {
		panic("config: no lines: " + name)
	}
	for line := range strings.Lines(c.Value(name)) {
		words, _ := splitWords(line) // addLineLocked wrote it
		lines = append(lines, words)
	}
	return lines
}

// addLineLocked returns the canonical text of o with one more line than cur, or the reason why the line
// is refused.
func (c *Config) addLineLocked(o *Option, cur string, words []string) (canonical, reason string) {
	if len(words) == 1 && words[0] == "" {
		return "", ""
	}
	if check := c.mu.lineChecks[o]; check != nil {
		if err := check(words); err != nil {
			return "", err.Error()
		}
	}
	if cur == "" {
		return joinWords(words), ""
	}
	if strings.Count(cur, "\n")+1 >= maxLines {
		return "", fmt.Sprintf("there are more than %d", maxLines)
	}
	return cur + "\n" + joinWords(words), ""
}
