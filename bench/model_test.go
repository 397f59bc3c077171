package main

import (
	"bytes"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"countd/bench/model"
)

var update = flag.Bool("update", false, "rewrite the table of the model in ARCHITECTURE.md")

const (
	bendsBegin = "<!-- model -->\n"
	bendsEnd   = "<!-- /model -->"
	docs       = "../docs"
)

// TestDocsAreWhatTheModelPrints fails when docs/many-cores.* are not what `bench model` makes.
func TestDocsAreWhatTheModelPrints(t *testing.T) {
	svg := filepath.Join(t.TempDir(), "plot.svg")
	var out, errs bytes.Buffer
	if code := run([]string{"model", "--svg", svg}, &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, &errs)
	}
	drawn, err := os.ReadFile(svg)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string][]byte{"many-cores.txt": out.Bytes(), "many-cores.svg": drawn}
	for name, want := range made {
		got, err := os.ReadFile(filepath.Join(docs, name))
		if err != nil {
			t.Fatal(err)
		}
		if !sameButForRounding(string(got), string(want)) {
			t.Errorf("docs/%s is stale: make model", name)
		}
	}
}

// sameButForRounding compares texts whose numbers may differ in the last digits, as they do between
// processors that fuse multiplications with additions and those that do not.
func sameButForRounding(a, b string) bool {
	number := regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?`)
	if number.ReplaceAllString(a, "0") != number.ReplaceAllString(b, "0") {
		return false
	}
	all := number.FindAllString(b, -1)
	for i, s := range number.FindAllString(a, -1) {
		x, _ := strconv.ParseFloat(s, 64)
		y, _ := strconv.ParseFloat(all[i], 64)
		if math.Abs(x-y) > 0.002*max(math.Abs(y), 1) {
			return false
		}
	}
	return true
}

func TestSameButForRoundingSeesADifference(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"L1.001,20 x", "L1.002,20 x", true},
		{"L1.001,20 x", "L1.101,20 x", false},
		{"4.20 12.6", "4.20 12.7", false},
		{"4.20 12.6", "4.20 12.6 1", false},
		{"a 1", "b 1", false},
	} {
		if sameButForRounding(c.a, c.b) != c.same {
			t.Errorf("%q and %q: not %v", c.a, c.b, c.same)
		}
	}
}

// TestArchitectureHasTheBendsOfTheModel fails when the table between the markers is not as computed.
// Run it with -update to write it.
func TestArchitectureHasTheBendsOfTheModel(t *testing.T) {
	const path = "../ARCHITECTURE.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), bendsBegin)
	old, after, closed := strings.Cut(rest, bendsEnd)
	if !ok || !closed {
		t.Fatalf("ARCHITECTURE.md has no %s … %s", bendsBegin, bendsEnd)
	}
	want := model.Defaults().Bends(plotReads)
	if sameButForRounding(old, want) {
		return
	}
	if !*update {
		t.Fatal("ARCHITECTURE.md's table of the model is stale: make model")
	}
	text = []byte(before + bendsBegin + want + bendsEnd + after)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestModelRefusesWhatMeansNothing(t *testing.T) {
	for _, argv := range [][]string{
		{"extra"}, {"--line", "sparc"}, {"--line", "0"}, {"--line", "NaN"}, {"--line", "1e300"},
		{"--cost-p64", "0"}, {"--cost-p1", "Inf"}, {"--lock-moves", "0.5"}, {"--overlap", "NaN"},
		{"--cores", ""}, {"--cores", "0"}, {"--cores", "4,2"}, {"--cores", "2,2"},
		{"--cores", "1025"}, {"--reads", "1.1"}, {"--reads", "-0.1"}, {"--reads", "NaN"},
		{"--reads", strings.Repeat("0,", 40) + "0"}, {"--svg", "x.svg", "--cores", "4"},
	} {
		var errs bytes.Buffer
		if code := run(append([]string{"model"}, argv...), io.Discard, &errs); code != 2 {
			t.Errorf("%q: exit %d, %s", argv, code, &errs)
		}
	}
	if code := run([]string{"model", "--svg", t.TempDir()}, io.Discard, io.Discard); code != 1 {
		t.Errorf("a folder as the plot: exit %d", code)
	}
}

func TestModelTakesOtherParameters(t *testing.T) {
	var plain, other bytes.Buffer
	if code := run([]string{"model", "--cores", "64", "--reads", "0,1"}, &plain, &plain); code != 0 {
		t.Fatalf("exit %d: %s", code, &plain)
	}
	argv := []string{"model", "--cores", "64", "--reads", "0,1", "--line", "25.5", "--cost-p64", "300"}
	if code := run(argv, &other, &other); code != 0 {
		t.Fatalf("exit %d: %s", code, &other)
	}
	for _, word := range []string{"25.5 ns", "a command at P=64: 300 ns", "reads 100%"} {
		if !strings.Contains(other.String(), word) || word != "reads 100%" &&
			strings.Contains(plain.String(), word) {
			t.Errorf("%q is missing, or there without being asked for:\n%s", word, &other)
		}
	}
}
