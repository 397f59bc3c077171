// Package e2e tests countd from outside: real processes, real sockets, kill -9.
//
// The nouns:
//
//   - A process is a running server, started on a port of the system's choice. It is the countd
//     binary, built once, or the same server with log segments of a few KiB (runSmallLog), so that
//     log segments are sealed and merged into the store while it is killed.
//   - A stream is one connection that sends the commands of a sequence, in any depth of pipeline,
//     and notes when each reply came.
//   - A writer is one or more streams and what must be true of their keys after a crash.
//
// Every test prints the seed of its random choices; -e2e.seed repeats them, as far as two processes
// repeat anything. -e2e.rounds makes the kill tests longer.
package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

var (
	seedFlag   = flag.Uint64("e2e.seed", 0, "seed of the random choices; 0 takes the time")
	roundsFlag = flag.Int("e2e.rounds", 10, "kills of each kill test")
)

// binary is countd, built once for all tests.
var binary string

func TestMain(m *testing.M) {
	if os.Getenv(smallLogVar) != "" {
		os.Exit(runSmallLog(os.Args[1:]))
	}
	flag.Parse()
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "countd-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "countd")
	args := []string{"build", "-o", binary}
	if raceDetector {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "countd/cmd/countd")...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// newRand returns the test's random numbers and prints their seed.
func newRand(t *testing.T) *rand.Rand {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d (rerun with -e2e.seed=%d)", seed, seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// fork returns random numbers for another goroutine.
func fork(rng *rand.Rand) *rand.Rand { return rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64())) }

// scaled is n, or less of it where the race detector makes everything several times slower.
func scaled(n int) int {
	if raceDetector {
		return max(n/4, 1)
	}
	return n
}
