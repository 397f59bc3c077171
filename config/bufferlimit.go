package config

import (
	"fmt"
	"strconv"
	"strings"
)

// A BufferLimit bounds the replies a client may leave unread. 0 means no bound.
type BufferLimit struct {
	HardBytes   int64 // above it the client is closed at once
	SoftBytes   int64 // above it for SoftSeconds, too
	SoftSeconds int64
}

// The client classes of client-output-buffer-limit in the order CONFIG GET prints them, and Redis's
// limits for each.
const defaultBufferLimits = "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"

// bufferClass maps the names one may write to the name that is printed.
var bufferClass = map[string]string{
	"normal": "normal", "slave": "slave", "replica": "slave", "pubsub": "pubsub",
}

// checkBufferLimits reads groups of <class> <hard> <soft> <soft seconds>. Classes that are not named
// keep what they have in cur.
func checkBufferLimits(cur string, words []string) (canonical, reason string) {
	if len(words)%4 != 0 {
		return "", "Wrong number of arguments in buffer limit configuration."
	}
	limits := strings.Fields(cur)
	for ; len(words) > 0; words = words[4:] {
		class, ok := bufferClass[strings.ToLower(words[0])]
		if !ok {
			return "", "Invalid client class specified in buffer limit configuration."
		}
		hard, hardOK := ParseMemory(words[1])
		soft, softOK := ParseMemory(words[2])
		seconds, err := strconv.ParseUint(words[3], 10, 31)
		if !hardOK || !softOK || err != nil {
			return "", "Error in hard, soft or soft_seconds setting in buffer limit configuration."
		}
		for i := 0; i < len(limits); i += 4 {
			if limits[i] == class {
				copy(limits[i+1:], []string{fmt.Sprint(hard), fmt.Sprint(soft), fmt.Sprint(seconds)})
			}
		}
	}
	return strings.Join(limits, " "), ""
}

// OutputLimit is the client-output-buffer-limit of a class: normal, slave or pubsub; the zero limit
// for another.
func (c *Config) OutputLimit(class string) BufferLimit {
	words := strings.Fields(c.Value("client-output-buffer-limit"))
	for i := 0; i+3 < len(words); i += 4 {
		if words[i] == class {
			return BufferLimit{mustInt(words[i+1]), mustInt(words[i+2]), mustInt(words[i+3])}
		}
	}
	return BufferLimit{}
}

// mustInt reads a number that was checked when it was set.
func mustInt(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic("config: unchecked number: " + err.Error())
	}
	return n
}
