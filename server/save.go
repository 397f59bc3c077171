package server

import (
	"sync/atomic"
	"time"

	"countd/engine"
)

// saver is what SAVE and BGSAVE have done. Its fields are set by the goroutine of a backup, read
// by INFO.
type saver struct {
	background atomic.Bool // a BGSAVE is under way
	since      atomic.Int64
	saves      atomic.Int64 // begun, of both kinds
	failed     atomic.Bool  // the last one did
	last       atomic.Int64 // Unix seconds of the last one that did not, at first those of the start
	tookSec    atomic.Int64 // by the last BGSAVE; -1: there was none
}

func (v *saver) init() {
	v.last.Store(time.Now().Unix())
	v.tookSec.Store(-1)
}

// save makes a backup and books it.
func (srv *Server) save() error {
	v := &srv.saver
	v.saves.Add(1)
	_, err := srv.eng.Backup()
	v.failed.Store(err != nil)
	if err == nil {
		v.last.Store(time.Now().Unix())
	}
	return err
}

// saveInBackground begins a backup, unless BGSAVE has one under way.
func (srv *Server) saveInBackground() bool {
	v := &srv.saver
	if !v.background.CompareAndSwap(false, true) {
		return false
	}
	start := time.Now()
	v.since.Store(start.Unix())
	go func() {
		_ = srv.save() // the engine has logged why
		v.tookSec.Store(int64(time.Since(start).Seconds()))
		v.background.Store(false)
	}()
	return true
}

// backgroundSeconds is how long the BGSAVE that is under way has taken so far, -1 where none is.
func (v *saver) backgroundSeconds() int64 {
	if !v.background.Load() {
		return -1
	}
	return time.Now().Unix() - v.since.Load()
}

const errSaving = "ERR Background save already in progress"

// cmdSave waits for the backup, and its session with it; other sessions do not.
func cmdSave(s *Session, args [][]byte) {
	if s.srv.saver.background.Load() {
		s.err(errSaving)
		return
	}
	var err error
	s.await(func() { err = s.srv.save() }, func() {
		if err != nil {
			s.fail(err)
			return
		}
		s.ok()
	})
}

// cmdBgsave has nothing to wait for, so SCHEDULE makes no difference.
func cmdBgsave(s *Session, args [][]byte) {
	switch {
	case len(args) > 2, len(args) == 2 && !option(args[1], "schedule"):
		s.err(errSyntax)
	case s.srv.eng.Policy() == engine.FsyncOff:
		s.fail(engine.ErrNoLog)
	case !s.srv.saveInBackground():
		s.err(errSaving)
	default:
		s.simple("Background saving started")
	}
}

func cmdLastsave(s *Session, args [][]byte) { s.int(s.srv.saver.last.Load()) }
