package server

// hotCommands returns rows of the command table: what countd tells of hot counters.
func hotCommands() []command {
	return []command{
		{
			name: "cnt.hotkeys", arity: -1, handler: cmdHotkeys,
			flags: flagReadOnly,
			group: "counter", since: "0.1.0",
			summary: "List the keys of all databases that take the most commands",
			complexity: "O(N*log(N)) with N being the number of keys that the detector tracks, which " +
				"hot-entries bounds",
			tips: []string{"nondeterministic_output"},
			args: []argument{
				{name: "count", typ: argInteger, token: "COUNT", optional: true},
			},
		},
		{
			name: "cnt.shards", arity: 2, handler: cmdShards,
			flags: flagReadOnly,
			keys:  []keySpec{{flags: keyRO, first: 1, last: 0, step: 1}},
			group: "counter", since: "0.1.0",
			summary:    "Tell how a counter is kept: its cells, their skew, base, total and drift",
			complexity: "O(N) with N being the number of cells",
			tips:       []string{"nondeterministic_output"},
			args:       []argument{{name: "key", typ: argKey, keySpec: 1}},
		},
	}
}
