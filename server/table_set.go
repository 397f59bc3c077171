package server

// setCommands returns rows of the command table: the commands that set strings.
func setCommands() []command {
	return []command{
		{
			name: "set", arity: -3, handler: cmdSet,
			flags: flagWrite | flagDenyOOM,
			cats:  catString,
			keys: []keySpec{
				{flags: keyRW | keyAccess | keyUpdate | keyVariable, first: 1, last: 0, step: 1,
					notes: "RW and ACCESS due to the optional `GET` argument"},
			},
			group: "string", since: "1.0.0",
			summary:    "Set the string value of a key",
			complexity: "O(1)",
			history: []change{
				{"2.6.12", "Added the `EX`, `PX`, `NX` and `XX` options."},
				{"6.0.0", "Added the `KEEPTTL` option."},
				{"6.2.0", "Added the `GET`, `EXAT` and `PXAT` option."},
				{"7.0.0", "Allowed the `NX` and `GET` options to be used together."},
			},
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
				{name: "value", typ: argString},
				{name: "condition", typ: argOneOf,
					since: "2.6.12", optional: true, args: []argument{
						{name: "nx", typ: argToken, token: "NX"},
						{name: "xx", typ: argToken, token: "XX"},
					}},
				{name: "get", typ: argToken, token: "GET", since: "6.2.0", optional: true},
				{name: "expiration", typ: argOneOf, optional: true, args: []argument{
					{name: "seconds", typ: argInteger, token: "EX", since: "2.6.12"},
					{name: "milliseconds", typ: argInteger, token: "PX", since: "2.6.12"},
					{name: "unix-time-seconds", typ: argUnixTime, token: "EXAT", since: "6.2.0"},
					{name: "unix-time-milliseconds", typ: argUnixTime,
						token: "PXAT", since: "6.2.0"},
					{name: "keepttl", typ: argToken, token: "KEEPTTL", since: "6.0.0"},
				}},
			},
		},
		{
			name: "append", arity: 3, handler: cmdAppend,
			flags: flagWrite | flagDenyOOM | flagFast,
			cats:  catString,
			keys: []keySpec{
				{flags: keyRW | keyInsert, first: 1, last: 0, step: 1},
			},
			group: "string", since: "2.0.0",
			summary: "Append a value to a key",
			complexity: "O(1). The amortized time complexity is O(1) assuming the appended value " +
				"is small and the already present value is of any size, since the dynamic string " +
				"library used by Redis will double the free space available on every reallocation.",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
				{name: "value", typ: argString},
			},
		},
		{
			name: "setrange", arity: 4, handler: cmdSetrange,
			flags: flagWrite | flagDenyOOM,
			cats:  catString,
			keys: []keySpec{
				{flags: keyRW | keyUpdate, first: 1, last: 0, step: 1},
			},
			group: "string", since: "2.2.0",
			summary: "Overwrite part of a string at key starting at the specified offset",
			complexity: "O(1), not counting the time taken to copy the new string in place. " +
				"Usually, this string is very small so the amortized complexity is O(1). " +
				"Otherwise, complexity is O(M) with M being the length of the value argument.",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
				{name: "offset", typ: argInteger},
				{name: "value", typ: argString},
			},
		},
		{
			name: "getex", arity: -2, handler: cmdGetex,
			flags: flagWrite | flagFast,
			cats:  catString,
			keys: []keySpec{
				{flags: keyRW | keyAccess | keyUpdate, first: 1, last: 0, step: 1,
					notes: "RW and UPDATE because it changes the TTL"},
			},
			group: "string", since: "6.2.0",
			summary:    "Get the value of a key and optionally set its expiration",
			complexity: "O(1)",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
				{name: "expiration", typ: argOneOf, optional: true, args: []argument{
					{name: "seconds", typ: argInteger, token: "EX"},
					{name: "milliseconds", typ: argInteger, token: "PX"},
					{name: "unix-time-seconds", typ: argUnixTime, token: "EXAT"},
					{name: "unix-time-milliseconds", typ: argUnixTime, token: "PXAT"},
					{name: "persist", typ: argToken, token: "PERSIST"},
				}},
			},
		},
		{
			name: "setnx", arity: 3, handler: cmdSetnx,
			flags: flagWrite | flagDenyOOM | flagFast,
			cats:  catString,
			keys: []keySpec{
				{flags: keyOW | keyInsert, first: 1, last: 0, step: 1},
			},
			group: "string", since: "1.0.0",
			summary:    "Set the value of a key, only if the key does not exist",
			complexity: "O(1)",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
				{name: "value", typ: argString},
			},
		},
		{
			name: "setex", arity: 4, handler: cmdSetex,
			flags: flagWrite | flagDenyOOM,
			cats:  catString,
			keys: []keySpec{
				{flags: keyOW | keyUpdate, first: 1, last: 0, step: 1},
			},
			group: "string", since: "2.0.0",
			summary:    "Set the value and expiration of a key",
			complexity: "O(1)",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
				{name: "seconds", typ: argInteger},
				{name: "value", typ: argString},
			},
		},
		{
			name: "psetex", arity: 4, handler: cmdPsetex,
			flags: flagWrite | flagDenyOOM,
			cats:  catString,
			keys: []keySpec{
				{flags: keyOW | keyUpdate, first: 1, last: 0, step: 1},
			},
			group: "string", since: "2.6.0",
			summary:    "Set the value and expiration in milliseconds of a key",
			complexity: "O(1)",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
				{name: "milliseconds", typ: argInteger},
				{name: "value", typ: argString},
			},
		},
		{
			name: "mset", arity: -3, handler: cmdMset,
			flags: flagWrite | flagDenyOOM,
			cats:  catString,
			keys: []keySpec{
				{flags: keyOW | keyUpdate, first: 1, last: -1, step: 2},
			},
			group: "string", since: "1.0.1",
			summary:    "Set multiple keys to multiple values",
			complexity: "O(N) where N is the number of keys to set.",
			tips:       []string{"request_policy:multi_shard", "response_policy:all_succeeded"},
			args: []argument{
				{name: "key_value", typ: argBlock, multiple: true, args: []argument{
					{name: "key", typ: argKey, keySpec: 1},
					{name: "value", typ: argString},
				}},
			},
		},
		{
			name: "msetnx", arity: -3, handler: cmdMsetnx,
			flags: flagWrite | flagDenyOOM,
			cats:  catString,
			keys: []keySpec{
				{flags: keyOW | keyInsert, first: 1, last: -1, step: 2},
			},
			group: "string", since: "1.0.1",
			summary:    "Set multiple keys to multiple values, only if none of the keys exist",
			complexity: "O(N) where N is the number of keys to set.",
			tips:       []string{"request_policy:multi_shard", "response_policy:agg_min"},
			args: []argument{
				{name: "key_value", typ: argBlock, multiple: true, args: []argument{
					{name: "key", typ: argKey, keySpec: 1},
					{name: "value", typ: argString},
				}},
			},
		},
	}
}
