package server

import "time"

const errNoAuth = "NOAUTH Authentication required."

// A commandRun is a run of equal commands within a turn. Pipelines are mostly one command over and
// over, so its row is looked up once, and the clock is read at the ends of the run and now and then
// inside, not for each command.
type commandRun struct {
	name []byte   // as the client wrote it; empty where the row depends on more than the name
	cmd  *command // the row of name, or of the last command; nil where that was unknown

	calls, rejected uint64 // of this run, not yet in the statistics
	errsBefore      uint64 // Session.errs when the run began

	turnStart time.Duration // since the process began
	runStart  time.Duration
	untilLook int  // commands until the clock is read again
	late      bool // the turn has taken its time
	wrote     bool // a command of the turn was one that writes
}

// The clock is read every clockStride commands, or after each where they take long.
const (
	clockStride = 32
	slowCommand = 20 * time.Microsecond
)

var processStart = time.Now()

func clock() time.Duration { return time.Since(processStart) }

func (s *Session) beginTurn() {
	r := &s.cur
	now := s.readClocks()
	r.turnStart, r.runStart = now, now
	r.errsBefore = s.errs
	r.untilLook = clockStride
	r.late = false
}

// readClocks sets the instant of the session's commands and returns the clock. Sessions that have
// their turns one after the other in one turn of the loop share the readings.
func (s *Session) readClocks() time.Duration {
	l := s.loop
	if l == nil || !l.inTurn {
		s.op.NowMs = s.srv.nowMs()
		return clock()
	}
	if l.nowMs == 0 || l.clockAt-l.nowMsAt > sharedInstant {
		l.nowMs, l.nowMsAt = s.srv.nowMs(), l.clockAt
	}
	s.op.NowMs = l.nowMs
	return l.clockAt
}

// sharedInstant is how long sessions share an instant.
const sharedInstant = 200 * time.Microsecond

func (s *Session) endTurn() {
	now := clock()
	if s.loop != nil {
		s.loop.clockAt = now
	}
	s.look(now)
	s.in.trim()
	if s.cur.wrote {
		s.cur.wrote = false
		s.slowDown(now)
	}
}

// dispatch runs one command: finds its row, checks it, and calls its handler.
func (s *Session) dispatch(args [][]byte) {
	r := &s.cur
	if len(r.name) == 0 || string(args[0]) != string(r.name) {
		s.find(args)
	}
	if s.replyMode != replyOn {
		s.runQuietly(args)
	} else {
		s.run(r.cmd, args)
	}
	if r.untilLook--; r.untilLook <= 0 {
		s.look(clock())
	}
}

// find makes the row that serves args the run's, and ends the run before where that is another.
func (s *Session) find(args [][]byte) {
	r := &s.cur
	cmd := resolve(args)
	if cmd != r.cmd {
		if r.calls+r.rejected > 0 {
			s.look(clock())
		}
		r.cmd = cmd
	}
	r.name = r.name[:0]
	if cmd != nil && cmd.handler != nil && len(cmd.sub) == 0 && !isSubcommand(cmd) {
		r.name = append(r.name, args[0]...)
	}
}

// isSubcommand reports whether cmd is a row below a container, such as client|id.
func isSubcommand(cmd *command) bool {
	for i := range cmd.name {
		if cmd.name[i] == '|' {
			return true
		}
	}
	return false
}

// run checks a command as Redis does, in its order, and runs it.
func (s *Session) run(cmd *command, args [][]byte) {
	switch {
	case cmd == nil:
		s.refuseUnknown(args)
	case !cmd.arityOK(len(args)):
		s.cur.rejected++
		s.err(cmd.arityError())
	case !s.authed && s.needsAuth() && !cmd.is(flagNoAuth):
		s.cur.rejected++
		s.err(errNoAuth)
	case cmd.handler == nil:
		s.refuseUnknown(args)
	default:
		s.cur.calls++
		cmd.handler(s, args)
	}
}

// refuseUnknown replies that there is no such command. A browser that was led to send us HTTP is cut
// off instead, before a body that holds commands comes.
func (s *Session) refuseUnknown(args [][]byte) {
	if equalFold(args[0], "post") || equalFold(args[0], "host:") {
		s.srv.log.Warn("possible SECURITY ATTACK: a client sends HTTP, which may be an attempt at "+
			"cross-protocol scripting; connection closed", "client", s.id, "addr", s.addr)
		s.closeAfterReply, s.abort = true, true
		return
	}
	s.cur.rejected++
	s.err(unknownCommand(args))
}

// runQuietly runs a command under CLIENT REPLY OFF or SKIP. CLIENT REPLY ON is answered.
func (s *Session) runQuietly(args [][]byte) {
	if s.replyMode == replySkipNext {
		s.replyMode = replySkip
	}
	mark := len(s.out)
	s.run(s.cur.cmd, args)
	if s.replyMode != replyOn {
		s.out = s.out[:mark]
	}
	if s.replyMode == replySkip {
		s.replyMode = replyOn
	}
}

// look reads the clock: it books the run so far, and where commands take long it moves their
// instant on and ends the turn in time.
func (s *Session) look(now time.Duration) {
	r := &s.cur
	took := now - r.runStart
	calls := r.calls
	if calls+r.rejected > 0 {
		s.bookRun(took)
	}
	r.runStart = now
	r.untilLook = clockStride
	if calls > 0 && took > time.Duration(calls)*slowCommand {
		r.untilLook = 1
		s.op.NowMs = s.srv.nowMs()
	}
	r.late = now-r.turnStart > maxTurnTime
}

// bookRun adds the run so far to the statistics and begins it anew.
func (s *Session) bookRun(took time.Duration) {
	r := &s.cur
	stats := s.counters()
	failed := s.errs - r.errsBefore
	if failed > 0 {
		stats.errorReplies.Add(failed)
	}
	if r.cmd != nil {
		row := &stats.rows[r.cmd.id]
		row.calls.Add(r.calls)
		r.wrote = r.wrote || r.calls > 0 && r.cmd.is(flagWrite)
		row.nanos.Add(uint64(took))
		if r.rejected > 0 {
			row.rejected.Add(r.rejected)
		}
		if failed > r.rejected {
			row.failed.Add(failed - r.rejected)
		}
	}
	r.calls, r.rejected, r.errsBefore = 0, 0, s.errs
}
