package server

import (
	"math/rand/v2"
	"strconv"
	"strings"

	"countd/rdb"
)

// A commandGen makes up random commands, sensible and hostile, whose replies depend on nothing but
// the commands before. Times to live that end during the test are not among them.
type commandGen struct {
	rnd     *rand.Rand
	garbage []string // names of commands that take any arguments without harm
}

// notForGarbage are the commands that the generator gives no random arguments: they end the
// connection or the server, have no reply, change the configuration, or reply with what differs
// between two servers.
var notForGarbage = []string{"shutdown", "quit", "auth", "reset", "client|kill", "client|reply",
	"client|list", "client|info", "client|id", "client|setinfo", "client|help", "config|set",
	"config|get", "config|rewrite", "config|help", "function|help", "info", "command",
	"command|count", "command|list", "command|getkeys", "command|getkeysandflags",
	"command|docs", "command|info", "command|help", "scan", "keys", "randomkey", "time", "dbsize",
	"save", "bgsave", "lastsave",
	"pfadd", "pfcount", "pfmerge", "hello", "object|encoding", "object|refcount", "object|freq",
	"object|idletime"}

func newCommandGen(seed uint64) *commandGen {
	g := &commandGen{rnd: rand.New(rand.NewPCG(seed, 0))}
	excluded := make(map[string]bool)
	for _, name := range notForGarbage {
		excluded[name] = true
	}
	for _, c := range commands().all {
		if !excluded[c.name] && len(c.sub) == 0 && !strings.HasPrefix(c.name, "cnt.") {
			g.garbage = append(g.garbage, c.name)
		}
	}
	return g
}

func (g *commandGen) pick(choices ...string) string { return choices[g.rnd.IntN(len(choices))] }

func (g *commandGen) chance(percent int) bool { return g.rnd.IntN(100) < percent }

func (g *commandGen) key() string {
	return g.pick("k1", "k2", "k3", "k4", "k5", "k6", "", "a\x00b", "\r\n", "K1")
}

func (g *commandGen) sketch() string { return g.pick("h1", "h2", "h3", "h4") }

// integer is an integer as written by a friend or by an enemy.
func (g *commandGen) integer() string {
	if g.chance(60) {
		return strconv.Itoa(g.rnd.IntN(2000) - 1000)
	}
	return g.hostileNumber()
}

func (g *commandGen) hostileNumber() string {
	return g.pick("0", "-1", "-0", "+1", " 1", "1 ", "01", "00", "-", "", "1.5", "1e3", "0x10", "x",
		"9223372036854775807", "-9223372036854775808", "9223372036854775808",
		"-9223372036854775809", "9223372036854775", "9223372036854776", "-9223372036854775807",
		"99999999999999999999999", "1\x00", "4611686018427387904", g.seconds())
}

func (g *commandGen) float() string {
	if g.chance(60) {
		return strconv.FormatFloat(float64(g.rnd.IntN(4000)-2000)/g.power(), 'g', -1, 64)
	}
	return g.pick("nan", "inf", "-inf", "infinity", "1e17", "-1e17", "1e-5", "1e5000", "1e-5000", ".5",
		"5.", "+.5", "1e", "e1", "0x1p4", "1_0", "1e+2", "-0", "-0.0", "0.1", "3.0e3", "",
		g.hostileNumber())
}

func (g *commandGen) power() float64 {
	return []float64{1, 2, 10, 100, 1000, 64, 3}[g.rnd.IntN(7)]
}

// seconds is a time to live, long enough for the test, that never repeats by accident.
func (g *commandGen) seconds() string { return strconv.Itoa(200_000 + g.rnd.IntN(50_000_000)) }

// time is a time argument, hostile at times.
func (g *commandGen) time() string {
	switch {
	case g.chance(60):
		return g.seconds()
	case g.chance(30):
		return strconv.Itoa(33_000_000_000 + 100_000*g.rnd.IntN(5)) // far away even in ms, far apart
	}
	return g.hostileNumber()
}

func (g *commandGen) value() string {
	switch {
	case g.chance(40):
		return g.integer()
	case g.chance(30):
		return g.float()
	}
	return g.pick("", "v", "hello world", "a\x00b", "\r\n", "$-1\r\n", "*", "\xff\xfe", "%s%n", " ",
		strings.Repeat("x", 1+g.rnd.IntN(100)), strings.Repeat("long", 5000))
}

func (g *commandGen) setOption() []string {
	switch g.rnd.IntN(8) {
	case 0, 1:
		return []string{g.word(g.pick("ex", "px", "exat", "pxat")), g.time()}
	case 2:
		return []string{g.word(g.pick("ex", "px", "exat", "pxat"))}
	case 3:
		return []string{g.hostile()}
	}
	return []string{g.word(g.pick("nx", "xx", "get", "keepttl"))}
}

// word writes a word in any case, with a zero byte behind it at times.
func (g *commandGen) word(w string) string {
	if g.chance(50) {
		w = strings.ToUpper(w)
	}
	if g.chance(3) {
		w += "\x00" + g.pick("", "x")
	}
	return w
}

// hostile is an argument that fits many places and none.
func (g *commandGen) hostile() string {
	return g.pick(g.hostileNumber(), g.key(), g.value(), g.word(g.pick("nx", "xx", "gt", "lt", "get",
		"ex", "px", "exat", "pxat", "keepttl", "match", "count", "type", "sync", "async", "on",
		"off", "normal", "id", "help", "list", "filterby", "pattern", "set", "mget", "pfmerge",
		"abort", "save", "replace", "db", "absttl")))
}

func (g *commandGen) hostiles(most int) []string {
	args := make([]string, g.rnd.IntN(most+1))
	for i := range args {
		args[i] = g.hostile()
	}
	return args
}

func (g *commandGen) keys(most int) []string {
	args := make([]string, g.rnd.IntN(most+1))
	for i := range args {
		args[i] = g.key()
	}
	return args
}

func (g *commandGen) pairs(most int) (args []string) {
	for range g.rnd.IntN(most + 1) {
		args = append(args, g.key(), g.value())
	}
	return args
}

// next is the next command.
func (g *commandGen) next() []string {
	switch g.rnd.IntN(14) {
	case 12, 13:
		return g.moveCommand()
	case 0, 1:
		return append(g.name(g.garbage[g.rnd.IntN(len(g.garbage))]), g.hostiles(5)...)
	case 2:
		return g.sketchCommand()
	case 3:
		return g.sessionCommand()
	case 4, 5:
		return g.counterCommand()
	case 6, 7:
		return g.expireCommand()
	case 8, 9:
		return g.setCommand()
	}
	return g.keyCommand()
}

// name splits the name of a row into words and writes them in any case.
func (g *commandGen) name(row string) []string {
	words := strings.Split(row, "|")
	if g.chance(50) {
		for i := range words {
			words[i] = strings.ToUpper(words[i])
		}
	}
	return words
}

func (g *commandGen) counterCommand() []string {
	switch g.rnd.IntN(6) {
	case 0:
		return []string{"INCR", g.key()}
	case 1:
		return []string{"DECR", g.key()}
	case 2:
		return []string{"DECRBY", g.key(), g.integer()}
	case 3:
		return []string{"INCRBYFLOAT", g.key(), g.float()}
	}
	return []string{"INCRBY", g.key(), g.integer()}
}

func (g *commandGen) setCommand() []string {
	switch g.rnd.IntN(11) {
	case 9:
		return []string{"SETRANGE", g.key(), g.pick("0", "1", "3", "20", "-1", "536870912", "1073741824",
			g.hostileNumber()), g.pick("", "7", g.value())}
	case 10:
		args := []string{"GETEX", g.key()}
		if g.chance(30) {
			return append(args, g.word("persist"))
		}
		for range g.rnd.IntN(3) {
			args = append(args, g.setOption()...)
		}
		return args
	case 0:
		return []string{"SETNX", g.key(), g.value()}
	case 1:
		return []string{"SETEX", g.key(), g.time(), g.value()}
	case 2:
		return []string{"PSETEX", g.key(), g.time(), g.value()}
	case 3:
		return append([]string{"MSET"}, g.pairs(4)...)
	case 4:
		return append([]string{"MSETNX"}, g.pairs(3)...)
	case 5:
		return []string{"GETSET", g.key(), g.value()}
	}
	args := []string{"SET", g.key(), g.value()}
	for range g.rnd.IntN(4) {
		args = append(args, g.setOption()...)
	}
	return args
}

func (g *commandGen) expireCommand() []string {
	if g.chance(50) {
		return []string{g.pick("TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "PERSIST"), g.key()}
	}
	args := []string{g.pick("EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT"), g.key(), g.time()}
	for range g.rnd.IntN(3) {
		args = append(args, g.word(g.pick("nx", "xx", "gt", "lt", "gt", "lt", "foo")))
	}
	return args
}

func (g *commandGen) keyCommand() []string {
	switch g.rnd.IntN(13) {
	case 9, 10:
		return g.objectCommand()
	case 0:
		return append([]string{g.pick("DEL", "UNLINK")}, g.keys(3)...)
	case 1:
		return append([]string{g.pick("EXISTS", "TOUCH")}, g.keys(4)...)
	case 2:
		return []string{"TYPE", g.key()}
	case 3:
		return []string{"STRLEN", g.key()}
	case 4:
		return []string{"GETDEL", g.key()}
	case 5:
		return append([]string{"MGET"}, g.keys(5)...)
	case 6:
		return []string{"KEYS", g.pick("*", "k*", "[k-l]?", "**", "", "?", "[^k]*", "k[1-3]", `\k1`, "[")}
	case 7:
		return []string{"SCAN", "0", "COUNT", "100000", "MATCH", g.pick("*", "k*", "?*", "[")}
	case 8:
		return []string{g.pick("RANDOMKEY", "DBSIZE")}
	}
	return []string{"GET", g.key()}
}

// objectCommand asks how a value is kept, of keys that only SET and INCRBY write: what SETRANGE and
// INCRBYFLOAT made Redis keeps as they left it, countd as SET would.
func (g *commandGen) objectCommand() []string {
	key := g.pick("o1", "o2", "o3")
	switch g.rnd.IntN(6) {
	case 0:
		return []string{"SET", key, g.value()}
	case 1:
		return []string{"SET", key, strings.Repeat("x", 40+g.rnd.IntN(10))}
	case 2:
		return []string{"INCRBY", key, g.pick("1", "-1", "9999", "10000", "-10000", g.integer())}
	}
	args := []string{"OBJECT", g.pick("encoding", "REFCOUNT", "Encoding"), g.pick(key, key, key, "none")}
	return append(args, g.hostiles(g.pickInt(0, 0, 0, 2))...)
}

func (g *commandGen) pickInt(choices ...int) int { return choices[g.rnd.IntN(len(choices))] }

// moveCommand is one that takes whole values from key to key, or parts of them.
func (g *commandGen) moveCommand() []string {
	switch g.rnd.IntN(12) {
	case 8:
		return []string{"DUMP", g.key()}
	case 9, 10, 11:
		args := []string{"RESTORE", g.key(), g.pick("0", g.time()), g.payload()}
		for range g.rnd.IntN(3) {
			args = append(args, [][]string{{g.word("replace")}, {g.word("replace")}, {g.word("absttl")},
				{g.word(g.pick("idletime", "freq")), g.integer()}, {g.hostile()}}[g.rnd.IntN(5)]...)
		}
		return args
	case 0, 1:
		return []string{g.pick("RENAME", "RENAMENX"), g.key(), g.key()}
	case 2, 3:
		args := []string{"COPY", g.key(), g.key()}
		for range g.rnd.IntN(3) {
			args = append(args, [][]string{{g.word("replace")}, {g.word("replace")},
				{g.word("db"), g.database()}, {g.word("db"), g.database()}, {g.word("db")},
				{g.hostile()}}[g.rnd.IntN(6)]...)
		}
		return args
	case 4:
		return []string{"MOVE", g.key(), g.database()}
	case 5:
		return []string{"APPEND", g.key(), g.value()}
	}
	return []string{g.pick("GETRANGE", "SUBSTR"), g.key(), g.integer(), g.integer()}
}

// payload is one for RESTORE, of no other type than a string.
func (g *commandGen) payload() string {
	val := []byte(g.value())
	switch g.rnd.IntN(6) {
	case 0:
		return g.hostile()
	case 1:
		return string(rdb.AppendInt(nil, int64(g.rnd.Uint64()>>g.rnd.IntN(64))-1000))
	case 2: // damaged
		payload := rdb.AppendString(nil, val)
		payload[g.rnd.IntN(len(payload))] ^= byte(1 << g.rnd.IntN(8))
		return string(payload)
	case 3: // a hostile body with a good footer
		body := []byte{0, g.pickByte(0, 1, 5, 0x40, 0x41, 0x80, 0x81, 0x82, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xff)}
		for range g.rnd.IntN(20) {
			body = append(body, g.pickByte(0, 0, 1, 2, 5, 0x20, 0x40, 0xc1, 0xe0, byte(g.rnd.Uint32())))
		}
		return string(rdb.AppendFooter(body, 0))
	case 4: // compressed
		n := 3 + g.rnd.IntN(250)
		body := []byte{0, 0xc3, 5, 0x40 | byte((n+7)>>8), byte(n + 7), 0, g.pickByte('a', '1'), 0xe0, byte(n - 3), 0}
		return string(rdb.AppendFooter(body, 0))
	}
	return string(rdb.AppendString(nil, val))
}

func (g *commandGen) pickByte(choices ...byte) byte { return choices[g.rnd.IntN(len(choices))] }

func (g *commandGen) database() string {
	return g.pick("0", "1", "2", "15", "16", "-1", g.hostileNumber())
}

func (g *commandGen) sketchCommand() []string {
	elements := func() (e []string) {
		for range g.rnd.IntN(4) {
			e = append(e, g.pick("a", "b", "c", "d", "", "\x00", "e", "f"))
		}
		return e
	}
	switch g.rnd.IntN(10) {
	case 8:
		return []string{g.pick("RENAME", "RENAMENX", "COPY"), g.sketch(), g.sketch()}
	case 9:
		return []string{"COPY", g.sketch(), g.sketch(), "DB", g.database(), "REPLACE"}
	case 0, 1, 2:
		return append([]string{"PFADD", g.sketch()}, elements()...)
	case 3, 4:
		return []string{"PFCOUNT", g.sketch(), g.sketch(), "none"}[:2+g.rnd.IntN(3)]
	case 5:
		return []string{"PFMERGE", g.sketch(), g.sketch(), g.sketch()}[:2+g.rnd.IntN(3)]
	case 6:
		return []string{g.pick("DEL", "EXISTS", "TYPE", "INCR", "PERSIST", "TTL"), g.sketch()}
	}
	return []string{"SET", g.sketch(), g.value()}
}

func (g *commandGen) sessionCommand() []string {
	switch g.rnd.IntN(12) {
	case 11:
		return []string{g.pick("CLIENT", "CONFIG", "COMMAND", "FUNCTION", "OBJECT"), g.value(), g.value()}
	case 10:
		args := []string{"COMMAND", g.pick("GETKEYS", "GETKEYSANDFLAGS")}
		args = append(args, g.name(g.garbage[g.rnd.IntN(len(g.garbage))])...)
		return append(args, g.hostiles(5)...)
	case 0:
		return []string{"SELECT", g.database()}
	case 1:
		return []string{"HELLO", g.pick("2", "3", "3", "4", g.hostileNumber())}
	case 2:
		return []string{"RESET"}
	case 3:
		return []string{"CLIENT", g.pick("SETNAME", "setname"), g.value()}
	case 4:
		return []string{"CLIENT", "GETNAME"}
	case 5:
		return append([]string{g.pick("PING", "ECHO")}, g.hostiles(2)...)
	case 6:
		return append([]string{g.value()}, g.hostiles(6)...)
	case 7:
		return []string{"FLUSHDB"}
	case 8:
		return []string{"TIME"}
	}
	return []string{"SELECT", "0"}
}
