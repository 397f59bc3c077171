package server

// serverCommands returns rows of the command table: the server, but for COMMAND.
func serverCommands() []command {
	return []command{
		{
			name: "dbsize", arity: 1, handler: cmdDbsize,
			flags: flagReadOnly | flagFast,
			cats:  catKeyspace,
			group: "server", since: "1.0.0",
			summary:    "Return the number of keys in the selected database",
			complexity: "O(1)",
			tips:       []string{"request_policy:all_shards", "response_policy:agg_sum"},
		},
		{
			name: "flushdb", arity: -1, handler: cmdFlushdb,
			flags: flagWrite,
			cats:  catKeyspace | catDangerous,
			group: "server", since: "1.0.0",
			summary:    "Remove all keys from the current database",
			complexity: "O(N) where N is the number of keys in the selected database",
			tips:       []string{"request_policy:all_shards", "response_policy:all_succeeded"},
			history: []change{
				{"4.0.0", "Added the `ASYNC` flushing mode modifier."},
				{"6.2.0", "Added the `SYNC` flushing mode modifier."},
			},
			args: []argument{
				{name: "async", typ: argOneOf, optional: true, args: []argument{
					{name: "async", typ: argToken, token: "ASYNC", since: "4.0.0"},
					{name: "sync", typ: argToken, token: "SYNC", since: "6.2.0"},
				}},
			},
		},
		{
			name: "flushall", arity: -1, handler: cmdFlushall,
			flags: flagWrite,
			cats:  catKeyspace | catDangerous,
			group: "server", since: "1.0.0",
			summary:    "Remove all keys from all databases",
			complexity: "O(N) where N is the total number of keys in all databases",
			tips:       []string{"request_policy:all_shards", "response_policy:all_succeeded"},
			history: []change{
				{"4.0.0", "Added the `ASYNC` flushing mode modifier."},
				{"6.2.0", "Added the `SYNC` flushing mode modifier."},
			},
			args: []argument{
				{name: "async", typ: argOneOf, optional: true, args: []argument{
					{name: "async", typ: argToken, token: "ASYNC", since: "4.0.0"},
					{name: "sync", typ: argToken, token: "SYNC", since: "6.2.0"},
				}},
			},
		},
		{
			name: "time", arity: 1, handler: cmdTime,
			flags: flagLoading | flagStale | flagFast,
			group: "server", since: "2.6.0",
			summary:    "Return the current server time",
			complexity: "O(1)",
			tips:       []string{"nondeterministic_output"},
		},
		{
			name: "info", arity: -1, handler: cmdInfo,
			flags: flagLoading | flagStale,
			cats:  catDangerous,
			group: "server", since: "1.0.0",
			summary:    "Get information and statistics about the server",
			complexity: "O(1)",
			tips: []string{"nondeterministic_output", "request_policy:all_shards",
				"response_policy:special"},
			history: []change{
				{"7.0.0", "Added support for taking multiple section arguments."},
			},
			args: []argument{
				{name: "section", typ: argString, optional: true, multiple: true},
			},
		},
		{
			name: "config", arity: -2,
			group: "server", since: "2.0.0",
			summary:    "A container for server configuration commands",
			complexity: "Depends on subcommand.",
			sub: []command{
				{
					name: "config|get", arity: -3, handler: cmdConfigGet,
					flags: flagAdmin | flagNoScript | flagLoading | flagStale,
					group: "server", since: "2.0.0",
					summary:    "Get the values of configuration parameters",
					complexity: "O(N) when N is the number of configuration parameters provided",
					history: []change{
						{"7.0.0", "Added the ability to pass multiple pattern " +
							"parameters in one call"},
					},
					args: []argument{
						{name: "parameter", typ: argBlock, multiple: true, args: []argument{
							{name: "parameter", typ: argString},
						}},
					},
				},
				{
					name: "config|set", arity: -4, handler: cmdConfigSet,
					flags: flagAdmin | flagNoScript | flagLoading | flagStale,
					group: "server", since: "2.0.0",
					summary:    "Set configuration parameters to the given values",
					complexity: "O(N) when N is the number of configuration parameters provided",
					tips:       []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
					history: []change{
						{"7.0.0", "Added the ability to set multiple parameters in one call."},
					},
					args: []argument{
						{name: "parameter_value",
							typ: argBlock, multiple: true, args: []argument{
								{name: "parameter", typ: argString},
								{name: "value", typ: argString},
							}},
					},
				},
				{
					name: "config|resetstat", arity: 2, handler: cmdConfigResetstat,
					flags: flagAdmin | flagNoScript | flagLoading | flagStale,
					group: "server", since: "2.0.0",
					summary:    "Reset the stats returned by INFO",
					complexity: "O(1)",
				},
				{
					name: "config|rewrite", arity: 2, handler: cmdConfigRewrite,
					flags: flagAdmin | flagNoScript | flagLoading | flagStale,
					group: "server", since: "2.8.0",
					summary:    "Rewrite the configuration file with the in memory configuration",
					complexity: "O(1)",
				},
				{
					name: "config|help", arity: 2, handler: cmdConfigHelp,
					flags: flagLoading | flagStale,
					group: "server", since: "5.0.0",
					summary:    "Show helpful text about the different subcommands",
					complexity: "O(1)",
				},
			},
		},
		{
			name: "shutdown", arity: -1, handler: cmdShutdown,
			flags: flagAdmin | flagNoScript | flagLoading | flagStale | flagNoMulti | flagAllowBusy,
			group: "server", since: "1.0.0",
			summary: "Synchronously save the dataset to disk and then shut down the server",
			complexity: "O(N) when saving, where N is the total number of keys in all " +
				"databases when saving data, otherwise O(1)",
			history: []change{
				{"7.0.0", "Added the `NOW`, `FORCE` and `ABORT` modifiers."},
			},
			args: []argument{
				{name: "nosave_save", typ: argOneOf, optional: true, args: []argument{
					{name: "nosave", typ: argToken, token: "NOSAVE"},
					{name: "save", typ: argToken, token: "SAVE"},
				}},
				{name: "now", typ: argToken, token: "NOW", since: "7.0.0", optional: true},
				{name: "force", typ: argToken, token: "FORCE", since: "7.0.0", optional: true},
				{name: "abort", typ: argToken, token: "ABORT", since: "7.0.0", optional: true},
			},
		},
		{
			name: "function", arity: -2,
			group: "scripting", since: "7.0.0",
			summary:    "A container for function commands",
			complexity: "Depends on subcommand.",
			sub: []command{
				{
					name: "function|flush", arity: -2, handler: cmdFunctionFlush,
					flags: flagNoScript | flagWrite,
					cats:  catScripting,
					group: "scripting", since: "7.0.0",
					summary:    "Deleting all functions",
					complexity: "O(N) where N is the number of functions deleted",
					tips:       []string{"request_policy:all_shards", "response_policy:all_succeeded"},
					args: []argument{
						{name: "async", typ: argOneOf, optional: true, args: []argument{
							{name: "async", typ: argToken, token: "ASYNC"},
							{name: "sync", typ: argToken, token: "SYNC"},
						}},
					},
				},
				{
					name: "function|help", arity: 2, handler: cmdFunctionHelp,
					flags: flagLoading | flagStale,
					cats:  catScripting,
					group: "scripting", since: "7.0.0",
					summary:    "Show helpful text about the different subcommands",
					complexity: "O(1)",
				},
			},
		},
	}
}
