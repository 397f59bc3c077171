package server

import (
	"fmt"
	"strings"

	"countd/engine"
)

func cmdClientID(s *Session, args [][]byte) { s.int(s.id) }

func cmdClientGetname(s *Session, args [][]byte) {
	if s.name == "" {
		s.null()
		return
	}
	s.bulkString(s.name)
}

func cmdClientSetname(s *Session, args [][]byte) {
	if s.setName(args[2]) {
		s.ok()
	}
}

// cmdClientSetinfo is of Redis 7.2; clients tell their library's name and version with it.
func cmdClientSetinfo(s *Session, args [][]byte) {
	var field *string
	attr := strings.ToLower(string(cString(args[2])))
	switch attr {
	case "lib-name":
		field = &s.libName
	case "lib-ver":
		field = &s.libVer
	default:
		s.errf("ERR Unrecognized option '%s'", cString(args[2]))
		return
	}
	if !printable(args[3]) {
		s.err("ERR " + attr + " cannot contain spaces, newlines or special characters.")
		return
	}
	*field = string(args[3])
	s.ok()
}

func cmdClientInfo(s *Session, args [][]byte) {
	info := s.info()
	s.verbatim(string(info.appendLine(nil, s.op.NowMs))+"\n", "txt")
}

func cmdClientReply(s *Session, args [][]byte) {
	switch {
	case option(args[2], "on"):
		s.replyMode = replyOn
		s.ok()
	case option(args[2], "off"):
		s.replyMode = replyOff
	case option(args[2], "skip"):
		if s.replyMode != replyOff {
			s.replyMode = replySkipNext
		}
	default:
		s.err(errSyntax)
	}
}

// cmdClientNoEvict has nothing to protect the client from: clients are not evicted.
func cmdClientNoEvict(s *Session, args [][]byte) {
	if !option(args[2], "on") && !option(args[2], "off") {
		s.err(errSyntax)
		return
	}
	s.ok()
}

// cmdClientUnpause has nothing to end: there is no CLIENT PAUSE.
func cmdClientUnpause(s *Session, args [][]byte) { s.ok() }

func cmdClientList(s *Session, args [][]byte) {
	var keep func(*clientInfo) bool
	switch {
	case len(args) == 2:
		keep = func(*clientInfo) bool { return true }
	case len(args) == 4 && option(args[2], "type"):
		typ, ok := s.clientType(args[3])
		if !ok {
			return
		}
		keep = func(c *clientInfo) bool { return c.typ() == typ }
	case len(args) > 3 && option(args[2], "id"):
		s.listIDs(args[3:])
		return
	default:
		s.err(errSyntax)
		return
	}
	var text []byte
	infos := s.srv.clients.all(s)
	for i := range infos {
		if keep(&infos[i]) {
			text = append(infos[i].appendLine(text, s.op.NowMs), '\n')
		}
	}
	s.verbatim(string(text), "txt")
}

// listIDs replies with the clients of these ids, in this order.
func (s *Session) listIDs(ids [][]byte) {
	infos := s.srv.clients.all(s)
	byID := make(map[int64]*clientInfo, len(infos))
	for i := range infos {
		byID[infos[i].id] = &infos[i]
	}
	var text []byte
	for _, arg := range ids {
		id, ok := engine.ParseInt(arg)
		if !ok {
			s.err("ERR Invalid client ID")
			return
		}
		if c := byID[id]; c != nil {
			text = append(c.appendLine(text, s.op.NowMs), '\n')
		}
	}
	s.verbatim(string(text), "txt")
}

// clientType reads a type of clients or replies that there is none such.
func (s *Session) clientType(arg []byte) (typ string, ok bool) {
	for _, typ := range []string{"normal", "slave", "replica", "pubsub", "master"} {
		if option(arg, typ) {
			return typ, true
		}
	}
	s.errf("ERR Unknown client type '%s'", cString(arg))
	return "", false
}

// A killFilter says which clients CLIENT KILL closes: those that satisfy all that is set.
type killFilter struct {
	addr, laddr []byte
	typ         string
	id          int64
	spareSelf   bool
}

func (f *killFilter) match(c *clientInfo, self int64) bool {
	return (f.addr == nil || c.addr == string(cString(f.addr))) &&
		(f.laddr == nil || c.laddr == string(cString(f.laddr))) &&
		(f.typ == "" || c.typ() == f.typ) &&
		(f.id == 0 || c.id == f.id) &&
		!(f.spareSelf && c.id == self)
}

func cmdClientKill(s *Session, args [][]byte) {
	if len(args) == 3 { // the old form: an address, which may be the client's own
		if s.kill(&killFilter{addr: args[2]}) == 0 {
			s.err("ERR No such client")
			return
		}
		s.ok()
		return
	}
	if f, ok := s.killFilter(args[2:]); ok {
		s.int(s.kill(f))
	}
}

func (s *Session) kill(f *killFilter) (killed int64) {
	infos := s.srv.clients.all(s)
	for i := range infos {
		if f.match(&infos[i], s.id) && s.srv.clients.kill(s, infos[i].id) {
			killed++
		}
	}
	return killed
}

// killFilter reads the new form of CLIENT KILL, or replies with the error.
func (s *Session) killFilter(opts [][]byte) (f *killFilter, ok bool) {
	f = &killFilter{spareSelf: true}
	for ; len(opts) > 0; opts = opts[2:] {
		if len(opts) == 1 {
			s.err(errSyntax)
			return nil, false
		}
		name, value := opts[0], opts[1]
		switch {
		case option(name, "id"):
			if f.id, ok = engine.ParseInt(value); !ok || f.id < 1 {
				s.err("ERR client-id should be greater than 0")
				return nil, false
			}
		case option(name, "type"):
			if f.typ, ok = s.clientType(value); !ok {
				return nil, false
			}
		case option(name, "addr"):
			f.addr = value
		case option(name, "laddr"):
			f.laddr = value
		case option(name, "user"):
			if string(value) != "default" {
				s.errf("ERR No such user '%s'", cString(value))
				return nil, false
			}
		case option(name, "skipme") && option(value, "yes"):
			f.spareSelf = true
		case option(name, "skipme") && option(value, "no"):
			f.spareSelf = false
		default:
			s.err(errSyntax)
			return nil, false
		}
	}
	return f, true
}

func cmdClientHelp(s *Session, args [][]byte) {
	var lines []string
	for _, sub := range lookup([]byte("client")).sub {
		name := strings.ToUpper(strings.TrimPrefix(sub.name, "client|"))
		if name != "HELP" {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s", name, syntax(sub.args))),
				"    "+sub.summary+".")
		}
	}
	s.help(args, lines)
}
