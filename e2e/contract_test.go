package e2e

import (
	"fmt"
	"testing"
)

// TestAContractSurvivesAKill: the reply to CNT.CONTRACT waits for the disk whatever the policy, so that a
// kill right after it takes nothing back; what the contract refused stays refused.
func TestAContractSurvivesAKill(t *testing.T) {
	for _, fsync := range []string{"always", "everysec", "no"} {
		t.Run(fsync, func(t *testing.T) {
			p := start(t, plainServer, t.TempDir(), "--appendfsync", fsync)
			for round := int64(1); round <= 5; round++ {
				c := p.dial()
				for i := range round {
					glob := fmt.Sprintf("k%d:%d*", round, i)
					if r := c.do("CNT.CONTRACT", "SET", glob, "MAX", fmt.Sprint(round)); !r.same(okReply) {
						t.Fatal(r)
					}
				}
				if r := c.do("CNT.CONTRACT", "DEL", fmt.Sprintf("k%d:0*", round)); !r.same(intReply(1)) {
					t.Fatal(r)
				}
				p.kill()
				p = start(t, plainServer, p.dir, "--appendfsync", fsync)
				c = p.dial()
				list := c.do("CNT.CONTRACT", "LIST").elements()
				if want := round * (round - 1) / 2; int64(len(list)) != want {
					t.Fatalf("round %d: %d contracts, want %d", round, len(list), want)
				}
				if round == 1 {
					continue
				}
				key := fmt.Sprintf("k%d:1", round)
				if r := c.do("INCRBY", key, fmt.Sprint(round)); !r.same(intReply(round)) {
					t.Error(r)
				}
				want := reply{kind: '-', s: "ERR increment would leave the range of the counter's contract"}
				if r := c.do("INCR", key); !r.same(want) {
					t.Error(r)
				}
			}
			p.checkQuiet()
			p.stop()
		})
	}
}
