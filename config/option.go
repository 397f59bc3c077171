package config

import "strings"

// Kind says how the text of an option is read.
type Kind uint8

// The kinds of options.
const (
	KindString Kind = iota // any bytes
	KindInt                // a decimal integer between Min and Max
	KindBool               // yes or no
	KindMemory             // bytes, with the units of redis.conf: 512, 64kb, 1mb, 2g
	KindEnum               // one of Choices
	KindList               // any number of words
	KindLines              // any number of lines of words; see lines.go
)

// Runtime says what CONFIG SET may do with an option.
type Runtime uint8

// What CONFIG SET may do.
const (
	// Fixed options are refused, as Redis refuses them ("immutable").
	Fixed Runtime = iota
	// Restart options are those that Redis can change while it runs and countd cannot: setting the
	// value they have is fine, so that scripts which restore a configuration work; another is refused.
	Restart
	// Changeable options change at once.
	Changeable
)

// Group is the heading under which --help prints an option.
type Group string

// The groups, in the order of --help.
const (
	GroupNetwork    Group = "Network"
	GroupDurability Group = "Data and durability"
	GroupLimits     Group = "Limits"
	GroupHotKeys    Group = "Hot keys"
	GroupLog        Group = "Process and log"
	GroupCompat     Group = "Accepted for compatibility, without effect"
)

// Option is one row of the table. Rows are shared and must not be modified.
type Option struct {
	Name     string
	Kind     Kind
	Default  string // canonical text, as CONFIG GET prints it
	Min, Max int64  // inclusive; KindInt and KindMemory
	Choices  []string
	Runtime  Runtime
	Group    Group
	Arg      string // the value's name in --help, such as "ADDR..."
	Help     string // one line

	// required: the value may not be empty; KindString.
	required bool
	// refused, where set, is the reason for every value that is refused, instead of Redis's words.
	refused string
	// repeats: further lines of one source add to the value instead of replacing it.
	repeats bool
	// check, where set, reads the words of a value instead of the kind's own reader. It returns the
	// canonical text, or a reason. cur is the value that is replaced.
	check func(cur string, words []string) (canonical string, reason string)

	index int // position in the table and in a Config's values
}

// multi reports whether the option takes several words.
func (o *Option) multi() bool { return o.Kind == KindList || o.Kind == KindLines || o.check != nil }

// Table returns the options in the order of --help. The slice is the caller's, the rows are shared.
func Table() []Option { return append([]Option(nil), options...) }

// options and byName are built once and never written again.
var (
	options = buildTable()
	byName  = indexTable(options)
)

func buildTable() []Option {
	var t []Option
	for _, part := range [][]Option{networkOptions(), durabilityOptions(), contractOptions(), limitOptions(),
		hotKeyOptions(), processOptions(), compatOptions()} {
		t = append(t, part...)
	}
	for i := range t {
		t[i].index = i
	}
	return t
}

func indexTable(t []Option) map[string]*Option {
	m := make(map[string]*Option, len(t))
	for i := range t {
		m[t[i].Name] = &t[i]
	}
	return m
}

// lookup finds an option by its name in any case, as Redis does.
func lookup(name string) (*Option, bool) {
	o, ok := byName[strings.ToLower(name)]
	return o, ok
}

// mustLookup is for names that are written in the program.
func mustLookup(name string) *Option {
	o, ok := byName[name]
	if !ok {
		panic("config: no such option: " + name)
	}
	return o
}
