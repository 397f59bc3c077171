package engine

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// setDurabilities gives keys a durability by globs, and those of other contracts the server's.
func setDurabilities(t *testing.T, e *Engine, byGlob map[string]FsyncPolicy) {
	t.Helper()
	op := Op{NowMs: e.NowMs()}
	list, err := e.Contracts(&op)
	for _, c := range list {
		if _, kept := byGlob[c.Glob]; !kept {
			_, derr := e.DelContract(&op, c.Glob)
			err = errors.Join(err, derr)
		}
	}
	for glob, d := range byGlob {
		err = errors.Join(err, e.SetContract(&op, Contract{Glob: glob, Durability: d}))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func openPolicy(t *testing.T, fs vfs.FS, p FsyncPolicy) *Engine {
	t.Helper()
	o := faultOptions(fs, nil)
	o.Policy = p
	e, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestSeenIsWhatAReplyWaitsFor: every command raises Op.Seen where a key that it touches has the
// durability always, by the server's policy or by its contract, and only there.
func TestSeenIsWhatAReplyWaitsFor(t *testing.T) {
	keys := func(names ...string) (b [][]byte) {
		for _, n := range names {
			b = append(b, []byte(n))
		}
		return b
	}
	one := func(name string) []byte { return []byte(name) }
	commands := []struct {
		name string
		run  func(e *Engine, op *Op, k string) error
	}{
		{"IncrBy", func(e *Engine, op *Op, k string) error { _, err := e.IncrBy(op, one(k+"new"), 1); return err }},
		{"IncrBy again", func(e *Engine, op *Op, k string) error { _, err := e.IncrBy(op, one(k+"n"), 1); return err }},
		{"IncrBy refused", func(e *Engine, op *Op, k string) error {
			_, err := e.IncrBy(op, one(k+"s"), 1)
			return is(err, ErrNotInteger)
		}},
		{"IncrByRun", func(e *Engine, op *Op, k string) error {
			_, err := e.IncrByRun(op, one(k+"n"), []int64{1, 2}, make([]int64, 2))
			return err
		}},
		{"IncrBy and Get of a hot counter", func(e *Engine, op *Op, k string) error {
			op.Writer = e.NewWriter()
			if !e.promote(0, one(k+"n")) {
				return errors.New("not promoted")
			}
			_, err := e.IncrBy(op, one(k+"n"), 1) // opens it for the epoch
			op.Seen = 0
			_, err2 := e.IncrBy(op, one(k+"n"), 1)
			written := op.Seen
			op.Seen = 0
			v, err3 := e.Get(op, one(k+"n"))
			if op.Seen != written || v.Int != 3 {
				return fmt.Errorf("Get answers %d and waits for %d, IncrBy for %d", v.Int, op.Seen, written)
			}
			return errors.Join(err, err2, err3)
		}},
		{"IncrByFloat", func(e *Engine, op *Op, k string) error {
			_, err := e.IncrByFloat(op, one(k+"n"), one("1"))
			return err
		}},
		{"Get", func(e *Engine, op *Op, k string) error { _, err := e.Get(op, one(k+"n")); return err }},
		{"Get absent", func(e *Engine, op *Op, k string) error {
			_, err1 := e.GetDel(op, one(k+"n"))
			op.Seen = 0
			_, err2 := e.Get(op, one(k+"n"))
			return errors.Join(err1, err2)
		}},
		{"Get expired", func(e *Engine, op *Op, k string) error {
			_, err := e.Expire(op, one(k+"n"), op.NowMs+1, 0)
			later := Op{NowMs: op.NowMs + 2}
			_, err2 := e.Get(&later, one(k+"n"))
			op.Seen = later.Seen
			return errors.Join(err, err2)
		}},
		{"MGet", func(e *Engine, op *Op, k string) error {
			_, err := e.MGet(op, keys("no:n", k+"n"))
			return err
		}},
		{"Set", func(e *Engine, op *Op, k string) error {
			_, _, err := e.Set(op, one(k+"x"), one("v"), SetOptions{})
			return err
		}},
		{"Set NX", func(e *Engine, op *Op, k string) error {
			_, _, err := e.Set(op, one(k+"n"), one("v"), SetOptions{Cond: SetNX})
			return err
		}},
		{"MSet", func(e *Engine, op *Op, k string) error {
			_, err := e.MSet(op, keys("no:n", "1", k+"n", "2"), false)
			return err
		}},
		{"MSetNX", func(e *Engine, op *Op, k string) error {
			_, err := e.MSet(op, keys(k+"n", "1", "no:n", "2"), true)
			return err
		}},
		{"GetEx", func(e *Engine, op *Op, k string) error { _, err := e.GetEx(op, one(k+"n"), NoExpiry); return err }},
		{"Strlen", func(e *Engine, op *Op, k string) error { _, err := e.Strlen(op, one(k+"n")); return err }},
		{"SetRange", func(e *Engine, op *Op, k string) error {
			_, err := e.SetRange(op, one(k+"n"), 1, one("1"))
			return err
		}},
		{"Del", func(e *Engine, op *Op, k string) error {
			_, err := e.Del(op, keys("no:n", k+"n"))
			return err
		}},
		{"Del of nothing", func(e *Engine, op *Op, k string) error {
			_, err := e.Del(op, keys(k+"n"))
			op.Seen = 0
			_, err2 := e.Del(op, keys("no:none", k+"n"))
			return errors.Join(err, err2)
		}},
		{"Exists", func(e *Engine, op *Op, k string) error {
			_, err := e.Exists(op, keys("no:n", k+"n"))
			return err
		}},
		{"TypeOf", func(e *Engine, op *Op, k string) error { _, err := e.TypeOf(op, one(k+"n")); return err }},
		{"ExpireAt", func(e *Engine, op *Op, k string) error { _, _, err := e.ExpireAt(op, one(k+"n")); return err }},
		{"Persist", func(e *Engine, op *Op, k string) error { _, err := e.Persist(op, one(k+"n")); return err }},
		{"PFAdd", func(e *Engine, op *Op, k string) error { _, err := e.PFAdd(op, one(k+"h"), keys("x")); return err }},
		{"PFCount", func(e *Engine, op *Op, k string) error {
			_, err := e.PFAdd(op, one(k+"h"), keys("x"))
			op.Seen = 0
			_, err2 := e.PFCount(op, keys("no:h", k+"h"))
			return errors.Join(err, err2)
		}},
		{"PFMerge into", func(e *Engine, op *Op, k string) error { return e.PFMerge(op, one(k+"h"), keys("no:h")) }},
		{"PFMerge from", func(e *Engine, op *Op, k string) error { return e.PFMerge(op, one("no:h"), keys(k+"h")) }},
	}
	for _, policy := range []FsyncPolicy{FsyncNo, FsyncEverySec, FsyncAlways} {
		for key, waits := range map[string]bool{
			"always:": true, "everysec:": false, "no:": false, "plain:": policy == FsyncAlways,
		} {
			for _, c := range commands {
				e := openPolicy(t, vfs.NewMem(), policy)
				setDurabilities(t, e, map[string]FsyncPolicy{
					"always:*": FsyncAlways, "everysec:*": FsyncEverySec, "no:*": FsyncNo})
				op := Op{NowMs: e.NowMs()}
				_, err := e.MSet(&op, keys("no:n", "1", key+"n", "1", key+"s", "abc"), false)
				_, err2 := e.PFAdd(&op, []byte("no:h"), keys("x"))
				op.Seen = 0
				if err = errors.Join(err, err2, c.run(e, &op, key)); err != nil {
					t.Fatal(c.name, err)
				}
				if (op.Seen > 0) != waits || op.Seen > Epoch(e.epoch.Load()) {
					t.Errorf("policy %d: %s of %s: a reply waits for %d", policy, c.name, key, op.Seen)
				}
				if err := e.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// is returns nil where err is want.
func is(err, want error) error {
	if errors.Is(err, want) {
		return nil
	}
	return fmt.Errorf("%w, want %w", err, want)
}

// TestWhatTellsOfAllKeysWaits: a count or a list of keys waits where there may be keys that do, and
// so does what deletes them all.
func TestWhatTellsOfAllKeysWaits(t *testing.T) {
	commands := map[string]func(e *Engine, op *Op) error{
		"DBSize":    func(e *Engine, op *Op) error { _, err := e.DBSize(op); return err },
		"Keys":      func(e *Engine, op *Op) error { return e.Keys(op, func([]byte) {}) },
		"Scan":      func(e *Engine, op *Op) error { _, err := e.Scan(op, 0, 10, func([]byte, Type) {}); return err },
		"RandomKey": func(e *Engine, op *Op) error { _, _, err := e.RandomKey(op); return err },
		"FlushDB":   func(e *Engine, op *Op) error { return e.FlushDB(op) },
		"FlushAll":  func(e *Engine, op *Op) error { return e.FlushAll(op) },
	}
	for name, run := range commands {
		for _, policy := range []FsyncPolicy{FsyncOff, FsyncNo, FsyncEverySec, FsyncAlways} {
			for _, key := range []FsyncPolicy{FsyncOff, FsyncNo, FsyncEverySec, FsyncAlways} {
				e := openPolicy(t, vfs.NewMem(), policy)
				op := Op{NowMs: e.NowMs()}
				mustIncr(t, e, &op, "n", 1)
				if policy != FsyncOff && key != FsyncOff {
					setDurabilities(t, e, map[string]FsyncPolicy{"x": key})
				}
				op.Seen = 0
				if err := run(e, &op); err != nil {
					t.Fatal(name, err)
				}
				waits := policy == FsyncAlways || policy != FsyncOff && key == FsyncAlways
				if (op.Seen > 0) != waits {
					t.Errorf("%s, policy %d, a contract of %d: waits for %d", name, policy, key, op.Seen)
				}
				if err := e.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
