package server

import "strings"

// commandInfo replies with the row as COMMAND and COMMAND INFO print it; null for no command.
func (s *Session) commandInfo(c *command) {
	if c == nil {
		s.null()
		return
	}
	s.array(10)
	s.bulkString(c.name)
	s.int(int64(c.arity))
	s.flagSet(flagNames(c.flags, cmdFlagNames))
	s.int(int64(c.firstKey))
	s.int(int64(c.lastKey))
	s.int(int64(c.keyStep))
	categories := flagNames(c.cats, cmdCategoryNames)
	for i := range categories {
		categories[i] = "@" + categories[i]
	}
	s.flagSet(categories)
	s.stringSet(c.tips)
	s.setHeader(len(c.keys))
	for i := range c.keys {
		s.keySpec(&c.keys[i])
	}
	if len(c.sub) == 0 {
		s.setHeader(0)
		return
	}
	s.array(len(c.sub))
	for i := range c.sub {
		s.commandInfo(&c.sub[i])
	}
}

func (s *Session) flagSet(names []string) {
	s.setHeader(len(names))
	for _, name := range names {
		s.simple(name)
	}
}

func (s *Session) stringSet(texts []string) {
	s.setHeader(len(texts))
	for _, text := range texts {
		s.bulkString(text)
	}
}

// field replies with a key of a map and its value.
func (s *Session) field(name, text string) {
	s.bulkString(name)
	s.bulkString(text)
}

func (s *Session) fieldInt(name string, n int) {
	s.bulkString(name)
	s.int(int64(n))
}

// keySpec replies with where keys are and what the command does with them.
func (s *Session) keySpec(k *keySpec) {
	if k.notes == "" {
		s.mapHeader(3)
	} else {
		s.mapHeader(4)
		s.field("notes", k.notes)
	}
	s.bulkString("flags")
	s.flagSet(flagNames(k.flags, keyFlagNames))
	s.bulkString("begin_search")
	s.mapHeader(2)
	s.field("type", "index")
	s.bulkString("spec")
	s.mapHeader(1)
	s.fieldInt("index", k.first)
	s.bulkString("find_keys")
	s.mapHeader(2)
	s.field("type", "range")
	s.bulkString("spec")
	s.mapHeader(3)
	s.fieldInt("lastkey", k.last)
	s.fieldInt("keystep", k.step)
	s.fieldInt("limit", 0)
}

// commandDocs replies with the row as COMMAND DOCS prints it. Fields that a row has not are left
// out.
func (s *Session) commandDocs(c *command) {
	start, n := len(s.out), 0
	text := func(name, value string) {
		if value != "" {
			s.field(name, value)
			n++
		}
	}
	list := func(name string, length int, reply func()) {
		if length > 0 {
			s.bulkString(name)
			reply()
			n++
		}
	}
	text("summary", c.summary)
	text("since", c.since)
	text("group", c.group)
	text("complexity", c.complexity)
	list("doc_flags", len(c.docFlags), func() { s.flagSet(c.docFlags) })
	text("deprecated_since", c.deprecatedSince)
	text("replaced_by", c.replacedBy)
	list("history", len(c.history), func() { s.history(c.history) })
	list("arguments", len(c.args), func() { s.arguments(c.args) })
	list("subcommands", len(c.sub), func() {
		s.mapHeader(len(c.sub))
		for i := range c.sub {
			s.bulkString(c.sub[i].name)
			s.commandDocs(&c.sub[i])
		}
	})
	s.insertHeader(start, func() { s.mapHeader(n) })
}

func (s *Session) history(changes []change) {
	s.setHeader(len(changes))
	for _, c := range changes {
		s.array(2)
		s.bulkString(c.since)
		s.bulkString(c.what)
	}
}

func (s *Session) arguments(args []argument) {
	s.array(len(args))
	for i := range args {
		s.argument(&args[i])
	}
}

func (s *Session) argument(a *argument) {
	start, n := len(s.out), 2
	text := func(name, value string) {
		if value != "" {
			s.field(name, value)
			n++
		}
	}
	s.field("name", a.name)
	s.field("type", string(a.typ))
	if a.keySpec > 0 {
		s.fieldInt("key_spec_index", a.keySpec-1)
		n++
	}
	text("token", a.token)
	text("summary", a.summary)
	text("since", a.since)
	text("deprecated_since", a.deprecatedSince)
	if flags := a.flags(); len(flags) > 0 {
		s.bulkString("flags")
		s.flagSet(flags)
		n++
	}
	if len(a.args) > 0 {
		s.bulkString("arguments")
		s.arguments(a.args)
		n++
	}
	s.insertHeader(start, func() { s.mapHeader(n) })
}

func (a *argument) flags() (names []string) {
	if a.optional {
		names = append(names, "optional")
	}
	if a.multiple {
		names = append(names, "multiple")
	}
	if a.multipleToken {
		names = append(names, "multiple_token")
	}
	return names
}

// help replies with what a container's HELP prints: a head line, lines, and HELP itself.
func (s *Session) help(args [][]byte, lines []string) {
	s.array(len(lines) + 3)
	s.simple(strings.ToUpper(string(args[0])) +
		" <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")
	for _, line := range lines {
		s.simple(line)
	}
	s.simple("HELP")
	s.simple("    Prints this help.")
}
