package server

import "countd/engine"

func cmdPfadd(s *Session, args [][]byte) {
	changed, err := s.srv.eng.PFAdd(&s.op, args[1], args[2:])
	s.bit(changed, err)
}

func cmdPfcount(s *Session, args [][]byte) {
	n, err := s.srv.eng.PFCount(&s.op, args[1:])
	s.count(int64(n), err)
}

func cmdPfmerge(s *Session, args [][]byte) {
	if err := s.srv.eng.PFMerge(&s.op, args[1], args[2:]); err != nil {
		s.fail(err)
		return
	}
	s.ok()
}

// cmdPfselftest takes some 20 ms, in which its loop serves nobody else.
func cmdPfselftest(s *Session, _ [][]byte) {
	if err := engine.PFSelfTest(uint64(s.op.NowMs)); err != nil {
		s.err("TESTFAILED " + err.Error())
		return
	}
	s.ok()
}
