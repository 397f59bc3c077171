package engine

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"countd/glob"
)

func TestTheKeysOwnNameGoesBeforeTheFirstGlob(t *testing.T) {
	for _, c := range []struct{ globs, key, want string }{
		{"a* ab* ab", "ab", "ab"},
		{"a* ab* ab", "abc", "a*"},
		{"ab* a*", "abc", "ab*"},
		{"ab* a*", "ac", "a*"},
		{"ab* a*", "b", ""},
		{"* a", "a", "a"},
		{"*", "", "*"},
		{"** ?*", "", ""},
		{`a\* a*`, "a*", `a\*`},
		{`a\* a*`, "ax", "a*"},
		{`a\`, `a\`, `a\`},
		{`\a a`, "a", `\a`},
		{`a \a`, "a", "a"},
		{"[ab]x a?", "ax", "[ab]x"},
		{"k]", "k]", "k]"},
		{"user:*:likes", "user:7:likes", "user:*:likes"},
		{"user:*:likes", "user:7:views", ""},
	} {
		var list []*Contract
		for _, g := range strings.Fields(c.globs) {
			list = append(list, &Contract{Glob: g})
		}
		got, _ := newContractSet(list).of([]byte(c.key))
		if (got != nil) != (c.want != "") || got != nil && got.Glob != c.want {
			t.Errorf("%s: %q has %v, want %q", c.globs, c.key, got, c.want)
		}
	}
}

// plainContractOf is the rule as it is told to users.
func plainContractOf(list contractList, key []byte) *Contract {
	var first *Contract
	for i := range list {
		c := &list[i]
		name, rest := literalPrefix(c.Glob)
		if rest == "" && name == string(key) {
			return c
		}
		if first == nil && (c.Glob == "*" || rest != "" && glob.Match([]byte(c.Glob), key, false)) {
			first = c
		}
	}
	return first
}

func TestContractsOfRandomGlobs(t *testing.T) {
	seed := newSeed()
	t.Log("seed", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	draw := func(alphabet string, most int) string {
		b := make([]byte, rng.IntN(most+1))
		for i := range b {
			b[i] = alphabet[rng.IntN(len(alphabet))]
		}
		return string(b)
	}
	for range 3000 {
		var list contractList
		for range rng.IntN(12) {
			list.set(Contract{Glob: draw(`aabb*?[]^\`, 5)})
		}
		set := new(contracts).merged(list)
		for range 20 {
			key := []byte(draw(`ab*]\`, 4))
			want := plainContractOf(list, key)
			var got *Contract
			if set != nil {
				got, _ = set.of(key)
			}
			if (got != nil) != (want != nil) || got != nil && got.Glob != want.Glob {
				t.Fatalf("%v: %q has %v, want %v", list, key, got, want)
			}
		}
	}
}

func mustSet(t *testing.T, e *Engine, op *Op, text string) {
	t.Helper()
	c, err := ParseContract(words(text))
	if err == nil {
		err = e.SetContract(op, c)
	}
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func words(text string) (w [][]byte) {
	for _, s := range strings.Fields(text) {
		w = append(w, []byte(s))
	}
	return w
}

// globsOf lists the globs of all contracts in order, those of the configuration in parentheses.
func globsOf(t *testing.T, e *Engine) string {
	t.Helper()
	list, err := e.Contracts(&Op{})
	if err != nil {
		t.Fatal(err)
	}
	var globs []string
	for _, c := range list {
		if c.FromConfig {
			globs = append(globs, "("+c.Glob+")")
		} else {
			globs = append(globs, c.Glob)
		}
	}
	return strings.Join(globs, " ")
}

// TestContractsOfTheConfiguration: they come first, are not stored, and stand in for stored ones with
// the same glob, which are there again when they go.
func TestContractsOfTheConfiguration(t *testing.T) {
	fs := vfs.NewMem()
	open := func(lines ...string) *Engine {
		t.Helper()
		o := faultOptions(fs, nil)
		for _, line := range lines {
			c, err := ParseContract(words(line))
			if err != nil {
				t.Fatal(err)
			}
			o.Contracts = append(o.Contracts, c)
		}
		e, _, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	op := Op{}
	e := open()
	for _, text := range []string{"a* SHARDS 2", "b* SHARDS 3", "c* SHARDS 4"} {
		mustSet(t, e, &op, text)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open("d* SHARDS 5", "b* SHARDS 6", "b* SHARDS 7")
	if got := globsOf(t, e); got != "(d*) (b*) a* c*" {
		t.Error(got)
	}
	if c := e.contractOf([]byte("b")); c == nil || c.Shards != 7 {
		t.Errorf("%v: the last line of a glob counts", c)
	}
	if err := e.SetContract(&op, Contract{Glob: "b*"}); err != ErrContractFixed {
		t.Error(err)
	}
	if _, err := e.DelContract(&op, "b*"); err != ErrContractFixed {
		t.Error(err)
	}
	mustSet(t, e, &op, "e* SHARDS 8")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open()
	if got := globsOf(t, e); got != "a* b* c* e*" {
		t.Error(got)
	}
	if c := e.contractOf([]byte("b")); c == nil || c.Shards != 3 {
		t.Errorf("%v: the stored contract is back", c)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []Contract{{Glob: "k", Shards: MaxShards + 1}, {Glob: "k", HasMin: true, Min: 1, HasMax: true}} {
		o := faultOptions(vfs.NewMem(), nil)
		o.Contracts = []Contract{bad}
		_, _, err := Open(o)
		if refused := (*ContractError)(nil); !errors.As(err, &refused) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestContractsAreBounded: their number, and their globs; the largest list there can be survives a
// merge and a restart.
func TestContractsAreBounded(t *testing.T) {
	fs := vfs.NewMem()
	e, _, err := Open(faultOptions(fs, nil))
	if err != nil {
		t.Fatal(err)
	}
	op := Op{}
	long := func(i int) string { return fmt.Sprintf("%-*d", MaxGlobBytes, i) }
	set := func(c Contract) error {
		c.Min, c.Max, c.HasMin, c.HasMax = math.MinInt64, math.MaxInt64, true, true
		return e.SetContract(&op, c)
	}
	if err := set(Contract{Glob: long(0) + "x"}); err != ErrContractGlob {
		t.Error(err)
	}
	for i := range MaxContracts {
		if err := set(Contract{Glob: long(i)}); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := set(Contract{Glob: "more"}); err != ErrTooManyContracts {
		t.Error(err)
	}
	if err := set(Contract{Glob: long(7), StalenessMs: 7}); err != nil {
		t.Error("a contract of which there is one is replaced:", err)
	}
	want := globsOf(t, e)
	if err := e.Commit(op.Seen); err != nil {
		t.Fatal(err)
	}
	if err := e.mergeIfDue(); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if e, _, err = Open(faultOptions(fs, nil)); err != nil {
		t.Fatal(err)
	}
	if e.files.wal.Size() > 2<<10 {
		t.Error("the contracts are still in the log")
	}
	if globsOf(t, e) != want || e.contractOf([]byte(long(7))).StalenessMs != 7 {
		t.Error("other contracts came back")
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestAContractIsSeen: what tells of contracts waits for the log under always, also where no key was
// ever written, and so does a flush on the timer.
func TestAContractIsSeen(t *testing.T) {
	e, _, err := Open(faultOptions(vfs.NewMem(), nil))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	op, other := Op{}, Op{}
	mustSet(t, e, &op, "a*")
	if op.Seen <= e.Durable() {
		t.Error("SetContract need not wait")
	}
	if !e.anyListed() {
		t.Error("the flusher does not see the contract")
	}
	for what, read := range map[string]func() error{
		"Contracts":   func() error { _, err := e.Contracts(&other); return err },
		"ContractOf":  func() error { _, _, err := e.ContractOf(&other, []byte("b")); return err },
		"DelContract": func() error { _, err := e.DelContract(&other, "none"); return err },
	} {
		if other.Seen = 0; read() != nil || other.Seen <= e.Durable() {
			t.Errorf("%s need not wait", what)
		}
	}
	if err := e.Commit(op.Seen); err != nil || op.Seen > e.Durable() {
		t.Error("the contract is not durable:", err)
	}
}

func FuzzParseContract(f *testing.F) {
	f.Add("user:*\x00REPLIES\x00relaxed\x00SHARDS\x004")
	f.Add("k\x00min\x00-1\x00max\x009223372036854775807\x00tally\x00YES\x00staleness\x0010")
	f.Fuzz(func(t *testing.T, text string) {
		var words [][]byte
		for _, w := range strings.Split(text, "\x00") {
			words = append(words, []byte(w))
		}
		c, err := ParseContract(words)
		if err == nil {
			err = c.Check(true)
		}
		if refused := (*ContractError)(nil); err != nil {
			if err != ErrNotInteger && !errors.As(err, &refused) {
				t.Fatal(err)
			}
			return
		}
		d := decoder{b: appendContract(nil, &c)}
		if got := d.contract(); d.err != nil || got != c || len(d.b) > 0 {
			t.Fatalf("%+v came back as %+v, %v", c, got, d.err)
		}
	})
}
