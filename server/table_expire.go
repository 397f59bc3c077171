package server

// expireCommands returns rows of the command table: the commands about time to live.
func expireCommands() []command {
	return []command{
		{
			name: "expire", arity: -3, handler: cmdExpire,
			flags: flagWrite | flagFast,
			cats:  catKeyspace,
			keys: []keySpec{
				{flags: keyRW | keyUpdate, first: 1, last: 0, step: 1},
			},
			group: "generic", since: "1.0.0",
			summary:    "Set a key's time to live in seconds",
			complexity: "O(1)",
			history: []change{
				{"7.0.0", "Added options: `NX`, `XX`, `GT` and `LT`."},
			},
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
				{name: "seconds", typ: argInteger},
				{name: "condition", typ: argOneOf,
					since: "7.0.0", optional: true, args: []argument{
						{name: "nx", typ: argToken, token: "NX"},
						{name: "xx", typ: argToken, token: "XX"},
						{name: "gt", typ: argToken, token: "GT"},
						{name: "lt", typ: argToken, token: "LT"},
					}},
			},
		},
		{
			name: "pexpire", arity: -3, handler: cmdPexpire,
			flags: flagWrite | flagFast,
			cats:  catKeyspace,
			keys: []keySpec{
				{flags: keyRW | keyUpdate, first: 1, last: 0, step: 1},
			},
			group: "generic", since: "2.6.0",
			summary:    "Set a key's time to live in milliseconds",
			complexity: "O(1)",
			history: []change{
				{"7.0.0", "Added options: `NX`, `XX`, `GT` and `LT`."},
			},
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
				{name: "milliseconds", typ: argInteger},
				{name: "condition", typ: argOneOf,
					since: "7.0.0", optional: true, args: []argument{
						{name: "nx", typ: argToken, token: "NX"},
						{name: "xx", typ: argToken, token: "XX"},
						{name: "gt", typ: argToken, token: "GT"},
						{name: "lt", typ: argToken, token: "LT"},
					}},
			},
		},
		{
			name: "expireat", arity: -3, handler: cmdExpireat,
			flags: flagWrite | flagFast,
			cats:  catKeyspace,
			keys: []keySpec{
				{flags: keyRW | keyUpdate, first: 1, last: 0, step: 1},
			},
			group: "generic", since: "1.2.0",
			summary:    "Set the expiration for a key as a UNIX timestamp",
			complexity: "O(1)",
			history: []change{
				{"7.0.0", "Added options: `NX`, `XX`, `GT` and `LT`."},
			},
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
				{name: "unix-time-seconds", typ: argUnixTime},
				{name: "condition", typ: argOneOf,
					since: "7.0.0", optional: true, args: []argument{
						{name: "nx", typ: argToken, token: "NX"},
						{name: "xx", typ: argToken, token: "XX"},
						{name: "gt", typ: argToken, token: "GT"},
						{name: "lt", typ: argToken, token: "LT"},
					}},
			},
		},
		{
			name: "pexpireat", arity: -3, handler: cmdPexpireat,
			flags: flagWrite | flagFast,
			cats:  catKeyspace,
			keys: []keySpec{
				{flags: keyRW | keyUpdate, first: 1, last: 0, step: 1},
			},
			group: "generic", since: "2.6.0",
			summary: "Set the expiration for a key as a UNIX timestamp specified in " +
				"milliseconds",
			complexity: "O(1)",
			history: []change{
				{"7.0.0", "Added options: `NX`, `XX`, `GT` and `LT`."},
			},
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
				{name: "unix-time-milliseconds", typ: argUnixTime},
				{name: "condition", typ: argOneOf,
					since: "7.0.0", optional: true, args: []argument{
						{name: "nx", typ: argToken, token: "NX"},
						{name: "xx", typ: argToken, token: "XX"},
						{name: "gt", typ: argToken, token: "GT"},
						{name: "lt", typ: argToken, token: "LT"},
					}},
			},
		},
		{
			name: "ttl", arity: 2, handler: cmdTTL,
			flags: flagReadOnly | flagFast,
			cats:  catKeyspace,
			keys: []keySpec{
				{flags: keyRO | keyAccess, first: 1, last: 0, step: 1},
			},
			group: "generic", since: "1.0.0",
			summary:    "Get the time to live for a key in seconds",
			complexity: "O(1)",
			tips:       []string{"nondeterministic_output"},
			history: []change{
				{"2.8.0", "Added the -2 reply."},
			},
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
			},
		},
		{
			name: "pttl", arity: 2, handler: cmdPTTL,
			flags: flagReadOnly | flagFast,
			cats:  catKeyspace,
			keys: []keySpec{
				{flags: keyRO | keyAccess, first: 1, last: 0, step: 1},
			},
			group: "generic", since: "2.6.0",
			summary:    "Get the time to live for a key in milliseconds",
			complexity: "O(1)",
			tips:       []string{"nondeterministic_output"},
			history: []change{
				{"2.8.0", "Added the -2 reply."},
			},
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
			},
		},
		{
			name: "expiretime", arity: 2, handler: cmdExpiretime,
			flags: flagReadOnly | flagFast,
			cats:  catKeyspace,
			keys: []keySpec{
				{flags: keyRO | keyAccess, first: 1, last: 0, step: 1},
			},
			group: "generic", since: "7.0.0",
			summary:    "Get the expiration Unix timestamp for a key",
			complexity: "O(1)",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
			},
		},
		{
			name: "pexpiretime", arity: 2, handler: cmdPexpiretime,
			flags: flagReadOnly | flagFast,
			cats:  catKeyspace,
			keys: []keySpec{
				{flags: keyRO | keyAccess, first: 1, last: 0, step: 1},
			},
			group: "generic", since: "7.0.0",
			summary:    "Get the expiration Unix timestamp for a key in milliseconds",
			complexity: "O(1)",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
			},
		},
		{
			name: "persist", arity: 2, handler: cmdPersist,
			flags: flagWrite | flagFast,
			cats:  catKeyspace,
			keys: []keySpec{
				{flags: keyRW | keyUpdate, first: 1, last: 0, step: 1},
			},
			group: "generic", since: "2.2.0",
			summary:    "Remove the expiration from a key",
			complexity: "O(1)",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
			},
		},
	}
}
