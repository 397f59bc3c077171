package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// countd runs countd with a subcommand to its end and returns what it prints and its exit code.
func countd(t *testing.T, args ...string) (output string, code int) {
	t.Helper()
	cmd := exec.Command(binary, args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// checkData fails the test where countd check finds damage in a data directory or a backup.
func checkData(t *testing.T, dir string) (output string) {
	t.Helper()
	output, code := countd(t, "check", dir)
	if code != 0 {
		t.Fatalf("countd check %s: exit code %d:\n%s", dir, code, output)
	}
	return output
}

// TestBackupsUnderLoad: a backup that is made while clients write has all that was acknowledged
// before it was asked for, nothing that was not sent, and no write without those before it;
// restored, it goes on from there.
func TestBackupsUnderLoad(t *testing.T) {
	rng, began := newRand(t), time.Now()
	for i, policy := range []string{"always", "everysec"} {
		t.Run(policy, func(t *testing.T) {
			dir := t.TempDir()
			args := []string{"--appendfsync", policy}
			if i == 1 { // keys on disk, too
				args = append(args, "--maxmemory", "1400kb")
			}
			p := start(t, smallLogServer, dir, args...)
			const clients, others = 4, 2000
			var acked, sent [clients]atomic.Int64
			var stop atomic.Bool
			var wg sync.WaitGroup
			for i := range clients {
				c, r := p.dial(), fork(rng)
				wg.Go(func() {
					for n := int64(1); !stop.Load(); n++ {
						sent[i].Store(n)
						batch := appendCommand(nil, "INCR", fmt.Sprint("a", i))
						batch = appendCommand(batch, "INCR", fmt.Sprint("b", i))
						want := []reply{intReply(n), intReply(n)}
						for range r.IntN(30) {
							batch = appendCommand(batch, "SET", fmt.Sprint("other:", r.IntN(others)), "v")
							want = append(want, okReply)
						}
						if c.exchange(batch, want); t.Failed() {
							return
						}
						acked[i].Store(n)
					}
				})
			}
			admin := p.dial()
			for round := range 4 {
				time.Sleep(time.Duration(20+rng.IntN(150)) * time.Millisecond)
				var before [clients]int64
				for i := range clients {
					before[i] = acked[i].Load()
				}
				lastBefore := backups(t, dir)
				if round%2 == 0 {
					if r := admin.do("SAVE"); !r.same(okReply) {
						t.Fatalf("SAVE answers %v", r)
					}
				} else {
					if r := admin.do("BGSAVE"); r.s != "Background saving started" {
						t.Fatalf("BGSAVE answers %v", r)
					}
					for infoNumber(admin.do("INFO", "persistence").s, "rdb_bgsave_in_progress") == 1 {
					}
				}
				var after [clients]int64
				for i := range clients {
					after[i] = sent[i].Load()
				}
				all := backups(t, dir)
				if len(all) != len(lastBefore)+1 {
					t.Fatalf("there are %v", all)
				}
				path := all[len(all)-1]
				checkData(t, path)
				restored := filepath.Join(t.TempDir(), "restored")
				if out, code := countd(t, "restore", path, "--dir", restored); code != 0 {
					t.Fatalf("countd restore: exit code %d:\n%s", code, out)
				}
				r := start(t, plainServer, restored)
				c := r.dial()
				for i := range clients {
					a, b := c.int("GET", fmt.Sprint("a", i)), c.int("GET", fmt.Sprint("b", i))
					if a < before[i] || a > after[i] || b > a || a > b+1 {
						t.Errorf("round %d: a=%d b=%d; %d acknowledged before, %d sent", round, a, b, before[i], after[i])
					}
					if n := c.int("INCR", fmt.Sprint("a", i)); n != a+1 {
						t.Errorf("round %d: INCR answers %d behind %d", round, n, a)
					}
				}
				r.stop()
				checkData(t, restored)
				checkData(t, path)
			}
			eventually(t, "merges", func() (bool, any) {
				info := admin.do("INFO", "persistence").s
				return infoNumber(info, "merges") > 0 && infoNumber(info, "rdb_saves") == 4, info
			})
			stop.Store(true)
			wg.Wait()
			if admin.int("LASTSAVE") < began.Unix() {
				t.Error("LASTSAVE is long ago")
			}
			if out, code := countd(t, "check", dir); code != 2 || !strings.Contains(out, "a server uses") {
				t.Errorf("check beside a server: exit code %d:\n%s", code, out)
			}
			p.kill()
			p.checkLog()
			out := checkData(t, dir)
			if !regexp.MustCompile(`keys   [1-9]\d+`).MatchString(out) {
				t.Errorf("check says:\n%s", out)
			}
		})
	}
}

// backups lists the backups of a data directory, the oldest first.
func backups(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "backup-*"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
