package server

import (
	"crypto/subtle"

	"countd/engine"
)

func cmdPing(s *Session, args [][]byte) {
	switch len(args) {
	case 1:
		s.simple("PONG")
	case 2:
		s.bulk(args[1])
	default:
		s.err("ERR wrong number of arguments for 'ping' command")
	}
}

func cmdEcho(s *Session, args [][]byte) { s.bulk(args[1]) }

func cmdQuit(s *Session, args [][]byte) {
	s.ok()
	s.closeAfterReply = true
}

func cmdSelect(s *Session, args [][]byte) {
	if db, ok := s.dbArg(args[1]); ok {
		s.op.DB = db
		s.ok()
	}
}

func cmdAuth(s *Session, args [][]byte) {
	if len(args) > 3 {
		s.err(errSyntax)
		return
	}
	user, password := []byte("default"), args[len(args)-1]
	if len(args) == 3 {
		user = args[1]
	} else if s.srv.cfg.Value("requirepass") == "" {
		s.err(errNoPassword)
		return
	}
	if !s.authenticate(user, password) {
		s.err(errWrongPass)
		return
	}
	s.ok()
}

// authenticate reports whether the password is that of the user and lets the client in. There is
// one user, default; without requirepass every password is his.
func (s *Session) authenticate(user, password []byte) bool {
	want := s.srv.cfg.Value("requirepass")
	if string(user) != "default" ||
		want != "" && subtle.ConstantTimeCompare([]byte(want), password) == 0 {
		return false
	}
	s.authed = true
	return true
}

func cmdHello(s *Session, args [][]byte) {
	version := int64(0)
	if len(args) > 1 {
		var ok bool
		if version, ok = engine.ParseInt(args[1]); !ok {
			s.err("ERR Protocol version is not an integer or out of range")
			return
		}
		if version < 2 || version > 3 {
			s.err(errNoProto)
			return
		}
		if !s.helloOptions(args[2:]) {
			return
		}
	}
	if !s.authed {
		s.err(errHelloNoAuth)
		return
	}
	if version != 0 {
		s.resp3 = version == 3
	}
	s.greet()
}

// helloOptions carries out AUTH user password and SETNAME name, or replies with the error.
func (s *Session) helloOptions(opts [][]byte) bool {
	for len(opts) > 0 {
		switch {
		case option(opts[0], "auth") && len(opts) >= 3:
			if !s.authenticate(opts[1], opts[2]) {
				s.err(errWrongPass)
				return false
			}
			opts = opts[3:]
		case option(opts[0], "setname") && len(opts) >= 2:
			if !s.setName(opts[1]) {
				return false
			}
			opts = opts[2:]
		default:
			s.errf("ERR Syntax error in HELLO option '%s'", cString(opts[0]))
			return false
		}
	}
	return true
}

// greet is the reply of HELLO. Clients look for a redis of a version they know, some for the order
// of the fields.
func (s *Session) greet() {
	proto := 2
	if s.resp3 {
		proto = 3
	}
	s.mapHeader(7)
	s.field("server", "redis")
	s.field("version", redisVersion)
	s.fieldInt("proto", proto)
	s.bulkString("id")
	s.int(s.id)
	s.field("mode", "standalone")
	s.field("role", "master")
	s.bulkString("modules")
	s.array(0)
}

// redisVersion is the version of Redis that countd answers like.
const redisVersion = "7.0.15"

// setName gives the connection a name, or takes it where the name is empty. It replies only with
// the error of a name with other than printable characters.
func (s *Session) setName(name []byte) bool {
	if !printable(name) {
		s.err(errClientName)
		return false
	}
	s.name = string(name)
	return true
}

// printable reports whether text has neither spaces, line ends nor special characters.
func printable(text []byte) bool {
	for _, b := range text {
		if b < '!' || b > '~' {
			return false
		}
	}
	return true
}

// cmdReset makes the connection like a new one, but for its id.
func cmdReset(s *Session, args [][]byte) {
	s.op.DB = 0
	s.resp3 = false
	s.name = ""
	if s.replyMode != replySkip { // as in Redis, CLIENT REPLY SKIP holds for RESET too
		s.replyMode = replyOn
	}
	s.authed = s.srv.cfg.Value("requirepass") == ""
	s.simple("RESET")
}
