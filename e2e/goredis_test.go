package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// loudLogger fails the test where the client library has something to say.
type loudLogger struct{ t *testing.T }

func (l loudLogger) Printf(_ context.Context, format string, v ...any) {
	l.t.Errorf("go-redis: %s", fmt.Sprintf(format, v...))
}

// TestGoRedis is a program with go-redis and its default options, but for its patience: after 3 seconds without a
// reply it sends an increment again.
func TestGoRedis(t *testing.T) {
	redis.SetLogger(loudLogger{t})
	p := start(t, plainServer, t.TempDir(), "--loglevel", "verbose")
	t.Run("RESP3", func(t *testing.T) { goRedisProgram(t, p, &redis.Options{Addr: p.addr}) })
	t.Run("RESP2", func(t *testing.T) {
		goRedisProgram(t, p, &redis.Options{Addr: p.addr, Protocol: 2, ClientName: "program", DB: 3})
	})
	p.checkQuiet()
	if r := p.dial().do("SELECT", "0"); !r.same(okReply) {
		t.Error(r)
	}
	p.stop()
}

func goRedisProgram(t *testing.T, p *process, o *redis.Options) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = patience, patience, patience, patience
	rdb := redis.NewClient(o)
	defer func() { must0(t, rdb.Close()) }()
	equal(t, must(rdb.Ping(ctx).Result())(t), "PONG")
	must0(t, rdb.FlushDB(ctx).Err())

	// Counters.
	equal(t, must(rdb.Incr(ctx, "page:42:views").Result())(t), 1)
	equal(t, must(rdb.IncrBy(ctx, "page:42:views", 10).Result())(t), 11)
	equal(t, must(rdb.Decr(ctx, "page:42:views").Result())(t), 10)
	equal(t, must(rdb.Get(ctx, "page:42:views").Int64())(t), 10)
	equal(t, must(rdb.IncrByFloat(ctx, "price", 1.25).Result())(t), 1.25)
	goRedisConcurrent(t, ctx, rdb)

	// A pipeline keeps its order.
	var incrs []*redis.IntCmd
	cmds := must(rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for range 500 {
			incrs = append(incrs, pipe.Incr(ctx, "piped"))
		}
		pipe.Expire(ctx, "piped", time.Hour)
		pipe.TTL(ctx, "piped")
		return nil
	}))(t)
	equal(t, len(cmds), 502)
	for i, cmd := range incrs {
		equal(t, cmd.Val(), int64(i+1))
	}
	nearlyAnHour(t, cmds[501].(*redis.DurationCmd).Val())

	// Strings and times to live.
	equal(t, must(rdb.Set(ctx, "quota", 100, time.Hour).Result())(t), "OK")
	nearlyAnHour(t, must(rdb.TTL(ctx, "quota").Result())(t))
	equal(t, must(rdb.Set(ctx, "quota", 99, redis.KeepTTL).Result())(t), "OK")
	equal(t, must(rdb.Get(ctx, "quota").Result())(t), "99")
	equal(t, must(rdb.SetNX(ctx, "quota", 1, 0).Result())(t), false)
	equal(t, must(rdb.Persist(ctx, "quota").Result())(t), true)
	equal(t, must(rdb.TTL(ctx, "quota").Result())(t), -1)
	equal(t, must(rdb.Set(ctx, "short", "x", 20*time.Millisecond).Result())(t), "OK")
	for deadline := time.Now().Add(patience); rdb.Get(ctx, "short").Err() == nil; {
		if time.Now().After(deadline) {
			t.Fatal("a key does not expire")
		}
	}
	if err := rdb.Get(ctx, "short").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("GET of an expired key: %v", err)
	}
	must0(t, rdb.MSet(ctx, "a", 1, "b", "two", "c", 3).Err())
	got := must(rdb.MGet(ctx, "a", "b", "none", "c").Result())(t)
	equal(t, fmt.Sprint(got), "[1 two <nil> 3]")
	equal(t, must(rdb.Del(ctx, "a", "b", "none").Result())(t), 2)
	equal(t, must(rdb.GetDel(ctx, "c").Result())(t), "3")
	if err := rdb.Set(ctx, "word", "x", 0).Err(); err != nil {
		t.Error(err)
	}
	if err := rdb.Incr(ctx, "word").Err(); err == nil || err.Error() != notAnInteger {
		t.Errorf("INCR of a word: %v", err)
	}

	// Distinct counts.
	equal(t, must(rdb.PFAdd(ctx, "mon", "alice", "bob", "carol").Result())(t), 1)
	equal(t, must(rdb.PFAdd(ctx, "mon", "alice").Result())(t), 0)
	equal(t, must(rdb.PFAdd(ctx, "tue", "carol", "dave").Result())(t), 1)
	equal(t, must(rdb.PFCount(ctx, "mon", "tue").Result())(t), 4)
	equal(t, must(rdb.PFMerge(ctx, "both", "mon", "tue").Result())(t), "OK")
	equal(t, must(rdb.PFCount(ctx, "both").Result())(t), 4)

	goRedisScan(t, ctx, rdb)
	goRedisTimeout(t, ctx, rdb)
	if list := must(rdb.ClientList(ctx).Result())(t); list == "" {
		t.Error("CLIENT LIST is empty")
	}
	if info := must(rdb.Info(ctx).Result())(t); info == "" {
		t.Error("INFO is empty")
	}
}

// goRedisConcurrent uses the pool's connections at once.
func goRedisConcurrent(t *testing.T, ctx context.Context, rdb *redis.Client) {
	const clients, each = 8, 200
	numbers := make(chan int64, clients*each)
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for range each {
				n, err := rdb.Incr(ctx, "together").Result()
				if err != nil {
					t.Error(err)
				}
				numbers <- n
			}
		})
	}
	wg.Wait()
	close(numbers)
	seen := map[int64]bool{}
	for n := range numbers {
		seen[n] = true
	}
	if len(seen) != clients*each || seen[0] || !seen[clients*each] {
		t.Errorf("%d increments gave out %d numbers", clients*each, len(seen))
	}
}

// goRedisScan finds each of many keys once through the iterator.
func goRedisScan(t *testing.T, ctx context.Context, rdb *redis.Client) {
	const keys = 3000
	must(rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i := range keys {
			pipe.Set(ctx, fmt.Sprintf("scan:%d", i), i, 0)
		}
		return nil
	}))(t)
	seen := map[string]int{}
	iter := rdb.Scan(ctx, 0, "scan:*", 100).Iterator()
	for iter.Next(ctx) {
		seen[iter.Val()]++
	}
	must0(t, iter.Err())
	equal(t, len(seen), keys)
	for key, n := range seen {
		if n != 1 {
			t.Errorf("SCAN returns %s %d times", key, n)
		}
	}
	iter = rdb.ScanType(ctx, 0, "*", 10, "string").Iterator()
	n := 0
	for iter.Next(ctx) {
		n++
	}
	must0(t, iter.Err())
	equal(t, int64(n), must(rdb.DBSize(ctx).Result())(t))
}

// goRedisTimeout lets contexts end before and during commands; the client goes on with others.
func goRedisTimeout(t *testing.T, ctx context.Context, rdb *redis.Client) {
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := rdb.Incr(gone, "page:42:views").Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that is canceled: %v", err)
	}
	for i := range 50 {
		short, cancel := context.WithTimeout(ctx, time.Duration(i)*20*time.Microsecond)
		if err := rdb.Incr(short, "timed").Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a short context: %v", err)
		}
		cancel()
	}
	equal(t, must(rdb.Get(ctx, "page:42:views").Result())(t), "10")
}

// must is the value of a call; the test that the result is given to fails where it had an error.
func must[V any](v V, err error) func(t *testing.T) V {
	return func(t *testing.T) V {
		t.Helper()
		must0(t, err)
		return v
	}
}

func must0(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// nearlyAnHour checks a time to live of an hour that has just begun.
func nearlyAnHour(t *testing.T, got time.Duration) {
	t.Helper()
	if got > time.Hour || got < 59*time.Minute {
		t.Errorf("got %v, want an hour or a little less", got)
	}
}

func equal[V comparable](t *testing.T, got, want V) {
	t.Helper()
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
