package server

import "testing"

// TestATurnOfManySessionsAllocatesNoBuffers: what a turn of a thousand sessions takes it finds again in the
// next, and what is kept stays within its bound.
func TestATurnOfManySessionsAllocatesNoBuffers(t *testing.T) {
	var l loop
	taken := make([][]byte, 1000)
	text := make([]byte, 100<<10)
	turn := func(size int) {
		for i := range taken {
			taken[i] = append(l.buffer(nil), text[:size]...)
		}
		for _, b := range taken {
			l.giveBack(b)
		}
	}
	turn(100)
	if n := allocations(10, func() { turn(100) }); n != 0 {
		t.Errorf("a turn allocates %v times", n)
	}
	for size := 1; size < 100<<10; size *= 3 {
		turn(size)
		kept := 0
		for _, b := range l.buffers {
			kept += cap(b)
		}
		if kept != l.buffersSize || kept > maxBuffersBytes {
			t.Fatalf("%d bytes are kept, %d by its own account, at most %d may be", kept, l.buffersSize, maxBuffersBytes)
		}
	}
}
