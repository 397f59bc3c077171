package config

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Config holds the value of every option. It is safe for concurrent use and must not be copied.
type Config struct {
	// values publishes the present values to readers, which take no lock. A values is never
	// written after it was stored; writers replace it.
	values atomic.Pointer[values]

	mu struct {
		sync.Mutex                            // held by whoever replaces values
		hooks      map[*Option][]func() error // see OnChange
		lineChecks map[*Option]func(words []string) error
	}
}

// values is one state of all options, indexed as the table is.
type values struct {
	text []string // canonical, as CONFIG GET prints
	num  []int64  // KindInt and KindMemory; KindBool as 0 and 1
}

// New returns a Config with the defaults.
func New() *Config {
	v := &values{text: make([]string, len(options)), num: make([]int64, len(options))}
	for i := range options {
		v.put(&options[i], options[i].Default)
	}
	c := &Config{}
	c.values.Store(v)
	return c
}

func (v *values) clone() *values {
	return &values{text: slices.Clone(v.text), num: slices.Clone(v.num)}
}

// put stores a canonical text. REQUIRES: v is not yet published.
func (v *values) put(o *Option, canonical string) {
	v.text[o.index] = canonical
	switch o.Kind {
	case KindInt, KindMemory:
		v.num[o.index] = mustInt(canonical)
	case KindBool:
		v.num[o.index] = 0
		if canonical == "yes" {
			v.num[o.index] = 1
		}
	}
}

// Value is the canonical text of an option, as CONFIG GET prints it. Like the other getters it
// panics where the table has no such option.
func (c *Config) Value(name string) string { return c.values.Load().text[mustLookup(name).index] }

// Int is the value of a number or of a size in bytes.
func (c *Config) Int(name string) int64 {
	o := mustLookup(name)
	if o.Kind != KindInt && o.Kind != KindMemory {
		panic("config: not a number: " + name)
	}
	return c.values.Load().num[o.index]
}

// Bool is the value of a yes|no option.
func (c *Config) Bool(name string) bool {
	o := mustLookup(name)
	if o.Kind != KindBool {
		panic("config: not yes or no: " + name)
	}
	return c.values.Load().num[o.index] != 0
}

// List is the words of a list option. The slice is the caller's.
func (c *Config) List(name string) []string { return strings.Fields(c.Value(name)) }

// A Setting is an option's name and its value: a line of CONFIG GET's reply.
type Setting struct{ Name, Value string }

// Set gives an option a value at the start, whether or not CONFIG SET may change it. args are the
// words after the option's name. The error is an *Error.
func (c *Config) Set(name string, args []string) error {
	return c.set(name, args, false)
}

// set is Set; with more, options that repeat are added to.
func (c *Config) set(name string, args []string, more bool) error {
	o, ok := lookup(name)
	if !ok {
		return &Error{Kind: UnknownOption, Option: name}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(args) == 0 {
		return o.refuse("a value is missing", args)
	}
	old := c.values.Load()
	var text, reason string
	if o.Kind == KindLines {
		cur := ""
		if more {
			cur = old.text[o.index]
		}
		text, reason = c.addLineLocked(o, cur, args)
	} else {
		words := args
		if more && o.repeats && !slices.Equal(args, []string{""}) {
			words = append(strings.Fields(old.text[o.index]), args...)
		}
		text, reason = o.read(old.text[o.index], words)
	}
	if reason != "" {
		return o.refuse(reason, args)
	}
	v := old.clone()
	v.put(o, text)
	c.values.Store(v)
	return nil
}

// refuse is the error for a value; it keeps secrets to itself.
func (o *Option) refuse(reason string, words []string) *Error {
	e := &Error{Kind: BadValue, Option: o.Name, Reason: reason}
	if o.Name != "requirepass" && len(words) > 0 {
		e.Value = words
	}
	return e
}
