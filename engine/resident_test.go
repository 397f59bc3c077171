package engine

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestAKeyThatCannotBeReadBack: while the store cannot be read, commands on a key that is only there fail
// and change nothing, others go on; afterwards its value is what it was.
func TestAKeyThatCannotBeReadBack(t *testing.T) {
	mem := vfs.NewMem()
	var broken atomic.Bool
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsRead && strings.HasSuffix(op.Path, ".sst") {
			return errorfs.ErrInjected
		}
		return nil
	}))
	o := faultOptions(fs, nil)
	e, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	op := Op{NowMs: e.NowMs()}
	key := func(i int) []byte { return fmt.Appendf(nil, "key:%d", i) }
	const keys = 400
	for i := range keys {
		mustIncrBy(t, e, string(key(i)), int64(i))
		if err := e.Commit(math.MaxUint64); err != nil {
			t.Fatal(err)
		}
	}
	mustIncr(t, e, &op, "here", 1) // not committed, so that it stays
	evicted := 0
	for tab := e.table(0); evicted < keys/2; time.Sleep(time.Millisecond) { // merges go on beside
		e.evict.began.Store(true)
		for part := range 4096 {
			p := tab.Part(part)
			p.Lock()
			_, k := p.Evict()
			p.Unlock()
			evicted += k
		}
	}
	broken.Store(true)
	failed := 0
	for i := range keys {
		v, err := e.Get(&op, key(i))
		switch {
		case err == nil && v.Exists && v.Int == int64(i): // resident, or in the store's cache
			continue
		case !errors.Is(err, ErrStoreRead):
			t.Fatalf("Get: %v, %v", v, err)
		}
		failed++
		_, errIncr := e.IncrBy(&op, key(i), 1)
		_, _, errSet := e.Set(&op, key(i), []byte("x"), SetOptions{Cond: SetNX})
		_, errDel := e.Del(&op, [][]byte{key(i)})
		_, errMGet := e.MGet(&op, [][]byte{[]byte("new"), key(i)})
		_, errRename := e.Rename(&op, key(i), []byte("other"), false)
		for _, err := range []error{errIncr, errSet, errDel, errMGet, errRename} {
			if !errors.Is(err, ErrStoreRead) {
				t.Fatalf("a command on a key that cannot be read: %v", err)
			}
		}
	}
	if failed == 0 {
		t.Fatal("every key could be read")
	}
	mustIncr(t, e, &op, "here", 2)
	broken.Store(false)
	for i := range keys {
		if v, err := e.Get(&op, key(i)); err != nil || v.Int != int64(i) {
			t.Fatalf("Get %d: %v, %v", i, v, err)
		}
	}
	if n, err := e.DBSize(&op); err != nil || n != keys+1 {
		t.Errorf("DBSIZE %d (%v), want %d", n, err, keys+1)
	}
	t.Logf("%d evicted, %d could not be read", evicted, failed)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
