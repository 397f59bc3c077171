package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"countd/shards"
)

// TestACaptureLeavesRecordsWhereTheyAre: a write that begins an epoch captures what its partition holds
// of the one before. Where that was many deletions, giving their memory back must not move the records
// that the write has found.
func TestACaptureLeavesRecordsWhereTheyAre(t *testing.T) {
	e, _, err := Open(Options{Dir: "data", FS: vfs.NewMem(), Policy: FsyncAlways, FlushInterval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	op := Op{NowMs: e.NowMs()}
	table, part := e.table(0), -1
	var keys [][]byte
	for i := 0; len(keys) < 100; i++ {
		key := fmt.Appendf(nil, "key:%d", i)
		if p := shards.PartOf(table.Hash(key)); part < 0 || p == part {
			part = p
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		mustIncr(t, e, &op, string(key), 1)
	}
	if err := e.Commit(op.Seen); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Del(&op, keys[:90]); err != nil {
		t.Fatal(err)
	}
	e.commit.Lock() // a flush, with a write between its closing and its visits
	e.commit.closed = e.epoch.Add(1) - 1
	mustIncr(t, e, &op, string(keys[99]), 2)
	e.collect()
	if err := e.writeFlush(FsyncAlways); err != nil {
		t.Fatal(err)
	}
	e.commit.Unlock()
	for _, key := range keys[90:] {
		want := int64(1)
		if string(key) == string(keys[99]) {
			want = 2
		}
		if n := getInt(t, e, string(key)); n != want {
			t.Errorf("%s is %d, want %d", key, n, want)
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
