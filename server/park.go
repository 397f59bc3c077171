package server

import (
	"bytes"

	"countd/engine"
)

// Parking: a session whose next commands need entries that are in the store alone stops, a goroutine reads
// them, and a posted task lets the session go on; its loop serves the others meanwhile. The replies of a
// connection keep their order, since it has only one command under way.
//
// That the entries are in the table then is likely, not certain: they may have been evicted again. The
// engine reads what is missing itself, so that parking is only for the neighbours' sake.
//
// A command that takes long and is no business of the loop, SAVE, parks its session too (await), and so does
// one that reads the store without naming keys, SCAN (readAside).

// maxLoads bounds the sessions of a server that are being loaded for at one time; others wait.
const maxLoads = 64

// mayPark reports whether entries may be in the store alone, and the session has a loop to go on without
// it.
func (s *Session) mayPark() bool { return s.loop != nil && s.srv.eng != nil && s.srv.eng.Partial() }

// maxLoadKeys bounds the commands that a parked session is read for, and from how many keys on it looks no
// further ahead. Each time costs two changes of goroutine, and keys that are read together cost less.
const maxLoadKeys = 64

// park parks the session if the commands at the start of b, which are of the common form, need entries
// that are not in the table; then it looks further ahead.
func (s *Session) park(a *lookahead, b []byte) bool {
	n := a.split(b)
	a.keys = a.keys[:0]
	for i := range a.cmds[:n] {
		a.keys = s.appendKeys(a.keys, a.cmds[i].args)
		b = b[a.cmds[i].size:]
	}
	absent := s.absent(a.keys)
	if len(absent) == 0 {
		return false
	}
	if n == maxAhead { // else nothing of the common form follows
		var args [][]byte
		a.keys = a.keys[:0]
		for size := 0; n < maxLoadKeys && len(absent)+len(a.keys) < maxLoadKeys; n++ {
			if args, size = commonCommand(b, args[:0]); size == 0 {
				break
			}
			a.keys = s.appendKeys(a.keys, args)
			b = b[size:]
		}
		absent = append(absent, s.absent(a.keys)...)
	}
	s.parkFor(absent, n)
	return true
}

// parkArgs is park for one command of any form.
func (s *Session) parkArgs(args [][]byte) bool {
	absent := s.absent(s.appendKeys(nil, args))
	if len(absent) == 0 {
		return false
	}
	s.parkFor(absent, 1)
	return true
}

// absent is those of keys that may be in the store alone, copied.
func (s *Session) absent(keys [][]byte) [][]byte {
	absent := s.srv.eng.Absent(&s.op, keys, nil)
	for i, key := range absent {
		absent[i] = bytes.Clone(key)
	}
	return absent
}

// appendKeys appends the keys that a command names.
func (s *Session) appendKeys(dst [][]byte, args [][]byte) [][]byte {
	cmd := s.cur.cmd
	if len(args) == 0 {
		return dst
	}
	if string(args[0]) != string(s.cur.name) {
		cmd = lookup(args[0])
	}
	if cmd == nil || !cmd.arityOK(len(args)) {
		return dst
	}
	for _, k := range cmd.keys {
		k.positions(len(args), func(i int) { dst = append(dst, args[i]) })
	}
	return dst
}

// parkFor parks the session until absent, which are the keys that its next n commands lack, were read.
func (s *Session) parkFor(absent [][]byte, n int) {
	s.parked, s.more = true, true
	l, db := s.loop, s.op.DB
	srv := s.srv
	srv.loading.Add(1)
	srv.aside.Add(1)
	go func() {
		defer srv.loading.Done()
		srv.loads <- struct{}{}
		srv.eng.Load(db, absent)
		<-srv.loads
		srv.aside.Add(-1)
		l.post(func() {
			s.parked, s.loaded = false, n
			l.resume(s)
		})
	}()
}

// await parks the session until work, which runs in a goroutine of its own and must not touch it, has
// ended; then reply replies to the command. A session without a loop waits itself.
func (s *Session) await(work, reply func()) {
	if s.loop == nil {
		work()
		reply()
		return
	}
	s.parked = true
	l, cmd, quiet := s.loop, s.cur.cmd, s.replyMode != replyOn
	s.srv.aside.Add(1)
	go func() {
		work()
		s.srv.aside.Add(-1)
		l.post(func() {
			if s.gone {
				return
			}
			s.parked = false
			s.out = l.buffer(s.out)
			mark, errs := len(s.out), s.errs
			if reply(); s.errs > errs {
				l.stats.errorReplies.Add(1)
				l.stats.rows[cmd.id].failed.Add(1)
			}
			if quiet {
				s.out = s.out[:mark]
			}
			l.resume(s)
		})
	}()
}

// readAside has read read what may be in the store alone, with an Op that is like the session's, and then
// reply. Where the store may have to be asked, read runs beside the loop and must not touch the session.
func (s *Session) readAside(read func(op *engine.Op) error, reply func(err error)) {
	op := engine.Op{DB: s.op.DB, NowMs: s.op.NowMs}
	var err error
	answer := func() {
		s.op.Seen = max(s.op.Seen, op.Seen)
		reply(err)
	}
	if !s.mayPark() {
		err = read(&op)
		answer()
		return
	}
	srv := s.srv
	srv.loading.Add(1)
	s.await(func() {
		defer srv.loading.Done()
		srv.loads <- struct{}{}
		err = read(&op)
		<-srv.loads
	}, answer)
}
