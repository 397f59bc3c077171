package config

import (
	"math"
	"strconv"
)

// compatOptions are options of redis.conf that have nothing to act on in countd: they tune data
// structures, snapshots, replication and log rewriting that it does not have, or describe memory it
// does not evict. They are checked, kept and reported, so that scripts which set them and existing
// configuration files keep working: the one that Redis 7.0 ships starts countd as it is (not
// Debian's, which says daemonize yes).
//
// Options that promise something which countd would not keep (replicaof, cluster-enabled, tls-port,
// rename-command, aclfile, …) are not among them: those stop the start.
func compatOptions() []Option {
	t := []Option{
		{Name: "save", Kind: KindList, repeats: true, check: checkSave,
			Help: "the log makes snapshots needless"},
		{Name: "maxmemory-policy", Kind: KindEnum, Default: "noeviction", Choices: []string{"noeviction"},
			Help: "what leaves memory is on disk: nothing is ever lost to maxmemory"},
		intRow("maxmemory-samples", 5, 1, math.MaxInt32),
		intRow("hz", 10, 0, math.MaxInt32),
		boolRow("dynamic-hz", true),
		intRow("tcp-backlog", 511, 0, math.MaxInt32),
		boolRow("activerehashing", true),
		intRow("active-expire-effort", 1, 1, 10),
		boolRow("jemalloc-bg-thread", true),
		boolRow("disable-thp", true),
		{Name: "oom-score-adj", Kind: KindEnum, Default: "no", Choices: []string{"no"}},
		{Name: "oom-score-adj-values", Kind: KindString, Default: "0 200 800", check: checkAnyWords},

		// Snapshots and the rewriting of Redis's log.
		{Name: "dbfilename", Kind: KindString, Default: "dump.rdb"},
		boolRow("rdbcompression", true),
		boolRow("rdbchecksum", true),
		boolRow("rdb-del-sync-files", false),
		boolRow("rdb-save-incremental-fsync", true),
		boolRow("stop-writes-on-bgsave-error", true),
		{Name: "appendfilename", Kind: KindString, Default: "appendonly.aof"},
		{Name: "appenddirname", Kind: KindString, Default: "appendonlydir"},
		boolRow("no-appendfsync-on-rewrite", false),
		intRow("auto-aof-rewrite-percentage", 100, 0, math.MaxInt32),
		memoryRow("auto-aof-rewrite-min-size", 64*mib),
		boolRow("aof-load-truncated", true),
		boolRow("aof-use-rdb-preamble", true),
		boolRow("aof-timestamp-enabled", false),
		boolRow("aof-rewrite-incremental-fsync", true),

		// The encodings of Redis's types.
		memoryRow("hll-sparse-max-bytes", 3000),
		intRow("hash-max-listpack-entries", 512, 0, math.MaxInt64),
		memoryRow("hash-max-listpack-value", 64),
		intRow("list-max-listpack-size", -2, math.MinInt32, math.MaxInt32),
		intRow("list-compress-depth", 0, 0, math.MaxInt32),
		intRow("set-max-intset-entries", 512, 0, math.MaxInt64),
		intRow("zset-max-listpack-entries", 128, 0, math.MaxInt64),
		memoryRow("zset-max-listpack-value", 64),
		memoryRow("stream-node-max-bytes", 4096),
		intRow("stream-node-max-entries", 100, 0, math.MaxInt64),

		boolRow("lazyfree-lazy-eviction", false),
		boolRow("lazyfree-lazy-expire", false),
		boolRow("lazyfree-lazy-server-del", false),
		boolRow("lazyfree-lazy-user-del", false),
		boolRow("lazyfree-lazy-user-flush", false),

		// Tuning of replication, for a server that has no replicas.
		boolRow("replica-serve-stale-data", true),
		boolRow("replica-read-only", true),
		boolRow("replica-lazy-flush", false),
		intRow("replica-priority", 100, 0, math.MaxInt32),
		boolRow("repl-diskless-sync", true),
		intRow("repl-diskless-sync-delay", 5, 0, math.MaxInt32),
		intRow("repl-diskless-sync-max-replicas", 0, 0, math.MaxInt32),
		{Name: "repl-diskless-load", Kind: KindEnum, Default: "disabled", Choices: []string{"disabled"}},
		boolRow("repl-disable-tcp-nodelay", false),

		// Reports and looks.
		intRow("slowlog-log-slower-than", 10000, -1, math.MaxInt64),
		intRow("slowlog-max-len", 128, 0, math.MaxInt64),
		intRow("acllog-max-len", 128, 0, math.MaxInt64),
		intRow("latency-monitor-threshold", 0, 0, math.MaxInt64),
		{Name: "notify-keyspace-events", Kind: KindEnum, Choices: []string{""}, Help: "no events are sent"},
		boolRow("set-proc-title", true),
		{Name: "proc-title-template", Kind: KindString, Default: "{title} {listen-addr} {server-mode}"},
		boolRow("always-show-logo", false),
	}
	for i := range t {
		t[i].Group = GroupCompat
		t[i].Runtime = Changeable
	}
	for _, name := range fixedInRedis {
		for i := range t {
			if t[i].Name == name {
				t[i].Runtime = Fixed
			}
		}
	}
	return t
}

// fixedInRedis are the rows above that CONFIG SET refuses in Redis too.
var fixedInRedis = []string{"tcp-backlog", "disable-thp", "rdbchecksum", "appendfilename",
	"appenddirname", "set-proc-title", "always-show-logo"}

func boolRow(name string, on bool) Option {
	o := Option{Name: name, Kind: KindBool, Default: "no"}
	if on {
		o.Default = "yes"
	}
	return o
}

func intRow(name string, def, low, high int64) Option {
	return Option{Name: name, Kind: KindInt, Default: strconv.FormatInt(def, 10), Min: low, Max: high}
}

func memoryRow(name string, def int64) Option {
	return Option{Name: name, Kind: KindMemory, Default: strconv.FormatInt(def, 10), Max: math.MaxInt64}
}
