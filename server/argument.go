package server

import "strings"

// argType is the type of an argument as COMMAND DOCS prints it.
type argType string

const (
	argString   argType = "string"
	argInteger  argType = "integer"
	argDouble   argType = "double"
	argKey      argType = "key"
	argPattern  argType = "pattern"
	argUnixTime argType = "unix-time"
	argToken    argType = "pure-token"
	argOneOf    argType = "oneof"
	argBlock    argType = "block"
)

// An argument describes one argument of a command for COMMAND DOCS and for the syntax line of the
// README's list. It plays no part in parsing.
type argument struct {
	name            string
	typ             argType
	keySpec         int // which of the command's key specs, counted from 1; 0 is none
	token           string
	summary         string
	since           string
	deprecatedSince string
	optional        bool
	multiple        bool
	multipleToken   bool
	args            []argument // of a oneof or a block
}

// syntax renders the arguments as Redis's documentation does: [optional], one | of | these,
// name [name ...].
func syntax(args []argument) string {
	var b strings.Builder
	for i := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(args[i].syntax())
	}
	return b.String()
}

func (a *argument) syntax() string {
	text := a.name
	switch a.typ {
	case argToken:
		text = ""
	case argBlock:
		text = syntax(a.args)
	case argOneOf:
		choices := make([]string, len(a.args))
		for i := range a.args {
			choices[i] = a.args[i].syntax()
		}
		text = strings.Join(choices, " | ")
	}
	if a.token != "" {
		text = strings.TrimSuffix(a.token+" "+text, " ")
	}
	if a.multiple {
		text += " [" + text + " ...]"
	}
	if a.optional {
		return "[" + text + "]"
	}
	return text
}
