package server

import (
	"testing"
	"time"
)

// TestOnlyABusyLoopWithManyClientsNaps steps a moderator through loads.
func TestOnlyABusyLoopWithManyClientsNaps(t *testing.T) {
	for name, c := range map[string]struct {
		clients, perTurn int
		work, idle       time.Duration // of a turn
		naps             bool
	}{
		"busy, many clients, few a turn": {50, 8, 60 * time.Microsecond, 20 * time.Microsecond, true},
		"half the load":                  {50, 8, 30 * time.Microsecond, 50 * time.Microsecond, false},
		"all clients in each turn":       {8, 8, 60 * time.Microsecond, 20 * time.Microsecond, false},
		"one client":                     {1, 1, 60 * time.Microsecond, 0, false},
		"two clients of fifty":           {50, 2, 60 * time.Microsecond, 20 * time.Microsecond, false},
	} {
		var m moderator
		m.window = 1
		sessions := make([]Session, c.clients)
		now, next, naps := time.Duration(0), 0, 0
		const turns = 2000
		for range turns {
			now += c.idle
			start := now
			for range c.perTurn {
				m.heard(&sessions[next%c.clients])
				next++
			}
			if now += c.work; m.turn(c.perTurn, start, now) {
				naps++
			}
		}
		if c.naps && naps < turns*9/10 || !c.naps && naps > 0 {
			t.Errorf("%s: %d naps in %d turns", name, naps, turns)
		}
	}
}
