package server

// stringCommands returns rows of the command table: the string commands, counters among them.
func stringCommands() []command {
	return []command{
		{
			name: "get", arity: 2, handler: cmdGet, repeat: getTimes,
			flags: flagReadOnly | flagFast,
			cats:  catString,
			keys: []keySpec{
				{flags: keyRO | keyAccess, first: 1, last: 0, step: 1},
			},
			group: "string", since: "1.0.0",
			summary:    "Get the value of a key",
			complexity: "O(1)",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
			},
		},
		{
			name: "getset", arity: 3, handler: cmdGetset,
			flags: flagWrite | flagDenyOOM | flagFast,
			cats:  catString,
			keys: []keySpec{
				{flags: keyRW | keyAccess | keyUpdate, first: 1, last: 0, step: 1},
			},
			group: "string", since: "1.0.0",
			summary:         "Set the string value of a key and return its old value",
			complexity:      "O(1)",
			docFlags:        []string{"deprecated"},
			deprecatedSince: "6.2.0", replacedBy: "`SET` with the `!GET` argument",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
				{name: "value", typ: argString},
			},
		},
		{
			name: "getdel", arity: 2, handler: cmdGetdel,
			flags: flagWrite | flagFast,
			cats:  catString,
			keys: []keySpec{
				{flags: keyRW | keyAccess | keyDelete, first: 1, last: 0, step: 1},
			},
			group: "string", since: "6.2.0",
			summary:    "Get the value of a key and delete the key",
			complexity: "O(1)",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
			},
		},
		{
			name: "mget", arity: -2, handler: cmdMget,
			flags: flagReadOnly | flagFast,
			cats:  catString,
			keys: []keySpec{
				{flags: keyRO | keyAccess, first: 1, last: -1, step: 1},
			},
			group: "string", since: "1.0.0",
			summary:    "Get the values of all the given keys",
			complexity: "O(N) where N is the number of keys to retrieve.",
			tips:       []string{"request_policy:multi_shard"},
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1, multiple: true},
			},
		},
		{
			name: "strlen", arity: 2, handler: cmdStrlen,
			flags: flagReadOnly | flagFast,
			cats:  catString,
			keys: []keySpec{
				{flags: keyRO, first: 1, last: 0, step: 1},
			},
			group: "string", since: "2.2.0",
			summary:    "Get the length of the value stored in a key",
			complexity: "O(1)",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
			},
		},
		{
			name: "getrange", arity: 4, handler: cmdGetrange,
			flags: flagReadOnly,
			cats:  catString,
			keys: []keySpec{
				{flags: keyRO | keyAccess, first: 1, last: 0, step: 1},
			},
			group: "string", since: "2.4.0",
			summary:    "Get a substring of the string stored at a key",
			complexity: rangeComplexity,
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
				{name: "start", typ: argInteger},
				{name: "end", typ: argInteger},
			},
		},
		{
			name: "substr", arity: 4, handler: cmdGetrange,
			flags: flagReadOnly,
			cats:  catString,
			keys: []keySpec{
				{flags: keyRO | keyAccess, first: 1, last: 0, step: 1},
			},
			group: "string", since: "1.0.0",
			summary:         "Get a substring of the string stored at a key",
			complexity:      rangeComplexity,
			docFlags:        []string{"deprecated"},
			deprecatedSince: "2.0.0", replacedBy: "`GETRANGE`",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
				{name: "start", typ: argInteger},
				{name: "end", typ: argInteger},
			},
		},
		{
			name: "incr", arity: 2, handler: cmdIncr, delta: incrDelta,
			flags: flagWrite | flagDenyOOM | flagFast,
			cats:  catString,
			keys: []keySpec{
				{flags: keyRW | keyAccess | keyUpdate, first: 1, last: 0, step: 1},
			},
			group: "string", since: "1.0.0",
			summary:    "Increment the integer value of a key by one",
			complexity: "O(1)",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
			},
		},
		{
			name: "decr", arity: 2, handler: cmdDecr, delta: decrDelta,
			flags: flagWrite | flagDenyOOM | flagFast,
			cats:  catString,
			keys: []keySpec{
				{flags: keyRW | keyAccess | keyUpdate, first: 1, last: 0, step: 1},
			},
			group: "string", since: "1.0.0",
			summary:    "Decrement the integer value of a key by one",
			complexity: "O(1)",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
			},
		},
		{
			name: "incrby", arity: 3, handler: cmdIncrby, delta: incrbyDelta,
			flags: flagWrite | flagDenyOOM | flagFast,
			cats:  catString,
			keys: []keySpec{
				{flags: keyRW | keyAccess | keyUpdate, first: 1, last: 0, step: 1},
			},
			group: "string", since: "1.0.0",
			summary:    "Increment the integer value of a key by the given amount",
			complexity: "O(1)",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
				{name: "increment", typ: argInteger},
			},
		},
		{
			name: "decrby", arity: 3, handler: cmdDecrby, delta: decrbyDelta,
			flags: flagWrite | flagDenyOOM | flagFast,
			cats:  catString,
			keys: []keySpec{
				{flags: keyRW | keyAccess | keyUpdate, first: 1, last: 0, step: 1},
			},
			group: "string", since: "1.0.0",
			summary:    "Decrement the integer value of a key by the given number",
			complexity: "O(1)",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
				{name: "decrement", typ: argInteger},
			},
		},
		{
			name: "incrbyfloat", arity: 3, handler: cmdIncrbyfloat,
			flags: flagWrite | flagDenyOOM | flagFast,
			cats:  catString,
			keys: []keySpec{
				{flags: keyRW | keyAccess | keyUpdate, first: 1, last: 0, step: 1},
			},
			group: "string", since: "2.6.0",
			summary:    "Increment the float value of a key by the given amount",
			complexity: "O(1)",
			args: []argument{
				{name: "key", typ: argKey, keySpec: 1},
				{name: "increment", typ: argDouble},
			},
		},
	}
}

// rangeComplexity is that of GETRANGE and SUBSTR.
const rangeComplexity = "O(N) where N is the length of the returned string. The complexity is " +
	"ultimately determined by the returned length, but because creating a substring from an " +
	"existing string is very cheap, it can be considered O(1) for small strings."
