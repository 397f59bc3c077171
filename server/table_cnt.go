package server

// cntCommands returns rows of the command table: what countd has and Redis has not.
func cntCommands() []command {
	return []command{
		{
			name: "cnt.info", arity: 2, handler: cmdCntInfo,
			flags: flagReadOnly | flagFast,
			keys:  []keySpec{{flags: keyRO | keyAccess, first: 1, last: 0, step: 1}},
			group: "counter", since: "0.1.0",
			summary:    "Tell the value of a counter, its contract, and its ups and downs",
			complexity: "O(N) with N being the number of contracts",
			args:       []argument{{name: "key", typ: argKey, keySpec: 1}},
		},
		{
			name: "cnt.contract", arity: -2,
			group: "counter", since: "0.1.0",
			summary:    "A container for commands about what counters promise",
			complexity: "Depends on subcommand.",
			sub: []command{
				{
					name: "cnt.contract|set", arity: -3, handler: cmdContractSet,
					flags: flagWrite | flagAdmin | flagNoScript,
					group: "counter", since: "0.1.0",
					summary: "Set what counters promise whose keys match a glob",
					complexity: "O(N) with N being the number of contracts; every partition is " +
						"locked once, which takes about 0.1 ms for each database in use",
					args: contractArgs(),
				},
				{
					name: "cnt.contract|get", arity: 3, handler: cmdContractGet,
					flags: flagReadOnly,
					keys:  []keySpec{{flags: keyRO, first: 2, last: 0, step: 1}},
					group: "counter", since: "0.1.0",
					summary:    "Tell which contract applies to a key, and why",
					complexity: "O(N) with N being the number of contracts",
					args:       []argument{{name: "key", typ: argKey, keySpec: 1}},
				},
				{
					name: "cnt.contract|list", arity: 2, handler: cmdContractList,
					flags: flagReadOnly,
					group: "counter", since: "0.1.0",
					summary:    "List all contracts in the order in which they apply",
					complexity: "O(N) with N being the number of contracts",
				},
				{
					name: "cnt.contract|del", arity: 3, handler: cmdContractDel,
					flags: flagWrite | flagAdmin | flagNoScript,
					group: "counter", since: "0.1.0",
					summary:    "Remove the contract of a glob",
					complexity: "As that of CNT.CONTRACT SET",
					args:       []argument{{name: "glob", typ: argPattern}},
				},
				{
					name: "cnt.contract|help", arity: 2, handler: cmdContractHelp,
					flags: flagLoading | flagStale,
					group: "counter", since: "0.1.0",
					summary:    "Show helpful text about the different subcommands",
					complexity: "O(1)",
				},
			},
		},
	}
}

func contractArgs() []argument {
	choice := func(name, token string, choices ...string) argument {
		a := argument{name: name, typ: argOneOf, token: token, optional: true}
		for _, c := range choices {
			a.args = append(a.args, argument{name: c, typ: argToken, token: c})
		}
		return a
	}
	number := func(name, token string) argument {
		return argument{name: name, typ: argInteger, token: token, optional: true}
	}
	return []argument{
		{name: "glob", typ: argPattern},
		choice("replies", "REPLIES", "EXACT", "RELAXED"),
		{name: "shards", typ: argOneOf, token: "SHARDS", optional: true, args: []argument{
			{name: "auto", typ: argToken, token: "AUTO"},
			{name: "count", typ: argInteger},
		}},
		choice("durability", "DURABILITY", "ALWAYS", "EVERYSEC", "NO"),
		number("milliseconds", "STALENESS"),
		number("min", "MIN"),
		number("max", "MAX"),
		choice("tally", "TALLY", "YES", "NO"),
	}
}
