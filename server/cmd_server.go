package server

import (
	"strings"
	"time"
)

// cmdTime replies with the wall clock, not with the engine's clock that never runs backwards.
func cmdTime(s *Session, args [][]byte) {
	now := time.Now().UnixMicro()
	s.array(2)
	s.bulkInt(now / 1e6)
	s.bulkInt(now % 1e6)
}

// cmdShutdown stops the server. The log makes saving needless, so SAVE and NOSAVE do the same;
// there are no replicas to wait for, so NOW and FORCE change nothing; nothing can be aborted.
func cmdShutdown(s *Session, args [][]byte) {
	var save, nosave, abort, other bool
	for _, arg := range args[1:] {
		switch {
		case option(arg, "nosave"):
			nosave = true
		case option(arg, "save"):
			save = true
		case option(arg, "now"), option(arg, "force"):
			other = true
		case option(arg, "abort"):
			abort = true
		default:
			s.err(errSyntax)
			return
		}
	}
	switch {
	case abort && (save || nosave || other), save && nosave:
		s.err(errSyntax)
	case abort:
		s.err("ERR No shutdown in progress.")
	default:
		s.srv.shutdown()
		s.closeAfterReply = true
	}
}

// cmdFunctionFlush has no functions to remove; test suites call it to start clean.
func cmdFunctionFlush(s *Session, args [][]byte) {
	switch {
	case len(args) > 3:
		s.err("ERR unknown subcommand or wrong number of arguments for '" +
			string(args[1]) + "'. Try FUNCTION HELP.")
	case len(args) == 3 && !option(args[2], "sync") && !option(args[2], "async"):
		s.err("ERR FUNCTION FLUSH only supports SYNC|ASYNC option")
	default:
		s.ok()
	}
}

func cmdFunctionHelp(s *Session, args [][]byte) {
	s.help(args, strings.Split(`FLUSH [ASYNC|SYNC]
    Delete all the libraries: there are none.`, "\n"))
}
