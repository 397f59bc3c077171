package server

// objectCommands returns rows of the command table: OBJECT and its subcommands.
func objectCommands() []command {
	about := func(name, since, summary string, handler func(*Session, [][]byte)) command {
		return command{
			name: name, arity: 3, handler: handler,
			flags: flagReadOnly,
			cats:  catKeyspace,
			keys:  []keySpec{{flags: keyRO, first: 2, last: 0, step: 1}},
			group: "generic", since: since,
			summary:    summary,
			complexity: "O(1)",
			tips:       []string{"nondeterministic_output"},
			args:       []argument{{name: "key", typ: argKey, keySpec: 1}},
		}
	}
	return []command{
		{
			name: "object", arity: -2,
			group: "generic", since: "2.2.3",
			summary:    "A container for object introspection commands",
			complexity: "Depends on subcommand.",
			sub: []command{
				about("object|encoding", "2.2.3",
					"Inspect the internal encoding of a Redis object", cmdObjectEncoding),
				about("object|freq", "4.0.0",
					"Get the logarithmic access frequency counter of a Redis object", cmdObjectFreq),
				about("object|idletime", "2.2.3",
					"Get the time since a Redis object was last accessed", cmdObjectIdletime),
				about("object|refcount", "2.2.3",
					"Get the number of references to the value of the key", cmdObjectRefcount),
				{
					name: "object|help", arity: 2, handler: cmdObjectHelp,
					flags: flagLoading | flagStale,
					cats:  catKeyspace,
					group: "generic", since: "6.2.0",
					summary:    "Show helpful text about the different subcommands",
					complexity: "O(1)",
				},
			},
		},
	}
}
