package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestABackupThatIsNotCompleteIsRefused: a copy that misses or cuts a file, by Check and by
// Restore.
func TestABackupThatIsNotCompleteIsRefused(t *testing.T) {
	dir, o, _ := damageLife(t)
	e, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	path, err := e.Backup()
	if err := errors.Join(err, e.Close()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(Options{Dir: path, Policy: FsyncAlways}); !errors.Is(err, ErrIsBackup) {
		t.Errorf("Open of a backup: %v", err)
	}
	if _, err := Restore(dir, filepath.Join(t.TempDir(), "x"), nil); err == nil || errors.Is(err, ErrDamaged) {
		t.Errorf("Restore of a data directory: %v", err)
	}
	if _, err := Restore(path, dir, nil); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("Restore into a data directory: %v", err)
	}
	if _, err := Restore(path, filepath.Join(t.TempDir(), "new", "below"), nil); err != nil {
		t.Error(err)
	}
	for _, name := range dataFiles(t, path) {
		for _, how := range []string{"missing", "cut"} {
			if strings.Contains(name, "OPTIONS") {
				continue // nothing is lost with it
			}
			bad := cloneDir(t, path)
			file := filepath.Join(bad, name)
			if how == "missing" {
				err = os.Remove(file)
			} else {
				b, rerr := os.ReadFile(file)
				err = errors.Join(rerr, os.WriteFile(file, b[:len(b)/2], 0o600))
			}
			if err != nil {
				t.Fatal(err)
			}
			to := filepath.Join(t.TempDir(), "restored")
			if _, err := Restore(bad, to, nil); err == nil {
				t.Errorf("%s is %s, but it was restored", name, how)
			}
			if left, _ := os.ReadDir(to); len(left) > 0 {
				t.Errorf("%s is %s: left %v", name, how, left)
			}
			r, err := Check(CheckOptions{Dir: bad})
			if name != backupFileName && (err != nil || len(r.Problems) == 0) {
				t.Errorf("%s is %s: %+v, %v", name, how, r, err)
			}
		}
	}
}

// TestARestoredDirectorySharesNothingThatChanges: a server on it changes no byte of the backup,
// nor one on the directory of which the backup was made.
func TestARestoredDirectorySharesNothingThatChanges(t *testing.T) {
	dir, o, values := damageLife(t)
	e, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	path, err := e.Backup()
	if err != nil {
		t.Fatal(err)
	}
	read := func() map[string]string {
		content := map[string]string{}
		for _, name := range dataFiles(t, path) {
			b, err := os.ReadFile(filepath.Join(path, name))
			if err != nil {
				t.Fatal(err)
			}
			content[name] = string(b)
		}
		return content
	}
	before := read()
	restored := o
	restored.Dir = filepath.Join(t.TempDir(), "restored")
	if _, err := Restore(path, restored.Dir, nil); err != nil {
		t.Fatal(err)
	}
	r, _, err := Open(restored)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []*Engine{r, e} {
		op := Op{NowMs: e.NowMs()}
		for key, want := range values {
			for i := range int64(5) {
				if n, err := e.IncrBy(&op, []byte(key), 1); err != nil || n != want+i+1 {
					t.Fatalf("%s is %d, %v", key, n, err)
				}
			}
			if want%7 == 0 {
				if err := e.Commit(op.Seen); err != nil {
					t.Fatal(err)
				}
			}
		}
		waitUntil(t, func() bool { return e.Stats().Merges > 0 })
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	after := read()
	for name, b := range before {
		if after[name] != b {
			t.Errorf("%s was changed", name)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files, before %d", len(after), len(before))
	}
	for _, dir := range []string{dir, restored.Dir, path} {
		if r, err := Check(CheckOptions{Dir: dir}); err != nil || len(r.Problems) > 0 {
			t.Errorf("%s: %+v, %v", dir, r, err)
		}
	}
}

// TestEveryIOOfARestoreFailsOnce: then there is no directory that would be taken for one that is
// whole.
func TestEveryIOOfARestoreFailsOnce(t *testing.T) {
	mem := newCrashFS()
	e, _, n := backupLife(t, mem, nil)
	path, err := e.Backup()
	if err := errors.Join(err, e.Close()); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for k := int32(0); ; k++ {
		fs, index := mem.clone(vfs.CrashCloneCfg{}), errorfs.OnIndex(k)
		_, err := Restore(path, "restored", errorfs.Wrap(fs, index))
		passed := index.Index.Load() >= 0
		fs = fs.clone(vfs.CrashCloneCfg{})
		o := faultOptions(fs, nil)
		o.Dir = "restored"
		if err == nil {
			r, _, err := Open(o)
			if err != nil {
				t.Fatalf("I/O %d: %v", k, err)
			}
			if got := getInt(t, r, "n"); got != n {
				t.Fatalf("I/O %d: restored %d, want %d", k, got, n)
			}
			_ = r.Close()
		} else {
			refused++
			if names, _ := fs.List("restored"); len(names) > 0 { // their removal is not synced
				if r, _, err := Open(o); err == nil {
					if got := getInt(t, r, "n"); got != n {
						t.Fatalf("I/O %d: restored %d, want %d", k, got, n)
					}
					_ = r.Close()
				} else if !errors.Is(err, ErrIdentity) {
					t.Fatalf("I/O %d: %v", k, err)
				}
			}
		}
		if passed {
			t.Logf("%d I/Os, %d of them failed it", k, refused)
			if err != nil || refused < 30 {
				t.Error(err)
			}
			return
		}
	}
}
