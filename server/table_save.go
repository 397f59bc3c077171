package server

// saveCommands returns rows of the command table: backups.
func saveCommands() []command {
	return []command{
		{
			name: "save", arity: 1, handler: cmdSave,
			flags: flagAdmin | flagNoScript | flagNoAsyncLoading | flagNoMulti,
			group: "server", since: "1.0.0",
			summary:    "Synchronously save the dataset to disk",
			complexity: "O(N) where N is the total number of keys in all databases",
		},
		{
			name: "bgsave", arity: -1, handler: cmdBgsave,
			flags: flagAdmin | flagNoScript | flagNoAsyncLoading,
			group: "server", since: "1.0.0",
			summary:    "Asynchronously save the dataset to disk",
			complexity: "O(1)",
			history:    []change{{"3.2.2", "Added the `SCHEDULE` option."}},
			args: []argument{
				{name: "schedule", typ: argToken, token: "SCHEDULE", since: "3.2.2", optional: true},
			},
		},
		{
			name: "lastsave", arity: 1, handler: cmdLastsave,
			flags: flagLoading | flagStale | flagFast,
			cats:  catAdmin | catDangerous,
			group: "server", since: "1.0.0",
			summary:    "Get the UNIX time stamp of the last successful save to disk",
			complexity: "O(1)",
			tips:       []string{"nondeterministic_output"},
		},
	}
}
