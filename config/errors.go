package config

import (
	"fmt"
	"sort"
	"strings"
)

// ErrorKind says what is wrong with an option.
type ErrorKind uint8

// What can be wrong.
const (
	UnknownOption   ErrorKind = iota // there is no such option
	ImmutableOption                  // CONFIG SET of an option that is fixed at the start
	DuplicateOption                  // named twice in one CONFIG SET
	BadValue                         // the value is refused; Reason says why
	BadSyntax                        // the line or the argument cannot be read; Reason says why
)

// Error is a refused option. Its text is a sentence for the person who starts the server; the server
// builds the reply to CONFIG SET from Kind, Option and Reason.
type Error struct {
	Kind   ErrorKind
	Option string   // as written where unknown or immutable, else the row's name; "" where none
	Reason string   // in Redis's words where Redis has them
	Value  []string // what was refused; nil where it is secret
	// Where is "countd.conf:12", "environment variable COUNTD_PORT" or "command line"; "" for
	// CONFIG SET.
	Where string
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Where != "" {
		b.WriteString(e.Where + ": ")
	}
	switch e.Kind {
	case UnknownOption:
		fmt.Fprintf(&b, "unknown option '%s'", e.Option)
		b.WriteString(didYouMean(e.Option))
		if hint := absent[strings.ToLower(e.Option)]; hint != "" {
			b.WriteString("; " + hint)
		}
	case BadSyntax:
		b.WriteString(e.Reason)
	default:
		if e.Option != "" {
			b.WriteString(e.Option + ": ")
		}
		b.WriteString(e.Reason)
		if e.Value != nil {
			fmt.Fprintf(&b, " (got '%s')", strings.Join(e.Value, " "))
		}
	}
	return b.String()
}

// absent explains options of redis.conf that people may bring along and that countd refuses.
var absent = map[string]string{
	"unixsocket":      "countd listens on TCP only",
	"tls-port":        "countd does not speak TLS",
	"replicaof":       "countd does not replicate",
	"slaveof":         "countd does not replicate",
	"cluster-enabled": "countd is no cluster",
	"rename-command":  "commands cannot be renamed",
	"aclfile":         "there are no users; requirepass sets one password",
	"user":            "there are no users; requirepass sets one password",
	"loadmodule":      "there are no modules",
}

// didYouMean names the options that resemble name, "" where none does.
func didYouMean(name string) string {
	near := nearest(name)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean --" + strings.Join(near, " or --") + "?"
}

// maxSuggestions bounds how many options an error names, maxSuggestName the names it looks for.
const (
	maxSuggestions = 3
	maxSuggestName = 64
)

// nearest returns the options within a third of the name's length in edits, or that name is the
// beginning of, nearest first.
func nearest(name string) []string {
	if name = strings.ToLower(name); len(name) > maxSuggestName {
		return nil
	}
	type match struct {
		name  string
		edits int
	}
	var found []match
	for i := range options {
		o := &options[i]
		d := edits(name, o.Name)
		if prefix := len(name) >= 3 && strings.HasPrefix(o.Name, name); prefix {
			d = min(d, 1)
		}
		if d <= max(1, len(name)/3) {
			found = append(found, match{o.Name, d})
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].edits < found[j].edits })
	var names []string
	for _, m := range found[:min(len(found), maxSuggestions)] {
		names = append(names, m.name)
	}
	return names
}

// edits counts the bytes to insert, delete, replace or swap with their neighbour to get from a to b
// (the optimal string alignment distance).
func edits(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replaced := d[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			d[i][j] = min(replaced, d[i-1][j]+1, d[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
