package main

import (
	"io"
	"sync"
)

// lockedWriter is safe for concurrent use: progress lines and what connections find wrong go to the
// same output. A Write is never cut by another.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
