package server

import "countd/glob"

func cmdCommand(s *Session, args [][]byte) {
	rows := commands().rows
	s.array(len(rows))
	for i := range rows {
		s.commandInfo(&rows[i])
	}
}

func cmdCommandCount(s *Session, args [][]byte) { s.int(int64(len(commands().rows))) }

func cmdCommandInfo(s *Session, args [][]byte) {
	if len(args) == 2 {
		cmdCommand(s, args)
		return
	}
	s.array(len(args) - 2)
	for _, name := range args[2:] {
		s.commandInfo(lookupFull(name))
	}
}

func cmdCommandDocs(s *Session, args [][]byte) {
	var found []*command
	for _, name := range args[2:] {
		if c := lookupFull(name); c != nil {
			found = append(found, c)
		}
	}
	if len(args) == 2 {
		rows := commands().rows
		for i := range rows {
			found = append(found, &rows[i])
		}
	}
	s.mapHeader(len(found))
	for _, c := range found {
		s.bulkString(c.name)
		s.commandDocs(c)
	}
}

func cmdCommandList(s *Session, args [][]byte) {
	keep, ok := listFilter(args[2:])
	if !ok {
		s.err(errSyntax)
		return
	}
	var names []string
	for _, c := range commands().all {
		if keep(c) {
			names = append(names, c.name)
		}
	}
	s.array(len(names))
	for _, name := range names {
		s.bulkString(name)
	}
}

// listFilter reads FILTERBY MODULE name, ACLCAT category or PATTERN glob.
func listFilter(opts [][]byte) (keep func(*command) bool, ok bool) {
	if len(opts) == 0 {
		return func(*command) bool { return true }, true
	}
	if len(opts) != 3 || !option(opts[0], "filterby") {
		return nil, false
	}
	switch value := opts[2]; {
	case option(opts[1], "module"):
		return func(*command) bool { return false }, true
	case option(opts[1], "aclcat"):
		category := cmdCategory(0)
		for i, name := range cmdCategoryNames {
			if option(value, name) {
				category = 1 << i
			}
		}
		return func(c *command) bool { return c.cats&category != 0 }, true
	case option(opts[1], "pattern"):
		return func(c *command) bool { return glob.Match(value, []byte(c.name), true) }, true
	}
	return nil, false
}

func cmdCommandGetkeys(s *Session, args [][]byte) {
	s.commandKeys(args[2:], func(key []byte, flags keyFlag) { s.bulk(key) })
}

func cmdCommandGetkeysandflags(s *Session, args [][]byte) {
	s.commandKeys(args[2:], func(key []byte, flags keyFlag) {
		s.array(2)
		s.bulk(key)
		s.flagSet(flagNames(flags, keyFlagNames))
	})
}

// commandKeys replies with an array of what each writes for the keys of a whole command.
func (s *Session) commandKeys(args [][]byte, each func(key []byte, flags keyFlag)) {
	c := resolve(args)
	switch {
	case c == nil:
		s.err("ERR Invalid command specified")
		return
	case len(c.keys) == 0:
		s.err("ERR The command has no key arguments")
		return
	case !c.arityOK(len(args)):
		s.err("ERR Invalid number of arguments specified for command")
		return
	}
	start, n := len(s.out), 0
	for i := range c.keys {
		flags := c.keyFlags(i, args)
		if !c.keys[i].positions(len(args), func(pos int) { each(args[pos], flags); n++ }) {
			s.out = s.out[:start]
			s.err("ERR Invalid arguments specified for command")
			return
		}
	}
	s.insertHeader(start, func() { s.array(n) })
}

// keyFlags are those of the i-th key spec for this very command: a SET without GET only writes.
func (c *command) keyFlags(i int, args [][]byte) keyFlag {
	flags := c.keys[i].flags
	if flags&keyVariable == 0 {
		return flags
	}
	for _, opt := range args[3:] {
		if option(opt, "get") {
			return keyRW | keyAccess | keyUpdate
		}
	}
	return keyOW | keyUpdate
}

func cmdCommandHelp(s *Session, args [][]byte) { s.help(args, commandHelp) }

var commandHelp = []string{
	"(no subcommand)",
	"    Return details about all countd commands.",
	"COUNT",
	"    Return the total number of commands in this server.",
	"LIST",
	"    Return a list of all commands in this server.",
	"INFO [<command-name> ...]",
	"    Return details about multiple commands.",
	"    If no command names are given, documentation details for all",
	"    commands are returned.",
	"DOCS [<command-name> ...]",
	"    Return documentation details about multiple commands.",
	"    If no command names are given, documentation details for all",
	"    commands are returned.",
	"GETKEYS <full-command>",
	"    Return the keys from a full command.",
	"GETKEYSANDFLAGS <full-command>",
	"    Return the keys and the access flags from a full command.",
}
