package server

// genericCommands returns rows of the command table: the commands on keys of any type.
func genericCommands() []command {
	return []command{
		{
			name: "del", arity: -2, handler: cmdDel,
			flags: flagWrite,
			cats:  catKeyspace,
			keys: []keySpec{
				{flags: keyRM | keyDelete, first: 1, last: -1, step: 1},
			},
			group: "generic", since: "1.0.0",
			summary: "Delete a key",
			complexity: "O(N) where N is the number of keys that will be removed. When a " +
				"key to remove holds a value other than a string, the individual " +
				"complexity for this key is O(M) where M is the number of " +
				"elements in the list, set, sorted set or hash. Removing a " +
				"single key that holds a string value is O(1).",
			tips: []string{"request_policy:multi_shard", "response_policy:agg_sum"},
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1, multiple: true},
			},
		},
		{
			name: "unlink", arity: -2, handler: cmdUnlink,
			flags: flagWrite | flagFast,
			cats:  catKeyspace,
			keys: []keySpec{
				{flags: keyRM | keyDelete, first: 1, last: -1, step: 1},
			},
			group: "generic", since: "4.0.0",
			summary: "Delete a key asynchronously in another thread. Otherwise it is " +
				"just as DEL, but non blocking.",
			complexity: "O(1) for each key removed regardless of its size. Then the " +
				"command does O(N) work in a different thread in order to " +
				"reclaim memory, where N is the number of allocations the " +
				"deleted objects where composed of.",
			tips: []string{"request_policy:multi_shard", "response_policy:agg_sum"},
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1, multiple: true},
			},
		},
		{
			name: "exists", arity: -2, handler: cmdExists,
			flags: flagReadOnly | flagFast,
			cats:  catKeyspace,
			keys: []keySpec{
				{flags: keyRO, first: 1, last: -1, step: 1},
			},
			group: "generic", since: "1.0.0",
			summary:    "Determine if a key exists",
			complexity: "O(N) where N is the number of keys to check.",
			tips:       []string{"request_policy:multi_shard", "response_policy:agg_sum"},
			history: []change{
				{"3.0.3", "Accepts multiple `key` arguments."},
			},
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1, multiple: true},
			},
		},
		{
			name: "type", arity: 2, handler: cmdType,
			flags: flagReadOnly | flagFast,
			cats:  catKeyspace,
			keys: []keySpec{
				{flags: keyRO, first: 1, last: 0, step: 1},
			},
			group: "generic", since: "1.0.0",
			summary:    "Determine the type stored at key",
			complexity: "O(1)",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
			},
		},
		{
			name: "touch", arity: -2, handler: cmdTouch,
			flags: flagReadOnly | flagFast,
			cats:  catKeyspace,
			keys: []keySpec{
				{flags: keyRO, first: 1, last: -1, step: 1},
			},
			group: "generic", since: "3.2.1",
			summary: "Alters the last access time of a key(s). Returns the number of " +
				"existing keys specified.",
			complexity: "O(N) where N is the number of keys that will be touched.",
			tips:       []string{"request_policy:multi_shard", "response_policy:agg_sum"},
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1, multiple: true},
			},
		},
		{
			name: "keys", arity: 2, handler: cmdKeys,
			flags: flagReadOnly,
			cats:  catKeyspace | catDangerous,
			group: "generic", since: "1.0.0",
			summary: "Find all keys matching the given pattern",
			complexity: "O(N) with N being the number of keys in the database, under the " +
				"assumption that the key names in the database and the given " +
				"pattern have limited length.",
			tips: []string{"request_policy:all_shards", "nondeterministic_output_order"},
			args: []argument{
				{name: "pattern", typ: argPattern},
			},
		},
		{
			name: "scan", arity: -2, handler: cmdScan,
			flags: flagReadOnly,
			cats:  catKeyspace,
			group: "generic", since: "2.8.0",
			summary: "Incrementally iterate the keys space",
			complexity: "O(1) for every call. O(N) for a complete iteration, including " +
				"enough command calls for the cursor to return back to 0. N is " +
				"the number of elements inside the collection.",
			tips: []string{"nondeterministic_output", "request_policy:special"},
			history: []change{
				{"6.0.0", "Added the `TYPE` subcommand."},
			},
			args: []argument{
				{name: "cursor", typ: argInteger},
				{name: "pattern", typ: argPattern, token: "MATCH", optional: true},
				{name: "count", typ: argInteger, token: "COUNT", optional: true},
				{name: "type", typ: argString, token: "TYPE", since: "6.0.0", optional: true},
			},
		},
		{
			name: "randomkey", arity: 1, handler: cmdRandomkey,
			flags: flagReadOnly,
			cats:  catKeyspace,
			group: "generic", since: "1.0.0",
			summary:    "Return a random key from the keyspace",
			complexity: "O(1)",
			tips:       []string{"request_policy:all_shards", "nondeterministic_output"},
		},
	}
}
