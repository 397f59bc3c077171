package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// mustCheck checks "data" and demands that all is well.
func mustCheck(t *testing.T, what string, fs vfs.FS) *CheckReport {
	t.Helper()
	r, err := Check(CheckOptions{Dir: "data", FS: fs})
	if err != nil || len(r.Problems) > 0 {
		t.Fatalf("%s: %v, %+v", what, err, r)
	}
	return r
}

// TestCheckFindsNothingAfterACrash: a crash is no damage, whatever was not synced is lost; and
// what Check counts is what a start recovers.
func TestCheckFindsNothingAfterACrash(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	mem := newCrashFS()
	var crashes []*crashFS
	var mu sync.Mutex // other goroutines crash it too
	crashRNG := rand.New(rand.NewPCG(seed, 2))
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if len(crashes) < 150 && crashRNG.IntN(3) == 0 {
			cfg := vfs.CrashCloneCfg{UnsyncedDataPercent: 50 * crashRNG.IntN(3), RNG: crashRNG}
			crashes = append(crashes, mem.clone(cfg))
		}
		return nil
	}))
	for range 4 { // lives
		e, _, err := Open(faultOptions(fs, nil))
		if err != nil {
			t.Fatal(err)
		}
		op := Op{NowMs: e.NowMs()}
		for i := range 60 {
			op.DB = rng.IntN(3)
			_, err1 := e.IncrBy(&op, fmt.Append(nil, "n", rng.IntN(40)), 1)
			_, _, err2 := e.Set(&op, fmt.Append(nil, "filler", i%9), make([]byte, 200), SetOptions{})
			_, err3 := e.Del(&op, [][]byte{fmt.Append(nil, "n", rng.IntN(40))})
			if rng.IntN(20) == 0 {
				err3 = errors.Join(err3, e.FlushDB(&op))
			}
			if rng.IntN(2) == 0 {
				err3 = errors.Join(err3, e.Commit(op.Seen))
			}
			if err := errors.Join(err1, err2, err3); err != nil {
				t.Fatal(err)
			}
		}
		waitUntil(t, func() bool { return e.Stats().Merges > 0 })
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	merged := 0
	for i, fs := range append(crashes, mem.clone(vfs.CrashCloneCfg{})) {
		what := fmt.Sprintf("crash %d", i)
		if _, err := fs.Stat("data/IDENTITY"); err != nil {
			continue // it did not come so far
		}
		before := mustCheck(t, what, fs)
		e, rec, err := Open(faultOptions(fs, nil))
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		sum := int64(0)
		for _, n := range before.Keys {
			sum += n
		}
		if rec.Keys != sum || rec.StoreKeys != before.StoredKeys {
			t.Fatalf("%s: %d keys recovered, %d of them stored; Check counts %d and %d", what, rec.Keys,
				rec.StoreKeys, sum, before.StoredKeys)
		}
		if _, err := Check(CheckOptions{Dir: "data", FS: fs}); !errors.Is(err, ErrLocked) {
			t.Fatalf("%s: Check beside a server: %v", what, err)
		}
		if err := e.Close(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		after := mustCheck(t, what+", then closed", fs)
		if before.Keys != after.Keys {
			t.Fatalf("%s: %v keys, before %v", what, after.Keys, before.Keys)
		}
		if after.Tables > 0 {
			merged++
		}
	}
	t.Logf("%d crashes, %d with tables", len(crashes), merged)
	if len(crashes) < 30 || merged < 10 {
		t.Error("that is too little")
	}
}

// TestCheckOfABackupWritesNothing: it may lie where nothing can be written.
func TestCheckOfABackupWritesNothing(t *testing.T) {
	mem := vfs.NewMem()
	e, _, _ := backupLife(t, mem, nil)
	path, err := e.Backup()
	if err != nil {
		t.Fatal(err)
	}
	r, err := Check(CheckOptions{Dir: path, FS: errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose {
			t.Errorf("operation %d on %s", op.Kind, op.Path)
		}
		return nil
	}))})
	if err != nil || len(r.Problems) > 0 || !r.Backup || r.Made.IsZero() {
		t.Errorf("%+v, %v", r, err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCheckOfWhatIsNoDataDirectory.
func TestCheckOfWhatIsNoDataDirectory(t *testing.T) {
	if _, err := Check(CheckOptions{Dir: t.TempDir()}); !errors.Is(err, ErrNoData) {
		t.Error(err)
	}
	if _, err := Check(CheckOptions{Dir: filepath.Join(t.TempDir(), "none")}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
