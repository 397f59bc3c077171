package engine

import (
	"errors"
	"fmt"
	"os"

	"countd/wal"
)

// checkLog reads the log, and collects the images of what can be used of it.
func (c *checker) checkLog() (err error) {
	dirs, err := logDirs(c.disk, c.dir)
	if errors.Is(err, ErrFailover) && !c.report.Backup {
		c.lostFailover = true
		c.problem(failoverName, -1, "%v; parts of the log may be there", err)
		dirs = dirs[:1]
	} else if err != nil {
		return err
	}
	after := wal.SegmentID(0)
	if c.pos != nil {
		after = c.pos.segment
	}
	c.log, err = wal.Examine(c.disk, after, dirs...)
	if errors.Is(err, os.ErrNotExist) {
		c.log, err = &wal.Examination{}, nil
	}
	if errors.Is(err, wal.ErrCorrupt) {
		return fmt.Errorf("engine: %w", err)
	}
	if err != nil {
		return err
	}
	if c.pos != nil {
		c.images.pos = *c.pos
		c.report.Epoch = c.pos.epoch
		c.expected, c.counted = c.pos.keys, c.pos.counted
	}
	switch {
	case c.log.Missing != 0 && c.torn != nil && c.pos != nil:
		c.badManifest = true
		c.problem(c.torn.File, c.torn.Offset, "bad record; the store without it reaches to segment %d, "+
			"but the log begins behind segment %d", uint64(after), uint64(c.log.Missing))
	case c.torn != nil:
		c.note("%s, as an interrupted write leaves it", c.torn)
	}
	if c.log.Missing != 0 && c.torn == nil && c.pos != nil {
		c.problem(walDir, -1, "segment %s and maybe others are missing; the store reaches to segment %s",
			wal.SegmentName(c.log.Missing), wal.SegmentName(after))
	}
	for i := range c.log.Segments {
		if err := c.checkSegment(&c.log.Segments[i]); err != nil {
			return err
		}
	}
	return nil
}

// segmentFile is how a report names a segment.
func (c *checker) segmentFile(s *wal.Examined) string {
	if s.Dir == c.path(walDir) {
		return c.disk.PathJoin(walDir, s.Name)
	}
	return c.disk.PathJoin(s.Dir, s.Name)
}

func (c *checker) checkSegment(s *wal.Examined) error {
	name := c.segmentFile(s)
	c.report.LogBytes += s.Size
	if s.Damage != nil {
		c.damage(name, s.Damage)
		c.newer = c.newer || errors.Is(s.Damage, wal.ErrFormat)
		last := len(c.report.Problems) - 1
		c.report.Problems[last].Offset = s.At
	}
	if s.Merged || s.Empty {
		return nil
	}
	c.report.Segments++
	if s.Torn > 0 {
		c.note("%s: offset %d: the log ends in %d bytes of a torn write, which was never acknowledged; "+
			"a start cuts them off", name, s.End, s.Torn)
	}
	if s.Unusable || s.Damage != nil {
		n, err := c.log.ReadLost(s, func(uint64, uint32, []byte) {}, nil)
		if err != nil {
			return err
		}
		c.report.LostFlushes += n
	}
	if s.Unusable || c.pos == nil || c.seed == nil {
		return nil
	}
	return c.useSegment(s, name)
}

// useSegment takes the images of a segment's flushes.
func (c *checker) useSegment(s *wal.Examined, name string) error {
	c.images.seed = *c.seed
	var a assembler
	var bad error
	err := c.log.Read(s, func(epoch uint64, chunk []byte) error {
		if bad = a.chunk(epoch, chunk, c.images.take); bad != nil {
			bad = fmt.Errorf("flush of epoch %d: %w", epoch, bad)
		}
		return bad
	})
	if bad == nil {
		bad = a.end()
	}
	if bad != nil {
		c.problem(name, -1, "%v", bad)
		return nil
	}
	if err != nil {
		return err
	}
	c.report.Flushes += s.Flushes
	c.report.Images = int64(c.images.images)
	c.report.Epoch = max(c.report.Epoch, s.Epoch)
	c.images.pos.segment, c.images.pos.epoch = s.ID, c.report.Epoch
	if s.Meta != nil {
		var m flushMeta
		if err := m.decode(s.Meta); err != nil {
			c.problem(name, -1, "meta of the last flush: %v", err)
			return nil
		}
		c.images.pos.clockMs = max(c.images.pos.clockMs, m.clockMs)
		c.expected, c.counted = m.keys, true
	}
	return nil
}

// checkBackup compares a backup with what BACKUP says belongs to it.
func (c *checker) checkBackup() error {
	if c.cut == nil || len(c.report.Problems) > 0 {
		return nil
	}
	if c.pos != nil && c.pos.segment != c.cut.after {
		c.problem(backupFileName, -1, "the store reaches to segment %d, but the backup was made with one "+
			"that reaches to segment %d", uint64(c.pos.segment), uint64(c.cut.after))
	}
	for _, want := range c.cut.segments {
		found := false
		for i := range c.log.Segments {
			s := &c.log.Segments[i]
			found = found || s.ID == want.ID && s.End == want.Bytes
		}
		if !found {
			c.problem(c.disk.PathJoin(walDir, wal.SegmentName(want.ID)), -1, "missing or cut short: "+
				"the backup was made with %d bytes of flushes in it", want.Bytes)
		}
	}
	if c.report.Keys != c.cut.keys {
		c.problem(backupFileName, -1, "the backup was made with other numbers of keys than it has: %v, not %v",
			c.cut.keys, c.report.Keys)
	}
	return nil
}
