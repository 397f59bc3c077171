package engine

import (
	"errors"
	"fmt"

	"countd/wal"
)

// cutLog ends the log before its first damage. As long as a segment behind that is there a start
// refuses, so the order of the steps is: the damaged one is cut, then the others go, the newest
// first.
func (r *repair) cutLog() error {
	if r.badManifest {
		r.sayf("%s: what was merged last is lost with the end of the MANIFEST: the keys have the values "+
			"of flush %d", storeDir, r.pos.epoch)
		if err := r.keepStore(); err != nil { // a start removes the tables that are not in the MANIFEST
			return err
		}
	}
	if r.log.Missing != 0 {
		r.sayf("%s: a segment is missing before those that are there: none of them can be used", walDir)
	}
	var drop []*wal.Examined
	for i := range r.log.Segments {
		s := &r.log.Segments[i]
		switch {
		case s.Damage == nil && !s.Unusable:
		case s.Merged:
			r.sayf("%s: taken away; nothing is lost, the store has all that was in it", r.segmentFile(s))
			drop = append(drop, s)
		case s.Unusable || s.End == 0:
			if err := r.sayLost(s, "taken away"); err != nil {
				return err
			}
			drop = append(drop, s)
		default:
			if err := r.sayLost(s, fmt.Sprintf("cut at offset %d", s.End)); err != nil {
				return err
			}
			if err := r.cutSegment(s); err != nil {
				return err
			}
		}
	}
	for i := len(drop) - 1; i >= 0; i-- {
		s := drop[i]
		if err := r.keepFrom(s.Dir, walDir, s.Name); err != nil {
			return err
		}
		if err := r.disk.Remove(r.disk.PathJoin(s.Dir, s.Name)); err != nil {
			return err
		}
		if err := syncDir(r.disk, s.Dir); err != nil {
			return err
		}
	}
	return nil
}

// cutSegment makes a segment end with its last flush that can be used.
func (r *repair) cutSegment(s *wal.Examined) error {
	if err := r.keepFrom(s.Dir, walDir, s.Name); err != nil {
		return err
	}
	file := r.disk.PathJoin(s.Dir, s.Name)
	b, err := readSmallFile(r.disk, file, s.End)
	if err != nil {
		return err
	}
	return writeFileAtomically(r.disk, s.Dir, file, b)
}

// forgetFailover goes on without the failover directory, which is lost.
func (r *repair) forgetFailover() error {
	r.sayf("%s: forgotten; if the log was in that directory, what was written since is lost: keys that were "+
		"written then %s", failoverName, lostValues)
	if err := r.keepFile("", failoverName); err != nil {
		return err
	}
	return errors.Join(r.disk.Remove(r.path(failoverName)), syncDir(r.disk, r.dir))
}

// sayLost announces what is lost with a segment's flushes from its damage on.
func (r *repair) sayLost(s *wal.Examined, what string) error {
	name := r.segmentFile(s)
	l := newLostKeys(r.seed)
	flushes, err := r.log.ReadLost(s, l.chunk, l.commit)
	if err != nil {
		return err
	}
	why := "what comes before it is lost"
	if s.Damage != nil {
		why = fmt.Sprintf("offset %d: damaged", s.At)
	}
	r.sayf("%s: %s: %s; %s", name, why, what, l.text(flushes, s.Damage == nil))
	return nil
}
