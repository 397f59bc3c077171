package config

import "math"

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

// networkOptions are where countd listens and whom it lets in.
func networkOptions() []Option {
	return []Option{
		{Name: "port", Kind: KindInt, Default: "6379", Max: math.MaxUint16, Runtime: Restart,
			Group: GroupNetwork, Arg: "N",
			Help: "TCP port; 0 lets the system choose a free one, the log says which"},
		{Name: "bind", Kind: KindList, Default: "127.0.0.1", Runtime: Restart,
			Group: GroupNetwork, Arg: "ADDR...", check: checkBind,
			Help: "addresses to listen on; * is all, a leading - makes one optional"},
		{Name: "protected-mode", Kind: KindBool, Default: "yes", Runtime: Changeable,
			Group: GroupNetwork, Arg: "yes|no",
			Help: "without a password, refuse clients from other hosts"},
		{Name: "requirepass", Kind: KindString, Runtime: Changeable, Group: GroupNetwork,
			Arg: "PASSWORD", Help: "clients must AUTH with this password; empty lets everyone in"},
		{Name: "timeout", Kind: KindInt, Default: "0", Max: math.MaxInt32, Runtime: Changeable,
			Group: GroupNetwork, Arg: "SECONDS",
			Help: "close a client that is idle for so long; 0 never does"},
		{Name: "tcp-keepalive", Kind: KindInt, Default: "300", Max: math.MaxInt32,
			Runtime: Changeable, Group: GroupNetwork, Arg: "SECONDS",
			Help: "TCP keep-alive of new connections; 0 leaves it to the system"},
		{Name: "io-threads", Kind: KindInt, Default: "0", Max: 128, Runtime: Fixed,
			Group: GroupNetwork, Arg: "N", Help: "event loops; 0 chooses by the number of cores"},
	}
}

// durabilityOptions are where the data is and when it is safe.
func durabilityOptions() []Option {
	return []Option{
		{Name: "dir", Kind: KindString, Default: "./data", Runtime: Restart, required: true,
			Group: GroupDurability, Arg: "PATH",
			Help: "data directory, created where it does not exist"},
		{Name: "appendonly", Kind: KindBool, Default: "yes", Runtime: Restart,
			Group: GroupDurability, Arg: "yes|no",
			Help: "log all writes; no: data lives in memory only"},
		{Name: "appendfsync", Kind: KindEnum, Default: "everysec",
			Choices: []string{"everysec", "always", "no"}, // in the order of Redis's error
			Runtime: Changeable,
			Group:   GroupDurability, Arg: "always|everysec|no",
			Help: "sync before every reply, once a second, or when the system likes"},
		{Name: "log-failover-dir", Kind: KindString, Runtime: Fixed, Group: GroupDurability, Arg: "PATH",
			Help: "on another disk: the log goes on there while dir stalls; empty: it waits"},
		{Name: "log-failover-threshold", Kind: KindInt, Default: "100", Min: 1, Max: 60000, Runtime: Fixed,
			Group: GroupDurability, Arg: "MS",
			Help: "milliseconds that a write of the log may take before its disk stalls"},
	}
}

// contractOptions are what counters promise.
func contractOptions() []Option {
	return []Option{
		{Name: "contract", Kind: KindLines, Runtime: Fixed, Group: GroupDurability,
			Arg:  "GLOB [PROPERTY VALUE]...",
			Help: "what counters promise whose keys match GLOB; see CNT.CONTRACT HELP, may be repeated"},
	}
}

// limitOptions bound what clients may take.
func limitOptions() []Option {
	return []Option{
		{Name: "maxclients", Kind: KindInt, Default: "10000", Min: 1, Max: math.MaxUint32,
			Runtime: Changeable, Group: GroupLimits, Arg: "N", Help: "connections at one time"},
		{Name: "maxmemory", Kind: KindMemory, Default: "0", Max: math.MaxInt64, Runtime: Changeable,
			Group: GroupLimits, Arg: "BYTES",
			Help: "of keys in memory; others stay on disk only; 0: all in memory"},
		{Name: "proto-max-bulk-len", Kind: KindMemory, Default: "536870912", Min: mib,
			Max: 512 * mib, Runtime: Changeable, Group: GroupLimits, Arg: "BYTES",
			Help: "longest argument of a command, and so the longest value"},
		{Name: "client-query-buffer-limit", Kind: KindMemory, Default: "1073741824", Min: mib,
			Max: math.MaxInt64, Runtime: Changeable, Group: GroupLimits, Arg: "BYTES",
			Help: "input a client may have pending; a client above it is closed"},
		{Name: "client-output-buffer-limit", Kind: KindString, Default: defaultBufferLimits,
			Runtime: Changeable, Group: GroupLimits, Arg: "CLASS HARD SOFT SECONDS...",
			check: checkBufferLimits,
			Help:  "close a client with more unread replies than HARD, or than SOFT for SECONDS"},
	}
}

// processOptions are the process itself and its log.
func processOptions() []Option {
	return []Option{
		{Name: "loglevel", Kind: KindEnum, Default: "notice",
			Choices: []string{"debug", "verbose", "notice", "warning"}, Runtime: Changeable,
			Group: GroupLog, Arg: "debug|verbose|notice|warning", Help: "how much is logged"},
		{Name: "logfile", Kind: KindString, Runtime: Fixed, Group: GroupLog, Arg: "PATH",
			Help: "append the log to this file; empty is standard error"},
		{Name: "pidfile", Kind: KindString, Runtime: Fixed, Group: GroupLog, Arg: "PATH",
			Help: "write the process id to this file; empty writes none"},
		{Name: "daemonize", Kind: KindEnum, Default: "no", Choices: []string{"no"}, Runtime: Fixed,
			Group: GroupLog, Arg: "no", Help: "only no: a service manager runs countd in the background",
			refused: "countd stays in the foreground: set it to no and let a service manager run it"},
		{Name: "databases", Kind: KindInt, Default: "16", Min: 16, Max: 16, Runtime: Fixed,
			Group: GroupLog, Arg: "16", Help: "logical databases, always 16", refused: "is always 16"},
	}
}
