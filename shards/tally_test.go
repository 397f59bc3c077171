package shards

import "testing"

// TestATallyCostsOthersNothing: the size of a counter with a 16-byte key, in units of 8 bytes.
func TestATallyCostsOthersNothing(t *testing.T) {
	for flags, want := range map[byte]int{0: 4, flagExpiry: 5, flagTally: 6, flagExpiry | flagTally: 7} {
		if got := recordUnits(16, 0, flags); got != want {
			t.Errorf("flags %b: %d units, want %d", flags, got, want)
		}
	}
}
