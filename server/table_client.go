package server

// clientCommands returns rows of the command table: CLIENT and its subcommands.
func clientCommands() []command {
	return []command{
		{
			name: "client", arity: -2,
			group: "connection", since: "2.4.0",
			summary:    "A container for client connection commands",
			complexity: "Depends on subcommand.",
			sub: []command{
				{
					name: "client|id", arity: 2, handler: cmdClientID,
					flags: flagNoScript | flagLoading | flagStale,
					cats:  catConnection,
					group: "connection", since: "5.0.0",
					summary:    "Returns the client ID for the current connection",
					complexity: "O(1)",
				},
				{
					name: "client|getname", arity: 2, handler: cmdClientGetname,
					flags: flagNoScript | flagLoading | flagStale,
					cats:  catConnection,
					group: "connection", since: "2.6.9",
					summary:    "Get the current connection name",
					complexity: "O(1)",
				},
				{
					name: "client|setname", arity: 3, handler: cmdClientSetname,
					flags: flagNoScript | flagLoading | flagStale,
					cats:  catConnection,
					group: "connection", since: "2.6.9",
					summary:    "Set the current connection name",
					complexity: "O(1)",
					args: []argument{
						{name: "connection-name", typ: argString},
					},
				},
				{
					name: "client|setinfo", arity: 4, handler: cmdClientSetinfo,
					flags: flagNoScript | flagLoading | flagStale,
					cats:  catConnection,
					group: "connection", since: "7.2.0",
					summary:    "Set information specific to the client or connection",
					complexity: "O(1)",
					tips:       []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
					args: []argument{
						{name: "attr", typ: argOneOf, args: []argument{
							{name: "libname", typ: argString, token: "LIB-NAME"},
							{name: "libver", typ: argString, token: "LIB-VER"},
						}},
					},
				},
				{
					name: "client|info", arity: 2, handler: cmdClientInfo,
					flags: flagNoScript | flagLoading | flagStale,
					cats:  catConnection,
					group: "connection", since: "6.2.0",
					summary:    "Returns information about the current client connection.",
					complexity: "O(1)",
					tips:       []string{"nondeterministic_output"},
				},
				{
					name: "client|list", arity: -2, handler: cmdClientList,
					flags: flagAdmin | flagNoScript | flagLoading | flagStale,
					cats:  catConnection,
					group: "connection", since: "2.4.0",
					summary:    "Get the list of client connections",
					complexity: "O(N) where N is the number of client connections",
					tips:       []string{"nondeterministic_output"},
					history: []change{
						{"2.8.12", "Added unique client `id` field."},
						{"5.0.0", "Added optional `TYPE` filter."},
						{"6.0.0", "Added `user` field."},
						{"6.2.0", "Added `argv-mem`, `tot-mem`, `laddr` and `redir` " +
							"fields and the optional `ID` filter."},
						{"7.0.0", "Added `resp`, `multi-mem`, `rbs` and `rbp` fields."},
						{"7.0.3", "Added `ssub` field."},
					},
					args: []argument{
						{name: "normal_master_replica_pubsub", typ: argOneOf,
							token: "TYPE", since: "5.0.0", optional: true, args: []argument{
								{name: "normal", typ: argToken, token: "NORMAL"},
								{name: "master", typ: argToken, token: "MASTER"},
								{name: "replica", typ: argToken, token: "REPLICA"},
								{name: "pubsub", typ: argToken, token: "PUBSUB"},
							}},
						{name: "id", typ: argBlock,
							token: "ID", since: "6.2.0", optional: true, args: []argument{
								{name: "client-id", typ: argInteger, multiple: true},
							}},
					},
				},
				{
					name: "client|kill", arity: -3, handler: cmdClientKill,
					flags: flagAdmin | flagNoScript | flagLoading | flagStale,
					cats:  catConnection,
					group: "connection", since: "2.4.0",
					summary:    "Kill the connection of a client",
					complexity: "O(N) where N is the number of client connections",
					history: []change{
						{"2.8.12", "Added new filter format."},
						{"2.8.12", "`ID` option."},
						{"3.2.0", "Added `master` type in for `TYPE` option."},
						{"5.0.0", "Replaced `slave` `TYPE` with `replica`. `slave` " +
							"still supported for backward compatibility."},
						{"6.2.0", "`LADDR` option."},
					},
					args: []argument{
						{name: "filter", typ: argOneOf, args: []argument{
							{name: "ip:port", typ: argString, deprecatedSince: "2.8.12"},
							{name: "new-format", typ: argOneOf, multiple: true, args: []argument{
								{name: "client-id", typ: argInteger,
									token: "ID", since: "2.8.12", optional: true},
								{name: "normal_master_slave_pubsub", typ: argOneOf,
									token: "TYPE", since: "2.8.12", optional: true, args: []argument{
										{name: "normal", typ: argToken, token: "NORMAL"},
										{name: "master", typ: argToken,
											token: "MASTER", since: "3.2.0"},
										{name: "slave", typ: argToken, token: "SLAVE"},
										{name: "replica", typ: argToken,
											token: "REPLICA", since: "5.0.0"},
										{name: "pubsub", typ: argToken, token: "PUBSUB"},
									}},
								{name: "username", typ: argString,
									token: "USER", optional: true},
								{name: "ip:port", typ: argString, token: "ADDR", optional: true},
								{name: "ip:port", typ: argString,
									token: "LADDR", since: "6.2.0", optional: true},
								{name: "yes/no", typ: argString,
									token: "SKIPME", optional: true},
							}},
						}},
					},
				},
				{
					name: "client|reply", arity: 3, handler: cmdClientReply,
					flags: flagNoScript | flagLoading | flagStale,
					cats:  catConnection,
					group: "connection", since: "3.2.0",
					summary:    "Instruct the server whether to reply to commands",
					complexity: "O(1)",
					args: []argument{
						{name: "on_off_skip", typ: argOneOf, args: []argument{
							{name: "on", typ: argToken, token: "ON"},
							{name: "off", typ: argToken, token: "OFF"},
							{name: "skip", typ: argToken, token: "SKIP"},
						}},
					},
				},
				{
					name: "client|no-evict", arity: 3, handler: cmdClientNoEvict,
					flags: flagAdmin | flagNoScript | flagLoading | flagStale,
					cats:  catConnection,
					group: "connection", since: "7.0.0",
					summary:    "Set client eviction mode for the current connection",
					complexity: "O(1)",
					args: []argument{
						{name: "enabled", typ: argOneOf, args: []argument{
							{name: "on", typ: argToken, token: "ON"},
							{name: "off", typ: argToken, token: "OFF"},
						}},
					},
				},
				{
					name: "client|unpause", arity: 2, handler: cmdClientUnpause,
					flags: flagAdmin | flagNoScript | flagLoading | flagStale,
					cats:  catConnection,
					group: "connection", since: "6.2.0",
					summary:    "Resume processing of clients that were paused",
					complexity: "O(N) Where N is the number of paused clients",
				},
				{
					name: "client|help", arity: 2, handler: cmdClientHelp,
					flags: flagLoading | flagStale,
					cats:  catConnection,
					group: "connection", since: "5.0.0",
					summary:    "Show helpful text about the different subcommands",
					complexity: "O(1)",
				},
			},
		},
	}
}
