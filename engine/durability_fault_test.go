package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestWhileWritesAreRefused: reads of what is not durable are refused where the key waits, or, after a
// failed sync, where anything was promised of it.
func TestWhileWritesAreRefused(t *testing.T) {
	for _, policy := range []FsyncPolicy{FsyncNo, FsyncEverySec, FsyncAlways} {
		var full, failing atomic.Bool
		fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			switch op.Kind {
			case errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpFilePreallocate, errorfs.OpCreate:
				if full.Load() {
					return syscall.ENOSPC
				}
			case errorfs.OpFileSync, errorfs.OpFileSyncData:
				if failing.Load() {
					return errors.New("injected")
				}
			}
			return nil
		}))
		e, _ := openWith(t, fs, policy, func(o *Options) {})
		op := Op{NowMs: e.NowMs()}
		old, n := "always:old", ownPartitions(e, "always:old")
		mustIncr(t, e, &op, old, 1)
		if err := e.Commit(Epoch(e.epoch.Load())); err != nil {
			t.Fatal(err)
		}
		incr := func(want int64) {
			t.Helper()
			for glob := range mixedKeys {
				mustIncr(t, e, &op, strings.TrimSuffix(glob, "*")+n, want)
			}
		}
		reads := func(want error, refused ...string) {
			t.Helper()
			op := Op{NowMs: e.NowMs()}
			for _, key := range []string{old, "always:" + n, "everysec:" + n, "no:" + n} {
				_, err := e.Get(&op, []byte(key))
				_, err2 := e.MGet(&op, [][]byte{[]byte(old), []byte(key)})
				bad := err != nil
				if bad != slices.Contains(refused, key) || bad && !errors.Is(err, want) || !errors.Is(err2, err) {
					t.Errorf("policy %d: reads of %s: %v, %v", policy, key, err, err2)
				}
			}
			if _, err := e.DBSize(&op); !errors.Is(err, want) {
				t.Errorf("policy %d: DBSIZE: %v", policy, err)
			}
			if op.Seen > e.Durable() {
				t.Errorf("policy %d: a reply would wait for %d", policy, op.Seen)
			}
		}
		incr(1)
		full.Store(true)
		if err := e.Commit(math.MaxUint64); !errors.Is(e.Err(), ErrDiskFull) {
			t.Fatal(err)
		}
		reads(ErrDiskFull, "always:"+n)
		full.Store(false)
		if err := e.Commit(math.MaxUint64); err != nil {
			t.Fatal(err)
		}
		incr(2)
		failing.Store(true)
		if err := e.Commit(math.MaxUint64); !errors.Is(e.Err(), ErrSyncFailed) {
			t.Fatal(err)
		}
		reads(ErrSyncFailed, "always:"+n, "everysec:"+n)
		if err := e.Close(); !errors.Is(err, ErrSyncFailed) {
			t.Fatal(err)
		}
	}
}

// ownPartitions returns a name behind the prefixes of mixedKeys with which each of these keys, and key,
// has a partition of its own: a read sees what was last written in its partition.
func ownPartitions(e *Engine, key string) (n string) {
	for i := 0; ; i++ {
		n = fmt.Sprintf("n%d", i)
		parts := map[int]bool{e.place(&Op{}, []byte(key)).part: true}
		for glob := range mixedKeys {
			parts[e.place(&Op{}, []byte(strings.TrimSuffix(glob, "*")+n)).part] = true
		}
		if len(parts) == len(mixedKeys)+1 {
			return n
		}
	}
}

// mixed is a life that increments a counter of each durability in turn, and goes on when the one that
// waits is durable.
func (l *countLife) mixed(fs vfs.FS, policy FsyncPolicy, rounds int, fatal func(string)) (err error) {
	o := faultOptions(fs, fatal)
	o.Policy = policy
	e, _, err := Open(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	w := newWaiter(e)
	op := Op{NowMs: e.NowMs()}
	for glob, d := range mixedKeys {
		if err := e.SetContract(&op, Contract{Glob: glob, Durability: d}); err != nil {
			return err
		}
	}
	filler := make([]byte, 300)
	for i := range rounds {
		_, _, err1 := e.Set(&op, fmt.Append(nil, "filler", i%4), filler, SetOptions{})
		_, err2 := e.IncrBy(&op, []byte("everysec:n"), 1)
		l.tried.Add(1)
		n, err3 := e.IncrBy(&op, []byte("always:n"), 1)
		_, err4 := e.IncrBy(&op, []byte("no:n"), 1)
		if err := errors.Join(err1, err2, err3, err4, w.wait(&op)); err != nil {
			return err
		}
		l.acked.Store(n)
	}
	return nil
}

// TestEveryIOFailsOnceWithMixedKeys is TestEveryIOFailsOnce with keys of all durabilities, whose commits
// the flusher leads, under every policy.
func TestEveryIOFailsOnceWithMixedKeys(t *testing.T) {
	for _, policy := range []FsyncPolicy{FsyncNo, FsyncEverySec, FsyncAlways} {
		for k := int32(0); ; k = nextIO(k) {
			mem := newCrashFS()
			index := errorfs.OnIndex(k)
			var life countLife
			err := life.live(func(fatal func(string)) error {
				return life.mixed(errorfs.Wrap(mem, index), policy, 12, fatal)
			})
			acked, left := life.acked.Load(), index.Load()
			if left >= 0 {
				if err != nil {
					t.Fatalf("without a fault: %v", err)
				}
				t.Logf("policy %d: %d I/Os failed, one in each life", policy, k)
				if k < 50 {
					t.Error("that is too few: the life does not do what it should")
				}
				break
			}
			c := openPolicy(t, mem.clone(vfs.CrashCloneCfg{}), policy)
			tried := life.tried.Load()
			x, y, z := getInt(t, c, "everysec:n"), getInt(t, c, "always:n"), getInt(t, c, "no:n")
			if y < acked || y > tried || x < y || y < z || x > z+1 {
				t.Fatalf("policy %d: I/O %d failed (%v): recovered %d, %d, %d, acknowledged %d, tried %d",
					policy, k, err, x, y, z, acked, tried)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
