package engine

import "testing"

// TestWarmingProgress: a start that left something to read back says so from the first instant on.
func TestWarmingProgress(t *testing.T) {
	for name, c := range map[string]struct {
		left, ended bool
		done, of    int64
		running     bool
		percent     float64
	}{
		"nothing was left":          {ended: true, percent: 100},
		"the loop is not there yet": {left: true, running: true},
		"half of it":                {left: true, done: 5, of: 10, running: true, percent: 50},
		"as much as fits":           {left: true, ended: true, done: 5, of: 10, percent: 50},
		"all of it":                 {ended: true, done: 10, of: 10, percent: 100},
	} {
		var w warming
		w.left.Store(c.left)
		w.ended.Store(c.ended)
		w.done.Store(c.done)
		w.of.Store(c.of)
		if running, percent := w.progress(); running != c.running || percent != c.percent {
			t.Errorf("%s: %v, %v", name, running, percent)
		}
	}
}
