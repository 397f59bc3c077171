package server

// moveCommands returns rows of the command table: the commands that take whole values from one key to
// another, or out of the server and in.
func moveCommands() []command {
	return []command{
		{
			name: "rename", arity: 3, handler: cmdRename,
			flags: flagWrite,
			cats:  catKeyspace,
			keys: []keySpec{
				{flags: keyRW | keyAccess | keyDelete, first: 1, last: 0, step: 1},
				{flags: keyOW | keyUpdate, first: 2, last: 0, step: 1},
			},
			group: "generic", since: "1.0.0",
			summary:    "Rename a key",
			complexity: "O(1)",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
				{name: "newkey", typ: argKey, keySpec: 2},
			},
		},
		{
			name: "renamenx", arity: 3, handler: cmdRenamenx,
			flags: flagWrite | flagFast,
			cats:  catKeyspace,
			keys: []keySpec{
				{flags: keyRW | keyAccess | keyDelete, first: 1, last: 0, step: 1},
				{flags: keyOW | keyInsert, first: 2, last: 0, step: 1},
			},
			group: "generic", since: "1.0.0",
			summary:    "Rename a key, only if the new key does not exist",
			complexity: "O(1)",
			history: []change{
				{"3.2.0", "The command no longer returns an error when source and " +
					"destination names are the same."},
			},
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
				{name: "newkey", typ: argKey, keySpec: 2},
			},
		},
		{
			name: "copy", arity: -3, handler: cmdCopy,
			flags: flagWrite | flagDenyOOM,
			cats:  catKeyspace,
			keys: []keySpec{
				{flags: keyRO | keyAccess, first: 1, last: 0, step: 1},
				{flags: keyOW | keyUpdate, first: 2, last: 0, step: 1},
			},
			group: "generic", since: "6.2.0",
			summary: "Copy a key",
			complexity: "O(N) worst case for collections, where N is the number of nested " +
				"items. O(1) for string values.",
			args: []argument{
				{name: "source", typ: argKey, keySpec: 1},
				{name: "destination", typ: argKey, keySpec: 2},
				{name: "destination-db", typ: argInteger, token: "DB", optional: true},
				{name: "replace", typ: argToken, token: "REPLACE", optional: true},
			},
		},
		{
			name: "move", arity: 3, handler: cmdMove,
			flags: flagWrite | flagFast,
			cats:  catKeyspace,
			keys: []keySpec{
				{flags: keyRW | keyAccess | keyUpdate, first: 1, last: 0, step: 1},
			},
			group: "generic", since: "1.0.0",
			summary:    "Move a key to another database",
			complexity: "O(1)",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
				{name: "db", typ: argInteger},
			},
		},
		{
			name: "dump", arity: 2, handler: cmdDump,
			flags: flagReadOnly,
			cats:  catKeyspace,
			keys: []keySpec{
				{flags: keyRO | keyAccess, first: 1, last: 0, step: 1},
			},
			group: "generic", since: "2.6.0",
			summary: "Return a serialized version of the value stored at the specified key.",
			complexity: "O(1) to access the key and additional O(N*M) to serialize it, where N is the " +
				"number of Redis objects composing the value and M their average size. For small " +
				"string values the time complexity is thus O(1)+O(1*M) where M is small, so simply O(1).",
			tips: []string{"nondeterministic_output"},
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
			},
		},
		{
			name: "restore", arity: -4, handler: cmdRestore,
			flags: flagWrite | flagDenyOOM,
			cats:  catKeyspace | catDangerous,
			keys: []keySpec{
				{flags: keyOW | keyUpdate, first: 1, last: 0, step: 1},
			},
			group: "generic", since: "2.6.0",
			summary: "Create a key using the provided serialized value, previously obtained using " +
				"DUMP.",
			complexity: "O(1) to create the new key and additional O(N*M) to reconstruct the " +
				"serialized value, where N is the number of Redis objects composing the value and M " +
				"their average size. For small string values the time complexity is thus " +
				"O(1)+O(1*M) where M is small, so simply O(1). However for sorted set values the " +
				"complexity is O(N*M*log(N)) because inserting values into sorted sets is O(log(N)).",
			history: []change{
				{"3.0.0", "Added the `REPLACE` modifier."},
				{"5.0.0", "Added the `ABSTTL` modifier."},
				{"5.0.0", "Added the `IDLETIME` and `FREQ` options."},
			},
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
				{name: "ttl", typ: argInteger},
				{name: "serialized-value", typ: argString},
				{name: "replace", typ: argToken, token: "REPLACE", since: "3.0.0", optional: true},
				{name: "absttl", typ: argToken, token: "ABSTTL", since: "5.0.0", optional: true},
				{name: "seconds", typ: argInteger, token: "IDLETIME", since: "5.0.0", optional: true},
				{name: "frequency", typ: argInteger, token: "FREQ", since: "5.0.0", optional: true},
			},
		},
	}
}
