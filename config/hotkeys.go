package config

import "math"

// hotKeyOptions say which counters are hot and how closely the detector looks. Each row has its
// own range; which values go together the engine says (a demotion rate above the promotion rate
// does not).
func hotKeyOptions() []Option {
	row := func(name string, def string, low, high int64, arg, help string) Option {
		return Option{Name: name, Kind: KindInt, Default: def, Min: low, Max: high, Runtime: Changeable,
			Group: GroupHotKeys, Arg: arg, Help: help}
	}
	return []Option{
		{Name: "hot-keys", Kind: KindBool, Default: "yes", Runtime: Changeable,
			Group: GroupHotKeys, Arg: "yes|no",
			Help: "look for hot counters and stripe them over cells"},
		row("hot-promote-rate", "10000", 1, 1e12, "N",
			"commands per second from which a counter is hot"),
		row("hot-demote-rate", "2500", 1, 1e12, "N",
			"commands per second below which a hot counter cools; at most the above"),
		row("hot-share-permille", "10", 0, 1000, "N",
			"a hot counter also has this many of 1000 commands at least"),
		row("hot-hold-ms", "10000", 0, math.MaxInt32, "MS",
			"how long a counter must have cooled before it is hot no more"),
		row("hot-window-ms", "1000", 1, 3600_000, "MS",
			"rates are over the last MS; 1 to 64 ticks"),
		row("hot-tick-ms", "250", 1, 3600_000, "MS", "how often rates are looked at"),
		row("hot-samples", "65536", 1024, 1<<24, "N",
			"commands per second that each event loop looks at"),
		row("hot-entries", "512", 16, 1<<14, "N", "keys that each event loop keeps count of"),
		row("hot-max", "256", 1, 1<<16, "N", "hot counters at one time"),
	}
}
