package shards

import (
	"testing"
	"time"
)

// TestAReadNeverGoesBackToARollUp that was begun before what the writer has read himself, however
// young it is: its cells may have been read before others counted.
func TestAReadNeverGoesBackToARollUp(t *testing.T) {
	x := newHotTest(t, false, 0)
	hot := x.promote(HotOptions{Cells: 2, Writers: 2, Relaxed: true, Stale: time.Second})
	read := func(at time.Duration, want int64) {
		t.Helper()
		if v, ok := hot.Get(0, true, func() time.Duration { return at }); !ok || v != want {
			t.Errorf("read %d, %v; want %d", v, ok, want)
		}
	}
	hot.RollUp(100)
	slow := hot.roll.Swap(nil) // its task has read the cells and lost the processor
	if _, added := hot.Add(1, 5, 0); added != AddedYes {
		t.Fatal(added)
	}
	read(110, 5)
	hot.roll.Store(slow)
	read(120, 5)
	hot.RollUp(130)
	if _, added := hot.Add(1, 5, 0); added != AddedYes {
		t.Fatal(added)
	}
	read(140, 5) // as old as it may be
}
