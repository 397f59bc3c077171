package store

import (
	"runtime"
	"strings"
	"time"
)

// Pebble reads some statistics of every table once, in a goroutine of its own. Where it cannot, since the table
// is damaged, it says so and tries again at once, without end: a core and megabytes of log a second. All that it
// calls between two tries is its event listener, without a lock; so that is where it is made to wait.

// statsRetry is for how long.
const statsRetry = 30 * time.Second

// backgroundError is Pebble's report of an error that no call returns.
func (s *Store) backgroundError(err error) {
	pebbleLogger{s}.Errorf("background: %v", explain(err))
	if !readsTableStats() {
		return
	}
	t := time.NewTimer(statsRetry)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.pace.stopped:
	}
}

// readsTableStats reports whether the caller is that goroutine. Others may hold Pebble's lock.
func readsTableStats() bool {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, "pebble/v2.(*DB).collectTableStats") {
			return true
		}
		if !more {
			return false
		}
	}
}
