package e2e

import (
	"strconv"
	"sync"
	"testing"
	"time"
)

// TestMoreKeysThanMemory: with a budget for a small part of the keys every value is right, reads and
// increments go on beside one another, DBSIZE is exact, SCAN passes every key once, also after kill -9.
func TestMoreKeysThanMemory(t *testing.T) {
	rng := newRand(t)
	dir := t.TempDir()
	keys := scaled(20_000)
	budget := "2mb" // empty tables take 1.6
	if raceDetector {
		keys, budget = keys/5, "1600kb"
	}
	args := []string{"--appendfsync", "always", "--maxmemory", budget}
	p := start(t, smallLogServer, dir, args...)
	values := make([]int64, keys)
	expired := int64(0)
	name := func(i int) string { return "counter:" + strconv.Itoa(i) }
	// add increments counters in pipelines from a few connections, each its own part of them, and reads.
	add := func(perClient int) {
		const clients = 4
		var wg sync.WaitGroup
		for part := range clients {
			c, r := p.dial(), fork(rng)
			wg.Go(func() {
				for n := 0; n < perClient; {
					var batch []byte
					var want []reply
					for range 1 + r.IntN(60) {
						i := r.IntN(keys/clients)*clients + part
						if r.IntN(3) == 0 && values[i] != 0 {
							batch = appendCommand(batch, "GET", name(i))
							want = append(want, bulk(strconv.FormatInt(values[i], 10)))
							continue
						}
						d := 1 + r.Int64N(9)
						values[i] += d
						batch = appendCommand(batch, "INCRBY", name(i), strconv.FormatInt(d, 10))
						want = append(want, intReply(values[i]))
						n++
					}
					if c.exchange(batch, want); t.Failed() {
						return
					}
				}
			})
		}
		wg.Wait()
	}
	check := func() {
		t.Helper()
		c := p.dial()
		want := int64(0)
		for _, v := range values {
			if v != 0 {
				want++
			}
		}
		for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
			n := c.int("DBSIZE")                                             // keys that have expired on disk are found out in the background
			if n == want || raceDetector && n >= want && n <= want+expired { // the search is slow under it
				break
			}
			if n < want || n > want+expired || time.Now().After(deadline) {
				t.Fatalf("DBSIZE %d, want %d; %d have expired", n, want, expired)
			}
		}
		seen := map[string]int{}
		for cursor, first := "0", true; first || cursor != "0"; first = false {
			r := c.do("SCAN", cursor, "COUNT", "100").elements()
			cursor = r[0].s
			for _, k := range r[1].elements() {
				seen[k.s]++
			}
		}
		if int64(len(seen)) != want {
			t.Fatalf("SCAN passed %d keys, want %d", len(seen), want)
		}
		for i, v := range values {
			if v != 0 && seen[name(i)] != 1 {
				t.Fatalf("SCAN passed %s %d times", name(i), seen[name(i)])
			}
		}
		for range 2000 {
			i := rng.IntN(keys)
			want := nilReply
			if values[i] != 0 {
				want = bulk(strconv.FormatInt(values[i], 10))
			}
			if r := c.do("GET", name(i)); !r.same(want) {
				t.Fatalf("GET %s: %v, want %v", name(i), r, want)
			}
		}
		// Keys whose time comes while they are on disk are gone.
		for range 20 {
			i := rng.IntN(keys)
			if values[i] != 0 && c.int("PEXPIRE", name(i), "30") == 1 {
				values[i] = 0
				expired++
			}
		}
		time.Sleep(35 * time.Millisecond)
		for i := range 200 {
			if r := c.do("GET", name(i)); (values[i] == 0) != r.same(nilReply) {
				t.Fatalf("GET %s: %v, want %d", name(i), r, values[i])
			}
		}
		for i := range values {
			if values[i] == 0 && rng.IntN(50) == 0 {
				if n := c.int("EXISTS", name(i)); n != 0 {
					t.Fatalf("%s exists", name(i))
				}
			}
		}
	}
	add(keys)
	number := func(name string) int64 { return infoNumber(p.dial().do("INFO", "everything").s, name) }
	for deadline := time.Now().Add(patience); number("store_reads") == 0; add(keys) { // few keys make few merges
		if time.Now().After(deadline) {
			t.Fatalf("nothing was read back; %d entries were evicted", number("entries_evicted_to_store"))
		}
	}
	info := p.dial().do("INFO", "everything").s
	t.Logf("%d evicted, %d read back, of them %d in place, %d merges", infoNumber(info, "entries_evicted_to_store"),
		infoNumber(info, "store_reads"), infoNumber(info, "store_reads_in_place"), infoNumber(info, "merges"))
	check()
	for range 2 {
		p.kill()
		p = start(t, smallLogServer, dir, args...)
		check()
		add(keys / 8)
	}
	check()
	p.checkLog()
}

// exchange sends a pipeline and compares the replies.
func (c *client) exchange(batch []byte, want []reply) {
	if _, err := c.conn.Write(batch); err != nil {
		c.t.Error(err)
		return
	}
	for i, w := range want {
		r, err := readReply(c.r)
		if err != nil || !r.same(w) {
			c.t.Errorf("reply %d of %d: %v (%v), want %v", i, len(want), r, err, w)
			return
		}
	}
}
