package server

import "countd/engine"

func cmdDel(s *Session, args [][]byte)    { s.count(s.srv.eng.Del(&s.op, args[1:])) }
func cmdUnlink(s *Session, args [][]byte) { s.count(s.srv.eng.Del(&s.op, args[1:])) }
func cmdExists(s *Session, args [][]byte) { s.count(s.srv.eng.Exists(&s.op, args[1:])) }
func cmdTouch(s *Session, args [][]byte)  { s.count(s.srv.eng.Exists(&s.op, args[1:])) }
func cmdDbsize(s *Session, args [][]byte) { s.count(s.srv.eng.DBSize(&s.op)) }

func cmdType(s *Session, args [][]byte) {
	t, err := s.srv.eng.TypeOf(&s.op, args[1])
	if err != nil {
		s.fail(err)
		return
	}
	s.simple(typeName(t))
}

// typeName is the name of a type as TYPE replies it.
func typeName(t engine.Type) string {
	if t == engine.TypeString {
		return "string"
	}
	return "none"
}

func cmdRandomkey(s *Session, args [][]byte) {
	var key []byte
	var ok bool
	s.readAside(func(op *engine.Op) (err error) {
		key, ok, err = s.srv.eng.RandomKey(op)
		return err
	}, func(err error) {
		switch {
		case err != nil:
			s.fail(err)
		case ok:
			s.bulk(key)
		default:
			s.null()
		}
	})
}

func cmdFlushdb(s *Session, args [][]byte)  { s.flush(args, s.srv.eng.FlushDB) }
func cmdFlushall(s *Session, args [][]byte) { s.flush(args, s.srv.eng.FlushAll) }

// flush is the body of FLUSHDB and FLUSHALL. ASYNC and SYNC do the same: old keys are always freed
// in the background.
func (s *Session) flush(args [][]byte, flush func(*engine.Op) error) {
	if len(args) > 2 || len(args) == 2 && !option(args[1], "sync") && !option(args[1], "async") {
		s.err(errSyntax)
		return
	}
	if err := flush(&s.op); err != nil {
		s.fail(err)
		return
	}
	s.ok()
}
