package server

// connectionCommands returns rows of the command table: the connection itself, but for CLIENT.
func connectionCommands() []command {
	return []command{
		{
			name: "ping", arity: -1, handler: cmdPing,
			flags: flagFast,
			cats:  catConnection,
			group: "connection", since: "1.0.0",
			summary:    "Ping the server",
			complexity: "O(1)",
			tips:       []string{"request_policy:all_shards", "response_policy:all_succeeded"},
			args: []argument{
				{name: "message", typ: argString, optional: true},
			},
		},
		{
			name: "echo", arity: 2, handler: cmdEcho,
			flags: flagLoading | flagStale | flagFast,
			cats:  catConnection,
			group: "connection", since: "1.0.0",
			summary:    "Echo the given string",
			complexity: "O(1)",
			args: []argument{
				{name: "message", typ: argString},
			},
		},
		{
			name: "quit", arity: -1, handler: cmdQuit,
			flags: flagAllowBusy | flagNoScript | flagLoading | flagStale | flagFast | flagNoAuth,
			cats:  catConnection,
			group: "connection", since: "1.0.0",
			summary:    "Close the connection",
			complexity: "O(1)",
		},
		{
			name: "reset", arity: 1, handler: cmdReset,
			flags: flagNoScript | flagLoading | flagStale | flagFast | flagNoAuth | flagAllowBusy,
			cats:  catConnection,
			group: "connection", since: "6.2.0",
			summary:    "Reset the connection",
			complexity: "O(1)",
		},
		{
			name: "select", arity: 2, handler: cmdSelect,
			flags: flagLoading | flagStale | flagFast,
			cats:  catConnection,
			group: "connection", since: "1.0.0",
			summary:    "Change the selected database for the current connection",
			complexity: "O(1)",
			args: []argument{
				{name: "index", typ: argInteger},
			},
		},
		{
			name: "hello", arity: -1, handler: cmdHello,
			flags: flagNoScript | flagLoading | flagStale | flagFast | flagNoAuth | flagAllowBusy,
			cats:  catConnection,
			group: "connection", since: "6.0.0",
			summary:    "Handshake with Redis",
			complexity: "O(1)",
			history: []change{
				{"6.2.0", "`protover` made optional; when called without arguments the " +
					"command reports the current connection's context."},
			},
			args: []argument{
				{name: "arguments", typ: argBlock, optional: true, args: []argument{
					{name: "protover", typ: argInteger},
					{name: "username_password", typ: argBlock,
						token: "AUTH", optional: true, args: []argument{
							{name: "username", typ: argString},
							{name: "password", typ: argString},
						}},
					{name: "clientname", typ: argString, token: "SETNAME", optional: true},
				}},
			},
		},
		{
			name: "auth", arity: -2, handler: cmdAuth,
			flags: flagNoScript | flagLoading | flagStale | flagFast | flagNoAuth | flagAllowBusy,
			cats:  catConnection,
			group: "connection", since: "1.0.0",
			summary:    "Authenticate to the server",
			complexity: "O(N) where N is the number of passwords defined for the user",
			history: []change{
				{"6.0.0", "Added ACL style (username and password)."},
			},
			args: []argument{
				{name: "username", typ: argString, since: "6.0.0", optional: true},
				{name: "password", typ: argString},
			},
		},
	}
}
