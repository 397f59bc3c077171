package server

import "math"

// A command is one row of the command table. Dispatch, arity errors, the COMMAND family, command
// stats, fuzz seeds and the README's list all come from these rows. Subcommands are rows of their
// own below their container. Rows never change once the table is built.
type command struct {
	name    string // lower case, as Redis prints it; subcommands as in "client|kill"
	arity   int    // as in COMMAND: counts the name, negative means "at least"
	handler func(s *Session, args [][]byte)
	// delta is what the command adds to the counter args[1], for commands that do nothing else: a
	// run of them on one counter is added at once (Session.addRun). ok is false where args are wrong.
	delta func(args [][]byte) (delta int64, ok bool)
	// repeat, where set, runs the command up to k times at one instant, and returns how many times it
	// did: at least once, and where one fails that is the last.
	repeat func(s *Session, args [][]byte, k int) (done int)
	flags  cmdFlag
	cats   cmdCategory // the explicit ones; build adds those that follow from flags
	keys   []keySpec
	sub    []command // subcommands of a container such as CLIENT or CONFIG

	// What COMMAND DOCS tells.
	group           string
	since           string
	summary         string
	complexity      string
	docFlags        []string
	deprecatedSince string
	replacedBy      string
	tips            []string
	history         []change
	args            []argument

	// Set when the table is built.
	id       int // index into statistics, 0 to numCommands-1
	firstKey int // key positions in the form of COMMAND INFO, from keys
	lastKey  int
	keyStep  int
}

// A change is an entry of a command's history: a version and what it brought.
type change struct{ since, what string }

// A keySpec says where a command's keys are: every step-th argument from first on to last, which
// counts from first, or from the end of the command where negative.
type keySpec struct {
	flags             keyFlag
	first, last, step int
	notes             string
}

// positions calls fn with the position of each key in a command of argc arguments. It reports
// false where the arguments do not reach.
func (k *keySpec) positions(argc int, fn func(pos int)) bool {
	last := k.first + k.last
	if k.last < 0 {
		last = argc + k.last
	}
	if last >= argc || last < k.first {
		return false
	}
	for i := k.first; i <= last; i += k.step {
		fn(i)
	}
	return true
}

// arityOK reports whether argc arguments, the name included, are enough and not too many.
func (c *command) arityOK(argc int) bool {
	if c.arity < 0 {
		return argc >= -c.arity
	}
	return argc == c.arity
}

// arityError is the reply to a command with a wrong number of arguments.
func (c *command) arityError() string {
	return "ERR wrong number of arguments for '" + c.name + "' command"
}

// is reports whether the command has all flags of f.
func (c *command) is(f cmdFlag) bool { return c.flags&f == f }

// setKeyRange derives the old form of the key positions, which covers all specs that follow each
// other without a gap.
func (c *command) setKeyRange() {
	if len(c.keys) == 0 {
		return
	}
	first, last := math.MaxInt, 0
	for _, k := range c.keys {
		first = min(first, k.first)
		if k.last < 0 || last < 0 {
			last = k.last
		} else {
			last = max(last, k.first+k.last)
		}
	}
	c.firstKey, c.lastKey, c.keyStep = first, last, c.keys[0].step
}

// setCategories adds the categories that follow from the flags.
func (c *command) setCategories() {
	if c.is(flagWrite) {
		c.cats |= catWrite
	}
	if c.is(flagReadOnly) && c.cats&catScripting == 0 {
		c.cats |= catRead
	}
	if c.is(flagAdmin) {
		c.cats |= catAdmin | catDangerous
	}
	if c.is(flagFast) {
		c.cats |= catFast
	} else {
		c.cats |= catSlow
	}
}
