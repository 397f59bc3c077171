package engine

import (
	"slices"
	"strings"

	"countd/glob"
)

// contractSet finds the contract of a key: that of the key's own name, else that of the first glob
// that matches, in the order of the list. It never changes once it is published.
type contractSet struct {
	list  []*Contract
	exact map[string]*Contract // by the names that globs without wildcards stand for
	globs []globContract
	named durabilitySet
}

// globContract is a contract with a glob that has wildcards.
type globContract struct {
	prefix string // every key that matches begins with it
	starts bool   // and every key that begins with it matches; * alone also the empty key, as in KEYS
	glob   []byte
	c      *Contract
}

// newContractSet returns the set of list, nil where that is empty.
func newContractSet(list []*Contract) *contractSet {
	if len(list) == 0 {
		return nil
	}
	s := &contractSet{list: list, exact: map[string]*Contract{}}
	for _, c := range list {
		s.named.add(c.Durability)
		prefix, rest := literalPrefix(c.Glob)
		switch {
		case rest != "":
			s.globs = append(s.globs, globContract{prefix, rest == "*", []byte(c.Glob), c})
		case s.exact[prefix] == nil: // \a and a are two globs for one name: the first counts
			s.exact[prefix] = c
		}
	}
	return s
}

// literalPrefix returns the bytes that every key begins with that the glob matches, and what follows
// them in the glob: "" where they are the whole key.
func literalPrefix(pattern string) (prefix, rest string) {
	for {
		i := strings.IndexAny(pattern, `*?[\`)
		if i < 0 {
			return prefix + pattern, ""
		}
		prefix, pattern = prefix+pattern[:i], pattern[i:]
		switch {
		case pattern[0] != '\\':
			return prefix, pattern
		case len(pattern) == 1: // a backslash at the end is one
			return prefix + pattern, ""
		}
		prefix, pattern = prefix+pattern[1:2], pattern[2:]
	}
}

func (g *globContract) mayMatch(key []byte) bool {
	return len(key) >= len(g.prefix) && string(key[:len(g.prefix)]) == g.prefix
}

// of returns the contract that applies to key, or nil, and whether it is that of the key's own name.
func (s *contractSet) of(key []byte) (c *Contract, exact bool) {
	if c := s.exact[string(key)]; c != nil {
		return c, true
	}
	for i := range s.globs {
		g := &s.globs[i]
		if g.mayMatch(key) && (g.starts || glob.Match(g.glob, key, false)) {
			return g.c, false
		}
	}
	return nil, false
}

// contractOf is of without the reason; s may be nil.
func (s *contractSet) contractOf(key []byte) *Contract {
	if s == nil {
		return nil
	}
	c, _ := s.of(key)
	return c
}

// contractList is contracts in the order they were made.
type contractList []Contract

// set makes c the contract of its glob: in place of the one there is, or at the end.
func (l *contractList) set(c Contract) {
	if i := l.find(c.Glob); i >= 0 {
		(*l)[i] = c
		return
	}
	*l = append(*l, c)
}

// remove removes the contract of a glob and reports whether there was one.
func (l *contractList) remove(glob string) bool {
	i := l.find(glob)
	if i >= 0 {
		*l = slices.Delete(*l, i, i+1)
	}
	return i >= 0
}

// find returns the place of a glob's contract, -1 where there is none.
func (l contractList) find(glob string) int {
	return slices.IndexFunc(l, func(c Contract) bool { return c.Glob == glob })
}
