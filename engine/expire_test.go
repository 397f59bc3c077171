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

// expiryStore is an engine whose keys are all on disk alone, and will have expired expiredBefore before expireMs
// or live on. Its clock stands, so that its own search finds nothing.
type expiryStore struct {
	t               *testing.T
	fs              vfs.FS
	e               *Engine
	clocks          *clocks
	broken          atomic.Bool // reads of the store fail
	expireMs        int64
	expired, living map[string]int64 // the database of each key
}

const expiredBefore = 2 * storeExpiryRetry

func newExpiryStore(t *testing.T) *expiryStore {
	s := &expiryStore{t: t, clocks: newClocks(), expired: map[string]int64{}, living: map[string]int64{}}
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if s.broken.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsRead && strings.HasSuffix(op.Path, ".sst") {
			return errorfs.ErrInjected
		}
		return nil
	}))
	s.fs = fs
	s.open()
	t.Cleanup(s.close)
	e := s.e
	s.expireMs = e.NowMs() + 60_000
	for i := range 2000 {
		key, db := fmt.Sprintf("key:%d", i), i%2*3
		gone := s.expireMs - expiredBefore
		at := []int64{gone, s.expireMs, NoExpiry, gone}[i/2%4]
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

func (s *expiryStore) open() {
	s.t.Helper()
	o := s.clocks.options(s.fs, FsyncNo)
	o.noWarming = true
	var err error
	if s.e, _, err = Open(o); err != nil {
		s.t.Fatal(err)
	}
}

func (s *expiryStore) close() {
	s.broken.Store(false)
	if err := s.e.Close(); err != nil {
		s.t.Error(err)
	}
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

// run has the search make at most so many reads, or steps to another database, and reports whether its round
// has ended.
func (s *expiryStore) run(x *storeExpiry, reads int, now int64) (ended bool) {
	return x.run(s.e, now, func() bool { reads--; return reads < 0 })
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

// steps is how many reads, and steps to another database, one round of the search takes at most.
const steps = 2*shards.Partitions + Databases

// TestTheSearchForWhatExpiredOnDisk: it reclaims what has expired and is on disk alone, a bounded piece
// at a time, goes on where it was, and leaves what has not expired where it is.
func TestTheSearchForWhatExpiredOnDisk(t *testing.T) {
	s := newExpiryStore(t)
	var x storeExpiry
	last := s.size()
	if all := int64(len(s.expired) + len(s.living)); last != all {
		t.Fatalf("DBSIZE is %d before anything was found out, want %d", last, all)
	}
	for reads := 0; !s.run(&x, 1, s.expireMs); reads++ {
		n := s.size()
		if n > last || last-n > storeExpiryBatch || reads > steps {
			t.Fatalf("read %d reclaimed %d keys", reads, last-n)
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
	if !s.run(&x, steps, s.expireMs-expiredBefore+1) {
		t.Fatalf("the search is stuck at partition %d of database %d", x.part, x.db)
	}
	if n := s.e.Stats().ExpiredKeys; n != 0 {
		t.Fatalf("%d keys have expired that could not be read", n)
	}
	s.broken.Store(false)
	s.run(&x, steps, s.expireMs)
	s.clean()
}

// TestTheSearchReadsWhatMayHaveExpired: nothing is read before its time, but once after a start.
func TestTheSearchReadsWhatMayHaveExpired(t *testing.T) {
	s := newExpiryStore(t)
	var x storeExpiry
	reads := func(now int64) int {
		x.read = 0
		if !s.run(&x, steps, now) {
			t.Fatalf("a round has not ended after %d steps", steps)
		}
		return x.read
	}
	due := s.expireMs - expiredBefore
	if n := reads(due); n != 0 {
		t.Errorf("%d entries were read before anything expired", n)
	}
	s.close()
	s.open()
	reads(due)
	first := map[*shards.Partition]bool{} // those of which the first entry expires at due
	for key, db := range s.expired {
		en := s.e.placeIn(int(db), []byte(key))
		first[en.p] = true
	}
	waitUntil(t, func() bool { // the engine's own search may have been in one of them
		known := true
		s.e.eachTable(func(_ int, tab *shards.Table) {
			for part := range shards.Partitions {
				p := tab.Part(part)
				p.Lock()
				known = known && (!p.Partial || p.StoredExpiry == due || !first[p] && p.StoredExpiry > due)
				p.Unlock()
			}
		})
		return known
	})
	if n := reads(due); n != 0 {
		t.Errorf("%d entries were read a second time", n)
	}
	if n := reads(due + 1); n < len(s.expired) {
		t.Errorf("%d entries were read where %d have expired", n, len(s.expired))
	}
	if n := reads(due + 1); n != 0 {
		t.Errorf("%d entries were read after all that has expired was deleted", n)
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
	s.run(&x, steps, s.expireMs)
	s.run(&x, steps, s.expireMs)
	s.expired = map[string]int64{}
	if n := s.e.Stats().ExpiredKeys; n != found {
		t.Errorf("the search took %d keys that were written since", n-found)
	}
	s.e.ResetStats()
	s.clean()
}
