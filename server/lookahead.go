package server

import "bytes"

// A session that has many complete commands before it splits a few off before it runs the first. What
// their keys will need from memory is then fetched while the processor has other work: among a million
// counters that is most of the time an INCRBY takes.

const (
	// maxAhead is how many commands are split off at a time.
	maxAhead = 16
	// minPrefetch is from how many keys on fetching ahead pays.
	minPrefetch = 4
)

// lookahead is the commands that were split off. Every loop has one; a session uses it in its turn.
type lookahead struct {
	cmds [maxAhead]aheadCommand
	keys [][]byte

	deltas, sums [maxAhead]int64 // of a run of increments
}

type aheadCommand struct {
	args [][]byte // parts of the buffer; the slice is reused
	size int      // bytes of the command
	same bool     // it is, byte for byte, the command before
}

// split splits complete commands of the common form off b, behind the first, which first has split off,
// and returns how many there are with it. It leaves everything else to the parser. A command that
// repeats the one before is not parsed again.
func (a *lookahead) split(b []byte) (n int) {
	last, b := b[:a.cmds[0].size], b[a.cmds[0].size:]
	n = 1
	for n < maxAhead && len(b) > 0 {
		c := &a.cmds[n]
		if c.same = bytes.HasPrefix(b, last); c.same {
			c.args, c.size = append(c.args[:0], a.cmds[n-1].args...), len(last)
		} else if c.args, c.size = commonCommand(b, c.args[:0]); c.size == 0 {
			break
		}
		last, b = b[:c.size], b[c.size:]
		n++
	}
	return n
}

// prefetch fetches the keys of the first n commands where they are of one kind and not all the same.
func (s *Session) prefetch(a *lookahead, n int) {
	name := a.cmds[0].args[0]
	cmd := s.cur.cmd
	if string(name) != string(s.cur.name) {
		cmd = lookup(name)
	}
	if cmd == nil || cmd.firstKey != 1 {
		return
	}
	a.keys = a.keys[:0]
	different := false
	for i := range a.cmds[:n] {
		args := a.cmds[i].args
		if a.cmds[i].same || len(args) < 2 || !bytes.Equal(args[0], name) {
			continue
		}
		different = different || len(a.keys) > 0 && !bytes.Equal(args[1], a.keys[0])
		a.keys = append(a.keys, args[1])
	}
	if different && len(a.keys) >= minPrefetch && s.srv.eng != nil {
		s.srv.eng.Prefetch(&s.op, a.keys)
	}
}

// runSplit runs commands that were split off from cmds[i] on: one, or a whole run of increments of one
// counter. It returns how many.
func (s *Session) runSplit(a *lookahead, i, n int) int {
	args := a.cmds[i].args
	if i+1 < n && s.replyMode == replyOn && !s.needsAuth() {
		if string(args[0]) != string(s.cur.name) {
			s.find(args)
		}
		if cmd := s.cur.cmd; cmd != nil && cmd.delta != nil {
			if k := a.collectRun(cmd, i, n); k > 1 {
				return s.addRun(args[1], a.deltas[:k], a.sums[:k])
			}
		}
	}
	s.dispatch(args)
	return 1
}

// collectRun collects the deltas of the increments of one counter that begin at cmds[i].
func (a *lookahead) collectRun(cmd *command, i, n int) (k int) {
	first := a.cmds[i].args
	for ; i+k < n; k++ {
		if k > 0 && a.cmds[i+k].same {
			a.deltas[k] = a.deltas[k-1]
			continue
		}
		args := a.cmds[i+k].args
		if len(args) != len(first) || !cmd.arityOK(len(args)) ||
			k > 0 && (!bytes.Equal(args[1], first[1]) || !bytes.Equal(args[0], first[0])) {
			break
		}
		delta, ok := cmd.delta(args)
		if !ok {
			break
		}
		a.deltas[k] = delta
	}
	return k
}

// addRun adds deltas to one counter, one after the other, at one time: the counter is looked up,
// locked and written once. It returns how many commands it answered: where one fails, it is the last.
func (s *Session) addRun(key []byte, deltas, sums []int64) int {
	n, err := s.srv.eng.IncrByRun(&s.op, key, deltas, sums)
	for _, sum := range sums[:n] {
		s.int(sum)
	}
	if err != nil {
		s.fail(err)
		n++
	}
	s.ran(n)
	return n
}
