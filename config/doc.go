// Package config is countd's option table and the values it holds.
//
// An Option is one row of the table: name, kind, default, range, whether CONFIG SET may change it,
// and the line that --help prints. A Config is the current value of every option. Sources fill it in
// rising priority:
//
//	defaults < config file < environment (COUNTD_PORT, COUNTD_APPENDFSYNC, …) < command line
//
// ParseArgs walks all of them in that order: it looks for the config file among the arguments, reads
// it, then the environment, then the other arguments. Every value is checked by its row where it
// enters, so that a wrong one is reported with the place it came from. From then on the server reads
// values (Value, Int, Bool, List) and CONFIG SET changes them (SetRuntime, all or nothing); whoever
// must act on a change registers OnChange.
//
// Invariants: a Config never holds a value its row refuses; readers take no lock, and what SetRuntime
// sets becomes visible at one instant.
//
// The command line is redis-server's, where an option takes several values (`--bind 127.0.0.1 ::1`,
// `--save 60 1`) and is the same thing as a line of the config file. Flag libraries of Go (flag,
// pflag, kong, …) know one value per flag and no such files; bending one to this grammar takes more
// code than args.go has, so there is none here.
package config
