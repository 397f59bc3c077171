package server

import "countd/engine"

// value replies with the value of a string key: a bulk string, or null where there is no key.
func (s *Session) value(v engine.Value) {
	switch {
	case !v.Exists:
		s.null()
	case v.IsInt:
		s.bulkInt(v.Int)
	default:
		s.bulk(v.Bytes)
	}
}

func cmdGet(s *Session, args [][]byte) {
	s.valueOr(s.srv.eng.Get(&s.op, args[1]))
}

func cmdMget(s *Session, args [][]byte) {
	values, err := s.srv.eng.MGet(&s.op, args[1:])
	if err != nil {
		s.fail(err)
		return
	}
	s.array(len(values))
	for _, v := range values {
		s.value(v)
	}
}

func cmdGetdel(s *Session, args [][]byte) {
	s.valueOr(s.srv.eng.GetDel(&s.op, args[1]))
}

func cmdGetset(s *Session, args [][]byte) {
	old, _, err := s.srv.eng.Set(&s.op, args[1], args[2], engine.SetOptions{WantOld: true})
	if err != nil {
		s.fail(err)
		return
	}
	s.value(old)
}

func cmdStrlen(s *Session, args [][]byte) {
	n, err := s.srv.eng.Strlen(&s.op, args[1])
	if err != nil {
		s.fail(err)
		return
	}
	s.int(n)
}

// cmdGetrange serves SUBSTR too.
func cmdGetrange(s *Session, args [][]byte) {
	start, ok := s.intArg(args[2])
	if !ok {
		return
	}
	end, ok := s.intArg(args[3])
	if !ok {
		return
	}
	part, err := s.srv.eng.GetRange(&s.op, args[1], start, end)
	if err != nil {
		s.fail(err)
		return
	}
	s.bulk(part)
}

// cmdGetex replies with the value and changes the time to live. As in Redis, an absent key is
// answered before the expire time is looked at, but after the options.
func cmdGetex(s *Session, args [][]byte) {
	var expire []byte
	var unit timeUnit
	persist := false
	for opts := args[2:]; len(opts) > 0; opts = opts[1:] {
		u, isTime := setTimeUnit(opts[0])
		switch {
		case isTime && !persist && len(opts) > 1 && (expire == nil || unit == u):
			expire, unit, opts = opts[1], u, opts[1:]
		case option(opts[0], "persist") && expire == nil:
			persist = true
		default:
			s.err(errSyntax)
			return
		}
	}
	atMs := int64(0)
	switch {
	case persist:
		atMs = engine.NoExpiry
	case expire != nil:
		if v, err := s.srv.eng.Get(&s.op, args[1]); err != nil || !v.Exists {
			s.valueOr(v, err)
			return
		}
		var ok bool
		if atMs, ok = s.setExpiry(args, expire, unit); !ok {
			return
		}
	}
	s.valueOr(s.srv.eng.GetEx(&s.op, args[1], atMs))
}

// valueOr replies with the value, or with the error.
func (s *Session) valueOr(v engine.Value, err error) {
	if err != nil {
		s.fail(err)
		return
	}
	s.value(v)
}
