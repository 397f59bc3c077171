package soak

import (
	"fmt"
	"io"
	"sync"
)

// maxFaults bounds how many wrong values are printed and reported.
const maxFaults = 100

// faults collects what was wrong, and prints it at once.
type faults struct {
	w  io.Writer
	mu struct {
		sync.Mutex
		count int
		first []string // at most maxFaults
	}
}

// add notes one fault.
func (f *faults) add(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.count++
	if f.mu.count > maxFaults {
		return
	}
	text := fmt.Sprintf(format, args...)
	f.mu.first = append(f.mu.first, text)
	fmt.Fprintln(f.w, "WRONG:", text)
}

// count is how many there were.
func (f *faults) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.count
}
