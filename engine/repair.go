package engine

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// Repair salvages what Check finds damaged, so that a server starts again, with as much of one
// instant as can be had:
//
//   - Where one flipped bit explains a checksum, it is set right, and nothing is lost.
//   - The log is cut before its first damage. What comes behind cannot be used: it is of later instants,
//     and what lies between is lost.
//   - A damaged store is made anew of the entries that no damage touches, and of the log.
//
// What was damaged is kept in damaged-TIME, files as they were. Each step is announced before it
// is done, with what it loses.

// damagedPrefix begins the names of the directories that keep what was damaged.
const damagedPrefix = "damaged-"

// The names by which a repair that was interrupted is known: storeNew is complete once repairFile
// is there.
const (
	storeNew   = "store.new"
	repairFile = "REPAIR"
)

var (
	// ErrBeyondRepair is returned by Repair where nothing of the data can be told apart from
	// damage.
	ErrBeyondRepair = errors.New("this is beyond repair; restore a backup")
	// ErrRepairing is returned by Open where a repair was interrupted.
	ErrRepairing = errors.New("engine: a repair of this data directory was interrupted; countd check --repair " +
		"finishes it")
)

// Repair repairs the data directory, if Check finds anything wrong. It calls say with each step
// before it is done. before is what Check found at first, after at the end; where nothing was
// wrong they are the same.
//
// Errors: those of Check, ErrBeyondRepair, or of the file system. A repair that was interrupted
// may be repeated.
func Repair(o CheckOptions, say func(step string)) (before, after *CheckReport, err error) {
	r := &repair{say: say, fatal: o.StoreFatal}
	before, err = r.look(o)
	defer r.close()
	if err != nil {
		return before, before, err
	}
	if r.report.Backup && len(before.Problems) > 0 {
		return before, before, fmt.Errorf("engine: a backup is not repaired, but a copy of it without "+
			"the file %s is: %w", backupFileName, ErrBeyondRepair)
	}
	// Each round does what stands in the way of the next look.
	for range maxRepairRounds {
		if len(r.report.Problems) == 0 {
			return before, r.report, nil
		}
		if err := r.round(); err != nil {
			return before, r.report, err
		}
		if after, err = r.look(o); err != nil {
			return before, after, err
		}
	}
	return before, r.report, fmt.Errorf("engine: %s: %w", r.report.Problems[0], ErrBeyondRepair)
}

// maxRepairRounds: IDENTITY, OPTIONS, FAILOVER, the log, the store, one more look, and mends.
const maxRepairRounds = 6 + maxMends

// repair is a checker that changes what it has looked at.
type repair struct {
	*checker
	say  func(step string)
	kept string // the directory of what was damaged, once it is there

	mends int
	fatal func(msg string)
}

// close ends the last look.
func (r *repair) close() {
	if r.checker != nil {
		r.checker.close()
	}
}

// look checks the directory, after a repair that was interrupted is finished.
func (r *repair) look(o CheckOptions) (*CheckReport, error) {
	r.close()
	c, err := newChecker(o)
	if err != nil {
		return nil, err
	}
	r.checker = c
	interrupted, err := c.has(repairFile)
	if err == nil && interrupted {
		err = r.finishStore()
	}
	if err != nil {
		return nil, err
	}
	return c.report, c.run()
}

func (r *repair) sayf(format string, args ...any) { r.say(fmt.Sprintf(format, args...)) }

func (r *repair) round() error {
	switch {
	case r.unreadable:
		return fmt.Errorf("engine: %s: the disk does not give all bytes, and they may be good; copy the "+
			"directory to another disk, as far as it can be read, and repair the copy",
			r.report.Problems[len(r.report.Problems)-1])
	case r.newer:
		return fmt.Errorf("engine: %s: %w", r.report.Problems[0], ErrFormat)
	case r.seed == nil:
		return r.repairIdentity()
	case r.foreign():
		return fmt.Errorf("engine: %s: its seed is not that of the stored keys; %s; else %w", identityName,
			identityHelp, ErrBeyondRepair)
	case r.badOptions():
		return r.dropOptions()
	}
	if r.lostFailover {
		return r.forgetFailover()
	}
	if mended, err := r.mend(); mended || err != nil {
		return err
	}
	switch {
	case r.pos == nil:
		return r.forgetStore()
	case r.log.Damaged():
		return r.cutLog()
	default:
		return r.rebuildStore()
	}
}

// keep makes the directory for what was damaged, and one below it.
func (r *repair) keep(part string) (string, error) {
	if r.kept == "" {
		name := damagedPrefix + time.Now().UTC().Format(backupTimeFormat)
		for n := 2; ; n++ {
			taken, err := r.has(name)
			if err != nil {
				return "", err
			}
			if !taken {
				break
			}
			name = fmt.Sprintf("%s%s-%d", damagedPrefix, time.Now().UTC().Format(backupTimeFormat), n)
		}
		r.kept = name
		r.sayf("what is damaged is kept in %s", r.path(name))
	}
	dir := r.path(r.kept, part)
	if err := r.disk.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return dir, errors.Join(syncDir(r.disk, r.dir), syncDir(r.disk, r.path(r.kept)))
}

// keepFile links a file, or copies it, to where what was damaged is kept.
func (r *repair) keepFile(part, name string) error {
	return r.keepFrom(r.path(part), part, name)
}

// keepFrom is keepFile for a file that is in another directory than the part.
func (r *repair) keepFrom(from, part, name string) error {
	dir, err := r.keep(part)
	if err != nil {
		return err
	}
	err = linkOrCopy(r.disk, r.disk.PathJoin(from, name), r.disk.PathJoin(dir, name), nil)
	if err != nil && !errors.Is(err, os.ErrExist) { // a repair that was interrupted
		return err
	}
	return syncDir(r.disk, dir)
}
