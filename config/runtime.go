package config

import (
	"slices"
	"strings"
)

// OnChange registers fn to run after CONFIG SET changed one of the options, in the goroutine that
// set it. Where fn returns an error the whole CONFIG SET is undone (fn runs once more, with the old
// values in place) and the error's text is the reason in the reply. fn must not set options.
// Register before the first SetRuntime.
func (c *Config) OnChange(fn func() error, names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.hooks == nil {
		c.mu.hooks = make(map[*Option][]func() error)
	}
	for _, name := range names {
		o := mustLookup(name)
		c.mu.hooks[o] = append(c.mu.hooks[o], fn)
	}
}

// SetRuntime is CONFIG SET: it gives every option of pairs (name, value) its value, or none of
// them. The error is an *Error; the first that Redis would report.
func (c *Config) SetRuntime(pairs [][2]string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	rows, err := runtimeRows(pairs)
	if err != nil {
		return err
	}
	old := c.values.Load()
	v := old.clone()
	for i, o := range rows {
		words := o.words(pairs[i][1])
		text, reason := o.read(v.text[o.index], words)
		if reason == "" && o.Runtime == Restart && text != old.text[o.index] {
			reason = "countd changes this only at a restart"
		}
		if reason != "" {
			return o.refuse(reason, nil)
		}
		v.put(o, text)
	}
	c.values.Store(v)
	return c.runHooksLocked(rows, old, v)
}

// runtimeRows finds the options that pairs name and refuses those that may not be set.
func runtimeRows(pairs [][2]string) ([]*Option, error) {
	rows := make([]*Option, 0, len(pairs))
	for _, p := range pairs {
		o, ok := lookup(p[0])
		switch {
		case !ok:
			return nil, &Error{Kind: UnknownOption, Option: p[0]}
		case o.Runtime == Fixed:
			return nil, &Error{Kind: ImmutableOption, Option: p[0], Reason: "can't set immutable config"}
		case slices.Contains(rows, o):
			return nil, &Error{Kind: DuplicateOption, Option: p[0], Reason: "duplicate parameter"}
		}
		rows = append(rows, o)
	}
	return rows, nil
}

// words splits a value that came as one string. Options of one word keep it as it is.
func (o *Option) words(value string) []string {
	if !o.multi() || value == "" {
		return []string{value}
	}
	if words, ok := splitWords(value); o.Kind == KindLines && ok {
		return words
	}
	return strings.Fields(value)
}

// runHooksLocked runs the hooks of the options that changed from old to v, and goes back to old
// where one fails.
func (c *Config) runHooksLocked(rows []*Option, old, v *values) error {
	var ran []func() error
	for _, o := range rows {
		if old.text[o.index] == v.text[o.index] {
			continue
		}
		for _, fn := range c.mu.hooks[o] {
			ran = append(ran, fn)
			err := fn()
			if err == nil {
				continue
			}
			c.values.Store(old)
			for _, undo := range ran {
				_ = undo() // the old values were accepted before
			}
			return o.refuse(err.Error(), nil)
		}
	}
	return nil
}
