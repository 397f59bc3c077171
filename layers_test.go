package countd_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers says what each folder may import of countd. Imports point down only.
var layers = map[string][]string{
	"cmd/countd": {"config", "server", "engine"},
	"server":     {"config", "engine", "glob", "rdb"},
	"engine":     {"shards", "wal", "store", "hll", "hotkeys", "sketch", "glob"},
	"shards":     {},
	"wal":        {},
	"store":      {},
	"hll":        {},
	"hotkeys":    {"sketch"},
	"sketch":     {},
	"glob":       {},
	"rdb":        {},
	"config":     {},
	"bench":      {},
}

// private says which libraries belong to which folders alone.
var private = map[string][]string{
	"github.com/cockroachdb/pebble": {"engine", "wal", "store"},
	"github.com/panjf2000/gnet":     {"server"},
	"github.com/tidwall/redcon":     {"server"},
	"github.com/axiomhq":            {"hll"},
	"gonum.org/v1":                  {"bench"},
	"net":                           {"server", "config", "bench", "cmd/countd"},
}

// TestImportsPointDown reads the imports of every file. Test files may reach across layers (a test
// of the server opens a real engine), but not those of bench, which stays a client.
func TestImportsPointDown(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		layer := layerOf(filepath.ToSlash(filepath.Dir(path)))
		if layer == "" || (strings.HasSuffix(path, "_test.go") && layer != "bench") {
			return nil
		}
		seen[layer] = true
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, im := range f.Imports {
			name, _ := strconv.Unquote(im.Path.Value)
			if own, ok := strings.CutPrefix(name, "countd/"); ok {
				if to := layerOf(own); to != layer && !slices.Contains(layers[layer], to) {
					t.Errorf("%s imports %s", path, name)
				}
			}
			for lib, owners := range private {
				if (name == lib || strings.HasPrefix(name, lib+"/")) && !slices.Contains(owners, layer) {
					t.Errorf("%s imports %s, which is for %v alone", path, name, owners)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for layer := range layers {
		if !seen[layer] {
			t.Errorf("no Go file in %s", layer)
		}
	}
}

// layerOf returns the layer that a folder belongs to, "" if none.
func layerOf(dir string) string {
	for layer := range layers {
		if dir == layer || strings.HasPrefix(dir, layer+"/") {
			return layer
		}
	}
	return ""
}
