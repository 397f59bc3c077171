package server

import (
	"strings"
	"testing"

	"countd/engine"
)

// TestARunMeetsTheRange: in a pipeline, exactly the increments that would leave the range fail, wherever
// the pipeline is cut.
func TestARunMeetsTheRange(t *testing.T) {
	srv := newTestServer(t, engine.FsyncOff)
	const left = "-" + errLeavesRange + "\r\n"
	in := strings.Repeat("*2\r\n$4\r\nINCR\r\n$1\r\nk\r\n", 5) +
		"*3\r\n$6\r\nINCRBY\r\n$1\r\nk\r\n$2\r\n-1\r\n" +
		"*3\r\n$6\r\nINCRBY\r\n$1\r\nk\r\n$1\r\n2\r\n" +
		"*3\r\n$6\r\nINCRBY\r\n$1\r\nk\r\n$1\r\n1\r\n" +
		"*3\r\n$6\r\nINCRBY\r\n$1\r\nk\r\n$2\r\n-4\r\n" +
		"*3\r\n$6\r\nINCRBY\r\n$1\r\nk\r\n$2\r\n-3\r\n" +
		"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"
	want := ":1\r\n:2\r\n:3\r\n" + left + left + ":2\r\n" + left + ":3\r\n" + left + ":0\r\n$1\r\n0\r\n"
	s := srv.newSession()
	feedAll(s, cut("CNT.CONTRACT SET k MIN 0 MAX 3\r\n", 0))
	for size := range len(in) {
		feedAll(s, cut("DEL k\r\n", 0))
		if got := feedAll(s, cut(in, size)); got != want {
			t.Fatalf("cut into %d: got %q\nwant %q", size, got, want)
		}
	}
}
