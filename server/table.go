package server

import (
	"bytes"
	"strings"
	"sync"
)

// A commandTable finds the row of a command by its name.
//
// Names of up to 16 bytes, nearly all, are folded to lower case eight bytes at a time and looked
// up in a hash table without collisions (build tries multipliers until there are none), so that a
// lookup is a multiplication and one comparison. Longer names are found in a map.
type commandTable struct {
	rows  []command  // sorted as listed; containers hold their subcommands
	all   []*command // every row and subcommand by id
	mul   uint64
	short [tableSlots]tableSlot
	long  map[string]*command
}

const (
	tableSlotBits = 10
	tableSlots    = 1 << tableSlotBits
)

type tableSlot struct {
	lo, hi uint64 // the name's bytes, folded
	cmd    *command
}

// The table is built once, on first use, because its handlers refer to it; it never changes after.
var builtTable struct {
	once  sync.Once
	table *commandTable
}

func commands() *commandTable {
	builtTable.once.Do(func() { builtTable.table = buildTable(tableRows()) })
	return builtTable.table
}

// tableRows returns all rows in the order in which COMMAND and the README list them.
func tableRows() []command {
	var rows []command
	for _, group := range [][]command{
		stringCommands(), setCommands(), genericCommands(), moveCommands(), objectCommands(),
		expireCommands(), hllCommands(), cntCommands(), hotCommands(), connectionCommands(),
		clientCommands(), serverCommands(), saveCommands(), introspectionCommands(),
	} {
		rows = append(rows, group...)
	}
	return rows
}

func buildTable(rows []command) *commandTable {
	t := &commandTable{rows: rows, long: make(map[string]*command)}
	for i := range t.rows {
		t.add(&t.rows[i])
	}
	for t.mul = 0x9E3779B97F4A7C15; !t.place(); t.mul += 2 {
	}
	return t
}

// add completes a row and its subcommands and numbers them.
func (t *commandTable) add(c *command) {
	c.id = len(t.all)
	t.all = append(t.all, c)
	c.setKeyRange()
	c.setCategories()
	for i := range c.sub {
		t.add(&c.sub[i])
	}
}

// place fills the slots with the multiplier mul and reports whether no two names met.
func (t *commandTable) place() bool {
	t.short = [tableSlots]tableSlot{}
	for i := range t.rows {
		c := &t.rows[i]
		if len(c.name) > 16 {
			t.long[c.name] = c
			continue
		}
		lo, hi := foldName([]byte(c.name))
		slot := &t.short[t.slot(lo, hi)]
		if slot.cmd != nil {
			return false
		}
		*slot = tableSlot{lo, hi, c}
	}
	return true
}

func (t *commandTable) slot(lo, hi uint64) uint64 {
	return ((lo ^ hi*0xD6E8FEB86659FD93) * t.mul) >> (64 - tableSlotBits)
}

// foldName packs up to 16 bytes into two words, A to Z as a to z.
func foldName(name []byte) (lo, hi uint64) {
	n := min(len(name), 8)
	for i := n - 1; i >= 0; i-- {
		lo = lo<<8 | uint64(name[i])
	}
	for i := len(name) - 1; i >= 8; i-- {
		hi = hi<<8 | uint64(name[i])
	}
	return foldWord(lo), foldWord(hi)
}

// foldWord makes each byte A to Z of w lower case. A byte below 128 has, after adding 128-'A', its
// top bit set where it is at least 'A', and after adding 127-'Z' where it is above 'Z'.
func foldWord(w uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	low := w &^ tops
	upper := (low + ones*(128-'A')) &^ (low + ones*(127-'Z')) &^ w & tops
	return w | upper>>2
}

// lookup finds a command by its name, in any case, without allocating; nil where there is none.
func lookup(name []byte) *command { return commands().lookup(name) }

func (t *commandTable) lookup(name []byte) *command {
	if len(name) > 16 {
		return t.long[strings.ToLower(string(name[:min(len(name), 64)]))]
	}
	lo, hi := foldName(name)
	slot := &t.short[t.slot(lo, hi)]
	if slot.lo == lo && slot.hi == hi && slot.cmd != nil && len(slot.cmd.name) == len(name) {
		return slot.cmd
	}
	return nil
}

// subcommand finds a subcommand of a container by its name in any case.
func (c *command) subcommand(name []byte) *command {
	for i := range c.sub {
		if sub := &c.sub[i]; equalFold(name, sub.name[len(c.name)+1:]) {
			return sub
		}
	}
	return nil
}

// resolve finds the row that serves a command: that of its subcommand where it has any. It is nil
// where the command or the subcommand does not exist; unknownCommand then says so.
func resolve(args [][]byte) *command {
	c := lookup(args[0])
	if c != nil && len(c.sub) > 0 && len(args) > 1 {
		return c.subcommand(args[1])
	}
	return c
}

// lookupFull finds a command or, written as container|name, a subcommand.
func lookupFull(name []byte) *command {
	container, sub, cut := bytes.Cut(name, []byte("|"))
	c := lookup(container)
	if c != nil && cut {
		return c.subcommand(sub)
	}
	return c
}

// numCommands is the number of rows and subcommands: ids are below it.
func numCommands() int { return len(commands().all) }
