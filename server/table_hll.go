package server

// hllCommands returns rows of the command table: the distinct counts.
func hllCommands() []command {
	return []command{
		{
			name: "pfadd", arity: -2, handler: cmdPfadd,
			flags: flagWrite | flagDenyOOM | flagFast,
			cats:  catHyperLogLog,
			keys: []keySpec{
				{flags: keyRW | keyInsert, first: 1, last: 0, step: 1},
			},
			group: "hyperloglog", since: "2.8.9",
			summary:    "Adds the specified elements to the specified HyperLogLog.",
			complexity: "O(1) to add every element.",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
				{name: "element", typ: argString, optional: true, multiple: true},
			},
		},
		{
			name: "pfcount", arity: -2, handler: cmdPfcount,
			flags: flagReadOnly,
			cats:  catHyperLogLog,
			keys: []keySpec{
				{flags: keyRW | keyAccess, first: 1, last: -1, step: 1,
					notes: "RW because it may change the internal representation of the " +
						"key, and propagate to replicas"},
			},
			group: "hyperloglog", since: "2.8.9",
			summary: "Return the approximated cardinality of the set(s) observed by the " +
				"HyperLogLog at key(s).",
			complexity: "O(1) with a very small average constant time when called with a " +
				"single key. O(N) with N being the number of keys, and much " +
				"bigger constant times, when called with multiple keys.",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1, multiple: true},
			},
		},
		{
			name: "pfmerge", arity: -2, handler: cmdPfmerge,
			flags: flagWrite | flagDenyOOM,
			cats:  catHyperLogLog,
			keys: []keySpec{
				{flags: keyRW | keyAccess | keyInsert, first: 1, last: 0, step: 1},
				{flags: keyRO | keyAccess, first: 2, last: -1, step: 1},
			},
			group: "hyperloglog", since: "2.8.9",
			summary:    "Merge N different HyperLogLogs into a single one.",
			complexity: "O(N) to merge N HyperLogLogs, but with high constant times.",
			args: []argument{
				{name: "destkey", typ: argKey, keySpec: 1},
				{name: "sourcekey", typ: argKey, keySpec: 2, multiple: true},
			},
		},
		{
			name: "pfselftest", arity: 1, handler: cmdPfselftest,
			flags: flagAdmin,
			cats:  catHyperLogLog,
			group: "hyperloglog", since: "2.8.9",
			docFlags:   []string{"syscmd"},
			summary:    "An internal command for testing HyperLogLog values",
			complexity: "N/A",
		},
	}
}
