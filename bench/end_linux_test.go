package main

import "testing"

// TestTheServersOfAKilledComparisonEnd: Linux alone ends the children of a killed process.
func TestTheServersOfAKilledComparisonEnd(t *testing.T) {
	c := startComparison(t)
	addrs := c.servers(t)
	c.cmd.Process.Kill()
	c.wait(t)
	gone(t, addrs)
}
