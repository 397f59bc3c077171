package server

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the command list in the README")

const (
	listBegin = "<!-- commands -->"
	listEnd   = "<!-- /commands -->"
)

// commandList renders the command table as markdown, by groups in the table's order.
func commandList() string {
	var order []string
	groups := make(map[string]*strings.Builder)
	for _, c := range commands().all {
		if len(c.sub) > 0 && c.handler == nil { // a container is listed by its subcommands
			continue
		}
		b := groups[c.group]
		if b == nil {
			b = new(strings.Builder)
			groups[c.group] = b
			order = append(order, c.group)
		}
		name := strings.ToUpper(strings.ReplaceAll(c.name, "|", " "))
		b.WriteString("- `" + strings.TrimSpace(name+" "+syntax(c.args)) + "`: " +
			strings.TrimSuffix(c.summary, ".") + "\n")
	}
	var list strings.Builder
	for _, group := range order {
		title := strings.ToUpper(group[:1]) + group[1:]
		if group == "hyperloglog" {
			title = "HyperLogLog"
		}
		list.WriteString("\n**" + title + "**\n\n" + groups[group].String())
	}
	return list.String() + "\n"
}

// TestREADMEListsTheCommands fails when the list between the markers is not the table's. Run it
// with -update to write it.
func TestREADMEListsTheCommands(t *testing.T) {
	const path = "../README.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), listBegin)
	old, after, closed := strings.Cut(rest, listEnd)
	if !ok || !closed {
		t.Fatalf("README.md has no %s … %s", listBegin, listEnd)
	}
	want := "\n" + commandList()
	if old == want {
		return
	}
	if !*update {
		t.Fatal("README.md's command list is stale: go test ./server -run README -update")
	}
	text = []byte(before + listBegin + want + listEnd + after)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestSyntaxOfArguments(t *testing.T) {
	tests := map[string]string{
		"set": "key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds" +
			" | PXAT unix-time-milliseconds | KEEPTTL]",
		"mset":   "key value [key value ...]",
		"incrby": "key increment",
		"scan":   "cursor [MATCH pattern] [COUNT count] [TYPE type]",
		"ping":   "[message]",
	}
	for name, want := range tests {
		if got := syntax(lookup([]byte(name)).args); got != want {
			t.Errorf("%s %s\nwant %s", name, got, want)
		}
	}
}
