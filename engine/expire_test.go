package engine

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"countd/shards"
)

// expiryStore is an engine whose keys are all on disk alone, and will have expired at expireMs or live
// on. Its clock stands, so that its own search finds nothing.
type expiryStore struct {
	t               *testing.T
	e               *Engine
	clocks          *clocks
	broken          atomic.Bool // reads of the store fail
	expireMs        int64
	expired, living map[string]int64 // the database of each key
}

func newExpiryStore(t *testing.T) *expiryStore {
	s := &expiryStore{t: t, clocks: newClocks(), expired: map[string]int64{}, living: map[string]int64{}}
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if s.broken.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsRead && strings.HasSuffix(op.Path, ".sst") {
			return errorfs.ErrInjected
		}
		return nil
	}))
	e, _, err := Open(s.clocks.options(fs, FsyncNo))
	if err != nil {
		t.Fatal(err)
	}
	s.e = e
	t.Cleanup(func() {
		s.broken.Store(false)
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	s.expireMs = e.NowMs() + 60_000
	for i := range 2000 {
		key, db := fmt.Sprintf("key:%d", i), i%2*3
		at := []int64{s.expireMs - 1, s.expireMs, NoExpiry, s.expireMs - 1}[i/2%4]
		if _, _, err := e.Set(&Op{DB: db, NowMs: e.NowMs()}, []byte(key), []byte("7"), SetOptions{ExpireAtMs: at}); err != nil {
			t.Fatal(err)
		}
		if at < s.expireMs {
			s.expired[key] = int64(db)
		} else {
			s.living[key] = int64(db)
		}
	}
	evictAll(t, e)
	return s
}

// size is what DBSIZE says of both databases.
func (s *expiryStore) size() (n int64) {
	s.t.Helper()
	for _, db := range []int{0, 3} {
		k, err := s.e.DBSize(&Op{DB: db, NowMs: s.expireMs})
		if err != nil {
			s.t.Fatal(err)
		}
		n += k
	}
	return n
}

// run has the search make at most so many reads, or steps to another database.
func (s *expiryStore) run(x *storeExpiry, reads int) {
	x.run(s.e, s.expireMs, func() bool { reads--; return reads < 0 })
}

// clean checks that all that has expired is gone, and nothing else.
func (s *expiryStore) clean() {
	s.t.Helper()
	if n := s.size(); n != int64(len(s.living)) {
		s.t.Errorf("DBSIZE is %d, want %d", n, len(s.living))
	}
	if n := s.e.Stats().ExpiredKeys; n != int64(len(s.expired)) {
		s.t.Errorf("%d keys have expired, want %d", n, len(s.expired))
	}
	for key, db := range s.living {
		if v, err := s.e.Get(&Op{DB: int(db), NowMs: s.expireMs}, []byte(key)); err != nil || v.Int != 7 {
			s.t.Fatalf("%s is gone: %v, %v", key, v, err)
		}
	}
	for key, db := range s.expired { // looked at from before it expired
		if v, err := s.e.Get(&Op{DB: int(db), NowMs: s.e.NowMs()}, []byte(key)); err != nil || v.Exists {
			s.t.Fatalf("%s is still there (%v)", key, err)
		}
	}
}

// steps is how many reads, and steps to another database, one round of the search takes.
const steps = 2*shards.Partitions + Databases

// TestTheSearchForWhatExpiredOnDisk: it reclaims what has expired and is on disk alone, a bounded piece
// at a time, goes on where it was, and leaves what has not expired where it is.
func TestTheSearchForWhatExpiredOnDisk(t *testing.T) {
	s := newExpiryStore(t)
	var x storeExpiry
	const piece = 500
	runs, last := 0, s.size()
	if all := int64(len(s.expired) + len(s.living)); last != all {
		t.Fatalf("DBSIZE is %d before anything was found out, want %d", last, all)
	}
	for ; runs < (steps+piece-1)/piece; runs++ {
		s.run(&x, piece)
		n := s.size()
		// a piece of 500 of 4096 partitions has about 61 of the 500 that expired in a database
		if n > last || last-n > 250 {
			t.Fatalf("run %d reclaimed %d keys", runs, last-n)
		}
		last = n
	}
	for part := range shards.Partitions {
		for _, db := range []int{0, 3} {
			p := s.e.table(db).Part(part)
			p.Lock()
			n := p.Residents()
			p.Unlock()
			if n > 0 {
				t.Fatalf("the search read back %d entries of partition %d that have not expired", n, part)
			}
		}
	}
	s.clean()
}

// TestTheSearchPassesOverWhatCannotBeRead: a part of the store that is damaged does not keep the search
// from the others, and is looked at again in the next round.
func TestTheSearchPassesOverWhatCannotBeRead(t *testing.T) {
	s := newExpiryStore(t)
	var x storeExpiry
	s.broken.Store(true)
	for rounds := 0; rounds < 3*steps && x.db == 0; rounds++ {
		s.run(&x, steps)
	}
	if x.db == 0 {
		t.Fatalf("the search is stuck at partition %d", x.part)
	}
	s.broken.Store(false)
	for range 3 {
		s.run(&x, steps)
	}
	s.clean()
}

// TestTheSearchAndAWriteBetween: a key that was written since the search read it is not touched.
func TestTheSearchAndAWriteBetween(t *testing.T) {
	s := newExpiryStore(t)
	for key, db := range s.expired { // a new life for each
		op := &Op{DB: int(db), NowMs: s.expireMs}
		if n, err := s.e.IncrBy(op, []byte(key), 7); err != nil || n != 7 {
			t.Fatalf("INCRBY of a key that has expired: %d, %v", n, err)
		}
		s.living[key] = db
	}
	found := int64(len(s.expired))
	if n := s.e.Stats().ExpiredKeys; n != found {
		t.Errorf("%d keys have expired, want %d", n, found)
	}
	var x storeExpiry
	s.run(&x, steps)
	s.run(&x, steps)
	s.expired = map[string]int64{}
	if n := s.e.Stats().ExpiredKeys; n != found {
		t.Errorf("the search took %d keys that were written since", n-found)
	}
	s.e.ResetStats()
	s.clean()
}
