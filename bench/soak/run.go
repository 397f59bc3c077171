package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"countd/bench/process"
	"countd/bench/resp"
)

// maxStartNap is the latest at which a starting server is killed.
const maxStartNap = 400 * time.Millisecond

// soak is one run. Its goroutine starts and kills the servers; the writers have theirs while they
// load or compare.
type soak struct {
	cfg     *Config
	out     io.Writer // progress
	began   time.Time
	r       *rand.Rand
	faults  *faults
	hot     *hot
	killed  atomic.Bool
	writers []*writer

	server    *process.Process
	cycle     int     // the sentinel's value
	restartMs float64 // from the last start of a process to its first right answer

	loaded                  time.Duration
	rates, restarts, checks []float64 // of each cycle, as Report has them
	kills, earlyKills       int
	compared                int64
	sizeSec                 float64
	lost, unacked           int
	oldest                  millis
	total                   life
}

// Run runs a soak and returns its report, also with an error: errors are what kept it from going on,
// of which a wrong value is one. The end of ctx ends it early, after a last comparison. Progress and
// what is wrong go to out, which must be safe for concurrent use.
func Run(ctx context.Context, cfg Config, out io.Writer) (*Report, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	s := &soak{cfg: &cfg, out: out, began: time.Now(), r: rand.New(rand.NewPCG(cfg.Seed, 1<<63)),
		faults: &faults{w: out}, hot: newHot()}
	for id := range cfg.Writers {
		s.writers = append(s.writers, newWriter(&cfg, id, s.clock, s.faults, s.hot, &s.killed))
	}
	fmt.Fprintf(out, "seed %d, %d counters, appendfsync %s, maxmemory %s, in %s\n", cfg.Seed, cfg.Keys,
		cfg.Fsync, cfg.MaxMemory, cfg.Dir)
	err := s.run(ctx)
	if s.server != nil {
		if err != nil {
			err = fmt.Errorf("%w; the server's log ends with\n%s", err, s.server.LogTail())
		}
		s.server.Kill()
	}
	if err == nil && s.faults.count() > 0 {
		err = errWrong
	}
	return s.report(time.Since(s.began)), err
}

// clock is the time since the soak began, from 1 on: 0 is never.
func (s *soak) clock() millis { return millis(time.Since(s.began)/time.Millisecond) + 1 }

func (s *soak) run(ctx context.Context) error {
	if err := s.start(); err != nil {
		return err
	}
	if err := s.mark(); err != nil {
		return err
	}
	if err := s.inParallel((*writer).fill); err != nil {
		return fmt.Errorf("while filling: %w", err)
	}
	fmt.Fprintf(s.out, "filled after %.1f s\n", time.Since(s.began).Seconds())
	for ctx.Err() == nil && time.Since(s.began) < s.cfg.Duration {
		if err := s.loadAndKill(ctx); err != nil {
			return err
		}
	}
	return s.finish()
}

// loadAndKill is one cycle.
func (s *soak) loadAndKill(ctx context.Context) error {
	if err := s.mark(); err != nil {
		return err
	}
	died, err := s.load(ctx)
	if err != nil {
		return err
	}
	s.kills++
	if s.cfg.EarlyKill && s.kills%3 == 0 {
		if err := s.killEarly(); err != nil {
			return err
		}
	}
	if err := s.start(); err != nil {
		return err
	}
	s.restarts = append(s.restarts, s.restartMs)
	return s.compare(died, false)
}

// compare checks everything, as check does, and prints what came of it.
func (s *soak) compare(died millis, whole bool) error {
	v, err := s.check(s.server.Address(), died, whole)
	if err != nil {
		return err
	}
	s.compared += v.compared
	s.checks = append(s.checks, v.took.Seconds())
	s.sizeSec = v.dbsizeExact.Seconds()
	s.lost, s.unacked, s.oldest = s.lost+v.lost, s.unacked+v.commandsKept, max(s.oldest, v.oldest)
	fmt.Fprintf(s.out, "%5.0f s  after kill %d: answered in %.0f ms; %d values right in %.1f s, DBSIZE right "+
		"%.1f s later; %d acknowledged commands lost\n", time.Since(s.began).Seconds(), s.kills,
		s.restartMs, v.compared, v.took.Seconds(), v.dbsizeExact.Seconds(), v.lost)
	return nil
}

// mark sets the sentinel, which the next restart asks for.
func (s *soak) mark() error {
	c, err := resp.Dial(s.server.Address())
	if err != nil {
		return err
	}
	defer c.Close()
	s.cycle++
	r, err := c.Do("SET", sentinelName, strconv.Itoa(s.cycle))
	if err != nil || !r.Is(resp.OK) {
		return fmt.Errorf("SET %s: %v, %w", sentinelName, r, err)
	}
	return nil
}

// start starts a server and returns when it has given a right answer.
func (s *soak) start() error {
	began := time.Now()
	p, err := process.Launch("countd", s.cfg.Binary, s.cfg.Dir, s.cfg.args())
	if err != nil {
		return err
	}
	s.server = p
	for !s.answers() {
		select {
		case <-p.Gone():
			return errors.New("the server ended at its start")
		case <-time.After(time.Millisecond):
		}
		if time.Since(began) > resp.Patience {
			return fmt.Errorf("the server has not answered for %v", resp.Patience)
		}
	}
	s.restartMs = float64(time.Since(began).Microseconds()) / 1e3
	return nil
}

// answers says whether the server knows the sentinel.
func (s *soak) answers() bool {
	c, err := resp.Dial(s.server.Address())
	if err != nil {
		return false
	}
	defer c.Close()
	want := resp.Absent
	if s.cycle > 0 {
		want = resp.Integer(int64(s.cycle))
	}
	r, err := c.Do("GET", sentinelName)
	if err == nil && r.Kind != '-' && !r.Is(want) {
		s.faults.add("%s: %v, expected %v", sentinelName, r, want)
		return true // compared again, and reported, with all others
	}
	return err == nil && r.Is(want)
}

// killEarly kills a server while it starts.
func (s *soak) killEarly() error {
	p, err := process.Launch("countd", s.cfg.Binary, s.cfg.Dir, s.cfg.args())
	if err != nil {
		return err
	}
	time.Sleep(time.Duration(s.r.Int64N(int64(maxStartNap))))
	p.Kill()
	s.earlyKills++
	return nil
}

// inParallel runs work of all writers, each with a new connection.
func (s *soak) inParallel(work func(*writer) error) error {
	for _, w := range s.writers {
		c, err := resp.Dial(s.server.Address())
		if err != nil {
			return err
		}
		defer c.Close()
		w.conn = c
	}
	var wg sync.WaitGroup
	var failed atomic.Pointer[error]
	for _, w := range s.writers {
		wg.Go(func() {
			if err := work(w); err != nil {
				failed.Store(&err)
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// load runs the writers and kills the server among them; died is when.
func (s *soak) load(ctx context.Context) (died millis, err error) {
	info, err := resp.Dial(s.server.Address())
	if err != nil {
		return 0, err
	}
	defer info.Close()
	s.killed.Store(false)
	began, before := time.Now(), s.commands()
	ended := make(chan error, 1)
	go func() { ended <- s.inParallel((*writer).load) }()
	l, err := s.watch(ctx, info, ended)
	if err != nil {
		s.killed.Store(true)
		s.server.Kill()
		return 0, err
	}
	l.peakRSS = s.server.PeakRSS()
	s.total.add(l)
	s.killed.Store(true)
	s.server.Kill()
	died = s.clock()
	if err := <-ended; err != nil {
		return 0, err
	}
	took := time.Since(began)
	s.loaded += took
	s.rates = append(s.rates, float64(s.commands()-before)/took.Seconds())
	return died, nil
}

// watch prints the progress until it is time to kill; the figures are those of just before.
func (s *soak) watch(ctx context.Context, info *resp.Conn, ended chan error) (life, error) {
	// Up to 50 ms more, so that kills do not always meet the same tick of the server's timers.
	kill := time.After(s.cfg.KillEvery + time.Duration(s.r.Int64N(int64(50*time.Millisecond))))
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for last := s.commands(); ; {
		select {
		case err := <-ended:
			if err == nil {
				err = errors.New("the writers ended")
			}
			return life{}, fmt.Errorf("while the server was under load: %w", err)
		case <-kill:
			return sample(info)
		case <-ctx.Done():
			return sample(info)
		case <-tick.C:
			l, err := sample(info)
			if err != nil {
				return l, err
			}
			s.total.tableBytes = max(s.total.tableBytes, l.tableBytes)
			now := s.commands()
			fmt.Fprintf(s.out, "%5.0f s  %d commands/s, table %.1f MiB, evicted %d, read back %d, expired %d, "+
				"merges %d\n", time.Since(s.began).Seconds(), now-last, float64(l.tableBytes)/(1<<20),
				l.evicted, l.readBack, l.expired, l.merges)
			last = now
		}
	}
}

// commands counts the answered commands of all writers.
func (s *soak) commands() (n int64) {
	for _, w := range s.writers {
		n += w.done.Load()
	}
	return n
}

// finish stops the server with SIGTERM, starts it once more, compares, and has countd check the data.
func (s *soak) finish() error {
	s.server.Stop()
	if err := s.start(); err != nil {
		return err
	}
	if err := s.compare(0, true); err != nil {
		return err
	}
	s.server.Stop()
	s.server = nil
	checker := s.cfg.Checker
	if checker == "" {
		checker = s.cfg.Binary
	}
	report, err := exec.Command(checker, "check", filepath.Join(s.cfg.Dir, "data")).CombinedOutput()
	if err != nil {
		s.faults.add("countd check: %v: %s", err, report)
	}
	return s.checkLog()
}

var alarming = regexp.MustCompile(`(?m)^.*(level=(?i:error)|DATA RACE|panic:|fatal error:).*$`)

// checkLog looks for what a server never says while all is well.
func (s *soak) checkLog() error {
	text, err := os.ReadFile(filepath.Join(s.cfg.Dir, "log"))
	if err != nil {
		return err
	}
	if line := alarming.Find(text); line != nil {
		s.faults.add("in the server's log: %s", line)
	}
	return nil
}
