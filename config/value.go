package config

import (
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
)

// read checks the words of a value and returns its canonical text, or a reason why it is refused.
// The reasons are the words of Redis's CONFIG SET. cur is the present value, which some options
// (client-output-buffer-limit) only partly replace.
func (o *Option) read(cur string, words []string) (canonical, reason string) {
	if o.check != nil {
		return o.check(cur, words)
	}
	if o.Kind == KindList {
		return strings.Join(words, " "), ""
	}
	if len(words) != 1 {
		return "", "wrong number of arguments"
	}
	canonical, reason = o.readWord(words[0])
	if reason != "" && o.refused != "" {
		reason = o.refused
	}
	return canonical, reason
}

func (o *Option) readWord(word string) (canonical, reason string) {
	if o.required && word == "" {
		return "", "must not be empty"
	}
	switch o.Kind {
	case KindBool:
		return readBool(word)
	case KindEnum:
		return o.readEnum(word)
	case KindInt:
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return "", "argument couldn't be parsed into an integer"
		}
		return o.inRange(n)
	case KindMemory:
		n, ok := ParseMemory(word)
		if !ok {
			return "", "argument must be a memory value"
		}
		return o.inRange(n)
	default:
		return word, ""
	}
}

func readBool(word string) (canonical, reason string) {
	switch w := strings.ToLower(word); w {
	case "yes", "no":
		return w, ""
	}
	return "", "argument must be 'yes' or 'no'"
}

func (o *Option) readEnum(word string) (canonical, reason string) {
	for _, c := range o.Choices {
		if strings.EqualFold(c, word) {
			return c, ""
		}
	}
	return "", "argument(s) must be one of the following: " + strings.Join(o.Choices, ", ")
}

func (o *Option) inRange(n int64) (canonical, reason string) {
	if n < o.Min || n > o.Max {
		return "", fmt.Sprintf("argument must be between %d and %d inclusive", o.Min, o.Max)
	}
	return strconv.FormatInt(n, 10), ""
}

// memoryUnits are redis.conf's: k is a thousand, kb is 1024, and so on.
var memoryUnits = map[string]int64{
	"": 1, "b": 1,
	"k": 1000, "kb": kib,
	"m": 1000 * 1000, "mb": mib,
	"g": 1000 * 1000 * 1000, "gb": gib,
}

// ParseMemory reads a number of bytes with redis.conf's units, such as 64mb. It refuses what does
// not fit into an int64.
func ParseMemory(s string) (bytes int64, ok bool) {
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	unit, known := memoryUnits[strings.ToLower(s[digits:])]
	n, err := strconv.ParseInt(s[:digits], 10, 64)
	if !known || err != nil || n > math.MaxInt64/unit {
		return 0, false
	}
	return n * unit, true
}

// maxBindAddresses is Redis's CONFIG_BINDADDR_MAX.
const maxBindAddresses = 16

// checkBind takes what redis-server takes: addresses, names of hosts, * and ::*, each with a leading
// "-" where it may be missing. One empty word means no address.
func checkBind(_ string, words []string) (canonical, reason string) {
	if len(words) == 1 && words[0] == "" {
		return "", ""
	}
	if len(words) > maxBindAddresses {
		return "", "Too many bind addresses specified."
	}
	for _, w := range words {
		if !plausibleHost(strings.TrimPrefix(w, "-")) {
			return "", fmt.Sprintf("'%s' is not an address to bind to", w)
		}
	}
	return strings.Join(words, " "), ""
}

// plausibleHost sorts out what can be no address at all, such as host:port. Whether the address is
// one of this machine's shows when it is bound.
func plausibleHost(host string) bool {
	if host == "*" || host == "::*" || net.ParseIP(host) != nil {
		return true
	}
	if ip, zone, ok := strings.Cut(host, "%"); ok && zone != "" {
		return net.ParseIP(ip) != nil // fe80::1%eth0
	}
	return host != "" && !strings.ContainsAny(host, ":/ ,\x00")
}

// checkSave takes pairs of seconds and changes, or one empty word for none.
func checkSave(_ string, words []string) (canonical, reason string) {
	if len(words) == 1 && words[0] == "" {
		return "", ""
	}
	const refused = "Invalid save parameters"
	if len(words)%2 != 0 {
		return "", refused
	}
	for i, w := range words {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil || n < int64(1-i%2) { // seconds from 1, changes from 0
			return "", refused
		}
	}
	return strings.Join(words, " "), ""
}

func checkAnyWords(_ string, words []string) (canonical, reason string) {
	return strings.Join(words, " "), ""
}
