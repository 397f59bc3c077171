package server

import (
	"time"

	"countd/engine"
)

// What one session may do before its neighbours get their turn.
const (
	maxTurnCommands   = 4096
	maxTurnReplyBytes = 256 << 10
	maxTurnTime       = 2 * time.Millisecond
)

// maxPendingOutput is how many bytes of replies may wait for the disk before the session's next
// command does too.
const maxPendingOutput = 1 << 20

// keptBufferSize is the largest query buffer that an idle session keeps.
const keptBufferSize = 16 << 10

// A Session is one client's conversation: it turns input bytes into commands and appends reply
// bytes. It owns its input and its output and no socket, so that transports, tests and fuzzers feed
// it alike. A Session is used by one goroutine at a time (its event loop); what others may read is
// in pub.
type Session struct {
	srv   *Server
	op    engine.Op // what the engine keeps for this caller; op.Seen is the epoch replies wait for
	out   []byte    // replies not yet taken by the transport
	resp3 bool

	id                    int64
	authed                bool // no password was asked for when the client came, or it gave it
	name, libName, libVer string
	createdMs             int64
	replyMode             replyMode

	closeAfterReply bool // no more commands; close once out has left
	abort           bool // close at once, whatever is in out

	// Input. The parser's command under way begins at qbuf[qpos], or at the start of the bytes
	// that turn was given.
	in   parser
	qbuf []byte
	qpos int
	more bool       // qbuf may hold complete commands that have not run
	own  *lookahead // of a session without a loop

	cur  commandRun
	errs uint64 // error replies so far

	link // the transport's part
	pub  published
}

// replyMode is the state of CLIENT REPLY.
type replyMode uint8

const (
	replyOn       replyMode = iota
	replyOff                // until CLIENT REPLY ON
	replySkipNext           // set by CLIENT REPLY SKIP: the command after it has no reply
	replySkip               // the present command has no reply
)

// newSession returns a session that no transport drives yet.
func (srv *Server) newSession() *Session {
	s := &Session{srv: srv, id: srv.lastID.Add(1), authed: !srv.passwordSet.Load()}
	s.link.fd = -1
	s.createdMs = srv.nowMs()
	s.lastMs = s.createdMs
	return s
}

// needsAuth reports whether the client must authenticate itself first.
func (s *Session) needsAuth() bool { return !s.authed && s.srv.passwordSet.Load() }

// feed takes bytes that arrived, in order, and runs the commands they complete, for at most one
// turn. data stays the caller's. Where it leaves complete commands behind it sets more: the
// transport calls resume when the others have had their turn. It only stores data where the session
// has such commands already, or is stalled.
func (s *Session) feed(data []byte) {
	switch {
	case s.closeAfterReply:
	case s.more:
		s.keep(data)
	case s.stalled():
		s.keep(data)
		s.more = true
	case s.qpos < len(s.qbuf):
		s.keep(data)
		s.resume()
	default:
		n := s.turn(data)
		s.keep(data[n:])
	}
}

// resume runs one turn from what is stored.
func (s *Session) resume() {
	s.qpos += s.turn(s.qbuf[s.qpos:])
	if s.qpos == len(s.qbuf) {
		s.qbuf, s.qpos = s.qbuf[:0], 0
		if cap(s.qbuf) > keptBufferSize {
			s.qbuf = nil
		}
	}
}

// keep stores input for later. It grows the buffer for bytes that are there, at most doubling it,
// and no further than the argument under way needs.
func (s *Session) keep(data []byte) {
	if len(data) == 0 {
		return
	}
	if s.qpos > len(s.qbuf)/2 { // so that each byte moves down once, on average
		s.qbuf = s.qbuf[:copy(s.qbuf, s.qbuf[s.qpos:])]
		s.qpos = 0
	}
	if need := len(s.qbuf) + len(data); need > cap(s.qbuf) {
		size := max(need, 2*cap(s.qbuf))
		if wants := s.qpos + s.in.wants(); wants >= need {
			size = min(size, wants)
		}
		grown := make([]byte, len(s.qbuf), size)
		copy(grown, s.qbuf)
		s.qbuf = grown
	}
	s.qbuf = append(s.qbuf, data...)
}

// pendingInput is the number of bytes stored.
func (s *Session) pendingInput() int { return len(s.qbuf) - s.qpos }

// turn runs the complete commands in b, as many as one turn may, and returns how many bytes they
// took. All of them see one instant unless some take long.
func (s *Session) turn(b []byte) (n int) {
	s.more = false
	s.beginTurn()
	limits := parseLimits{maxBulkLen: s.srv.maxBulkLen()}
	loaded := s.loaded
	s.loaded = 0
	for commands, over := 0, false; n < len(b) && !over; {
		if limits.unauthed = s.needsAuth(); !limits.unauthed && s.in.idle() {
			if ahead := s.lookahead(); ahead.first(b[n:]) {
				if commands >= loaded && s.mayPark() && s.park(ahead, b[n:]) {
					break
				}
				if k := ahead.repeats(b[n:], maxTurnCommands-commands); k >= minRepeats {
					k = s.runRepeats(ahead.cmds[0].args, k)
					n += k * ahead.cmds[0].size
					commands += k
					over = s.turnOver(commands)
					continue
				}
				split := ahead.split(b[n:])
				if left := loaded - commands; left > 0 { // behind those another look is due
					split = min(split, left)
				}
				if split >= minPrefetch {
					s.prefetch(ahead, split)
				}
				for i := 0; i < split && !over; { // where the turn is over, the rest is split off again
					for k := s.runSplit(ahead, i, split); k > 0; k-- {
						n += ahead.cmds[i].size
						commands++
						i++
					}
					over = s.turnOver(commands)
				}
				continue
			}
		}
		args, size, err := s.in.next(b[n:], limits)
		if err != nil {
			s.protocolError(err.(protocolError), b[n:])
			break
		}
		if size == 0 {
			break
		}
		if commands >= loaded && !limits.unauthed && s.mayPark() && s.parkArgs(args) {
			break
		}
		n += size
		commands++
		if len(args) > 0 {
			s.dispatch(args)
		} else if s.replyMode == replySkipNext { // as in Redis, an empty command uses it up
			s.replyMode = replyOn
		}
		over = s.turnOver(commands)
	}
	s.endTurn()
	if s.closeAfterReply { // what follows is never read
		n = len(b)
	}
	s.more = s.more && n < len(b)
	return n
}

// turnOver reports whether the session must not run another command now, and sets more where that is
// for its neighbours' sake.
func (s *Session) turnOver(commands int) bool {
	if s.closeAfterReply {
		return true
	}
	if s.parked {
		s.more = true
		return true
	}
	s.more = commands >= maxTurnCommands || len(s.out) > maxTurnReplyBytes || s.cur.late
	return s.more
}

// lookahead is the one of the session's loop.
func (s *Session) lookahead() *lookahead {
	if s.loop != nil {
		return &s.loop.ahead
	}
	if s.own == nil {
		s.own = new(lookahead)
	}
	return s.own
}

// protocolError replies with the violation and ends the conversation.
func (s *Session) protocolError(e protocolError, rest []byte) {
	s.srv.log.Debug("protocol error", "client", s.id, "addr", s.addr, "error", string(e),
		"input", string(rest[:min(len(rest), 64)]))
	mark := len(s.out)
	s.err("ERR " + e.Error())
	if s.replyMode != replyOn {
		s.out = s.out[:mark]
	}
	s.closeAfterReply = true
}
