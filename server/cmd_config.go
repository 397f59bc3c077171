package server

import (
	"bytes"
	"errors"
	"strings"

	"countd/config"
	"countd/glob"
)

func cmdConfigGet(s *Session, args [][]byte) {
	found := s.srv.matchOptions(args[2:])
	s.mapHeader(len(found))
	for _, f := range found {
		s.field(f.Name, f.Value)
	}
}

// matchOptions returns each option that one of the patterns matches once. A name without wildcards
// is answered as it was written; as in Redis, a zero byte is part of it, but ends a pattern.
func (srv *Server) matchOptions(patterns [][]byte) (found []config.Setting) {
	table := config.Table()
	seen := make(map[string]bool)
	for _, pattern := range patterns {
		wild := bytes.ContainsAny(cString(pattern), "[*?")
		for i := range table {
			name := table[i].Name
			if seen[name] || !wild && !equalFold(pattern, name) ||
				wild && !glob.Match(cString(pattern), []byte(name), true) {
				continue
			}
			seen[name] = true
			value := srv.cfg.Value(name)
			if !wild {
				name = string(pattern)
			}
			found = append(found, config.Setting{Name: name, Value: value})
		}
	}
	return found
}

func cmdConfigSet(s *Session, args [][]byte) {
	if len(args)%2 != 0 {
		s.err(errSyntax)
		return
	}
	var pairs [][2]string
	for i := 2; i < len(args); i += 2 {
		pairs = append(pairs, [2]string{string(args[i]), string(args[i+1])})
	}
	err := s.srv.cfg.SetRuntime(pairs)
	var refused *config.Error
	switch {
	case err == nil:
		s.ok()
	case !errors.As(err, &refused):
		s.errf("ERR CONFIG SET failed - %s", err)
	case refused.Kind == config.UnknownOption:
		s.errf("ERR Unknown option or number of arguments for CONFIG SET - '%s'",
			cString([]byte(refused.Option)))
	default:
		s.errf("ERR CONFIG SET failed (possibly related to argument '%s') - %s",
			refused.Option, refused.Reason)
	}
}

func cmdConfigResetstat(s *Session, args [][]byte) {
	s.srv.resetStats()
	s.srv.eng.ResetStats()
	s.ok()
}

func cmdConfigRewrite(s *Session, args [][]byte) {
	s.err("ERR countd does not rewrite its configuration file: change it by hand")
}

func cmdConfigHelp(s *Session, args [][]byte) {
	s.help(args, strings.Split(`GET <pattern>
    Return parameters matching the glob-like <pattern> and their values.
SET <directive> <value>
    Set the configuration <directive> to <value>.
RESETSTAT
    Reset statistics reported by the INFO command.
REWRITE
    Refused: change the configuration file by hand.`, "\n"))
}
