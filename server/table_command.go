package server

// introspectionCommands returns rows of the command table: COMMAND and its subcommands.
func introspectionCommands() []command {
	return []command{
		{
			name: "command", arity: -1, handler: cmdCommand,
			flags: flagLoading | flagStale,
			cats:  catConnection,
			group: "server", since: "2.8.13",
			summary:    "Get array of Redis command details",
			complexity: "O(N) where N is the total number of Redis commands",
			tips:       []string{"nondeterministic_output_order"},
			sub: []command{
				{
					name: "command|count", arity: 2, handler: cmdCommandCount,
					flags: flagLoading | flagStale,
					cats:  catConnection,
					group: "server", since: "2.8.13",
					summary:    "Get total number of Redis commands",
					complexity: "O(1)",
				},
				{
					name: "command|docs", arity: -2, handler: cmdCommandDocs,
					flags: flagLoading | flagStale,
					cats:  catConnection,
					group: "server", since: "7.0.0",
					summary:    "Get array of specific Redis command documentation",
					complexity: "O(N) where N is the number of commands to look up",
					tips:       []string{"nondeterministic_output_order"},
					args: []argument{
						{name: "command-name", typ: argString, optional: true, multiple: true},
					},
				},
				{
					name: "command|info", arity: -2, handler: cmdCommandInfo,
					flags: flagLoading | flagStale,
					cats:  catConnection,
					group: "server", since: "2.8.13",
					summary: "Get array of specific Redis command details, or all when " +
						"no argument is given.",
					complexity: "O(N) where N is the number of commands to look up",
					tips:       []string{"nondeterministic_output_order"},
					history: []change{
						{"7.0.0", "Allowed to be called with no argument to get info " +
							"on all commands."},
					},
					args: []argument{
						{name: "command-name", typ: argString, optional: true, multiple: true},
					},
				},
				{
					name: "command|list", arity: -2, handler: cmdCommandList,
					flags: flagLoading | flagStale,
					cats:  catConnection,
					group: "server", since: "7.0.0",
					summary:    "Get an array of Redis command names",
					complexity: "O(N) where N is the total number of Redis commands",
					tips:       []string{"nondeterministic_output_order"},
					args: []argument{
						{name: "filterby", typ: argOneOf,
							token: "FILTERBY", optional: true, args: []argument{
								{name: "module-name", typ: argString, token: "MODULE"},
								{name: "category", typ: argString, token: "ACLCAT"},
								{name: "pattern", typ: argPattern, token: "PATTERN"},
							}},
					},
				},
				{
					name: "command|getkeys", arity: -4, handler: cmdCommandGetkeys,
					flags: flagLoading | flagStale,
					cats:  catConnection,
					group: "server", since: "2.8.13",
					summary:    "Extract keys given a full Redis command",
					complexity: "O(N) where N is the number of arguments to the command",
				},
				{
					name: "command|getkeysandflags", arity: -4, handler: cmdCommandGetkeysandflags,
					flags: flagLoading | flagStale,
					cats:  catConnection,
					group: "server", since: "7.0.0",
					summary:    "Extract keys and access flags given a full Redis command",
					complexity: "O(N) where N is the number of arguments to the command",
				},
				{
					name: "command|help", arity: 2, handler: cmdCommandHelp,
					flags: flagLoading | flagStale,
					cats:  catConnection,
					group: "server", since: "5.0.0",
					summary:    "Show helpful text about the different subcommands",
					complexity: "O(1)",
				},
			},
		},
	}
}
