package engine

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"time"

	"countd/wal"
)

// The file BACKUP makes a directory a backup. It says what belongs to it, so that a copy of it
// that is not complete is noticed: a log that lost its last segment looks like one that ended
// earlier. It is text:
//
//	countd backup, format 1
//	made 2025-11-30T22:52:00Z
//	epoch 17                       the last flush before the cut
//	store after segment 12         what the store reaches to
//	segment 13 66846720            the segments behind that, and the bytes of their flushes
//	segment 14 812
//	keys 0 1000000                 the number of keys of each database that has any
//	checksum 0a1b2c3d              CRC-32C of the lines before
const (
	backupFileName = "BACKUP"
	backupVersion  = 1
	// maxBackupFileBytes bounds what is read as such a file: some ten thousand segments.
	maxBackupFileBytes = 1 << 20
)

// backupCut is what BACKUP says.
type backupCut struct {
	made     time.Time
	epoch    uint64
	after    wal.SegmentID
	segments []wal.SegmentInfo
	keys     [Databases]int64

	unsaved int64 // Stats.Unsaved at the cut; not in the file
}

// ErrBackupFile is returned where the BACKUP file of a backup is damaged.
var ErrBackupFile = errors.New("engine: the backup's BACKUP file is damaged")

func (c *backupCut) append(b []byte) []byte {
	b = fmt.Appendf(b, "countd backup, format %d\nmade %s\nepoch %d\nstore after segment %d\n",
		backupVersion, c.made.Format(time.RFC3339), c.epoch, uint64(c.after))
	for _, s := range c.segments {
		b = fmt.Appendf(b, "segment %d %d\n", uint64(s.ID), s.Bytes)
	}
	for db, n := range c.keys {
		if n > 0 {
			b = fmt.Appendf(b, "keys %d %d\n", db, n)
		}
	}
	return appendChecksum(b)
}

// parseBackupFile reads what append wrote, and nothing else.
func parseBackupFile(b []byte, path string) (c backupCut, err error) {
	version := 0
	if n, _ := fmt.Sscanf(string(b), "countd backup, format %d\n", &version); n == 1 && version > backupVersion {
		return c, newerFormat(path, version, backupVersion)
	}
	for scan := bufio.NewScanner(bytes.NewReader(b)); scan.Scan(); {
		var made string
		var s wal.SegmentInfo
		var db int
		var keys int64
		line := scan.Text()
		if n, _ := fmt.Sscanf(line, "made %s", &made); n == 1 {
			c.made, _ = time.Parse(time.RFC3339, made)
		} else if n, _ := fmt.Sscanf(line, "keys %d %d", &db, &keys); n == 2 && db >= 0 && db < Databases {
			c.keys[db] = keys
		} else if n, _ := fmt.Sscanf(line, "segment %d %d", &s.ID, &s.Bytes); n == 2 {
			c.segments = append(c.segments, s)
		} else if n, _ := fmt.Sscanf(line, "epoch %d", &c.epoch); n == 0 {
			_, _ = fmt.Sscanf(line, "store after segment %d", &c.after)
		}
	}
	if !bytes.Equal(b, c.append(nil)) {
		return c, fmt.Errorf("%w: %s", ErrBackupFile, path)
	}
	return c, nil
}
