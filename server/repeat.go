package server

import "bytes"

// Pipelines on a hot counter are one command over and over, byte for byte. Such a run is parsed once and,
// for the commands that have a way to, done at one time: k increments are one addition, k reads one read.

// minRepeats is from how many equal commands on they are done at one time.
const minRepeats = 4

// first splits the first command off b where it is complete and of the common form.
func (a *lookahead) first(b []byte) bool {
	c := &a.cmds[0]
	c.args, c.size = commonCommand(b, c.args[:0])
	c.same = false
	return c.size > 0
}

// repeats returns how many times the first command stands at the start of b, at most limit.
func (a *lookahead) repeats(b []byte, limit int) (k int) {
	size := a.cmds[0].size
	one := b[:size]
	for k = 1; k < limit && bytes.HasPrefix(b[size*k:], one); k++ {
	}
	return k
}

// runRepeats runs the first command k times, or fewer where the turn is over: it returns how many times.
func (s *Session) runRepeats(args [][]byte, k int) (done int) {
	if string(args[0]) != string(s.cur.name) {
		s.find(args)
	}
	if cmd := s.cur.cmd; cmd != nil && cmd.arityOK(len(args)) && s.replyMode == replyOn && !s.needsAuth() {
		switch {
		case cmd.delta != nil:
			if delta, ok := cmd.delta(args); ok {
				done = s.addTimes(args[1], delta, k)
			}
		case cmd.repeat != nil:
			done = cmd.repeat(s, args, k)
		}
		s.ran(done)
	}
	// One by one: those behind an error, and commands that know no other way.
	for done < k && (done == 0 || !s.turnOver(0)) {
		s.dispatch(args)
		done++
	}
	return done
}

// ran books n commands of the run.
func (s *Session) ran(n int) {
	r := &s.cur
	r.calls += uint64(n)
	if r.untilLook -= n; r.untilLook <= 0 {
		s.look(clock())
	}
}

// addTimes adds delta to a counter k times, until one fails.
func (s *Session) addTimes(key []byte, delta int64, k int) (done int) {
	sum, n, err := s.srv.eng.IncrByTimes(&s.op, key, delta, k)
	for i := range n {
		s.int(sum + int64(i)*delta)
	}
	if err != nil {
		s.fail(err)
		n++
	}
	return n
}

// getTimes replies k times with the value of a key, or fewer where that is much. All of them are read at
// one instant.
func getTimes(s *Session, args [][]byte, k int) (done int) {
	v, err := s.srv.eng.GetTimes(&s.op, args[1], k)
	if err != nil {
		s.fail(err)
		return 1
	}
	mark := len(s.out)
	s.value(v)
	one := s.out[mark:len(s.out):len(s.out)]
	for done = 1; done < k && len(s.out) <= maxTurnReplyBytes; done++ {
		s.out = append(s.out, one...)
	}
	return done
}
