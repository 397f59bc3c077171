package server

import "time"

// Where clients write faster than the store takes it, their sessions rest between two turns, so that the
// log does not grow beyond what a restart replays in time (Engine.Slowness). Only sessions that write
// rest: their loop serves the others meanwhile. Of all the time of a loop, its writers together work one
// part and rest as many parts as Slowness says, however many they are: each turn moves on the instant
// until which they rest.

const (
	// minRest is from when on a session rests, since shorter rests take longer than they should.
	minRest = 200 * time.Microsecond
	// maxRest bounds a rest: it is for a thousand clients at the greatest slowness, whose turns take 15 us.
	maxRest = time.Second
	// maxRestingInput is how many bytes a session takes in while it rests. The socket keeps what comes then.
	maxRestingInput = 64 << 10
)

// slowDown has the session rest behind a turn of writes that ends now, if that is necessary.
func (s *Session) slowDown(now time.Duration) {
	l := s.loop
	if l == nil || s.srv.eng == nil || s.closeAfterReply {
		return
	}
	f := s.srv.eng.Slowness()
	if f == 0 {
		l.restUntil = 0
		return
	}
	work := now - s.cur.turnStart
	l.restUntil = min(max(l.restUntil, now)+work*time.Duration(f), now+maxRest)
	rest := l.restUntil - now
	if rest < minRest {
		return
	}
	s.resting = true
	s.srv.after(rest, func() {
		l.post(func() {
			s.resting = false
			l.stats.slowed.Add(uint64(rest))
			l.resume(s)
		})
	})
}

// putsOffReading reports whether the poller must not read s now; then settleTurn has it read later.
func (s *Session) putsOffReading() bool {
	s.unread = s.resting && s.pendingInput() >= maxRestingInput
	return s.unread
}
