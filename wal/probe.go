package wal

import (
	"errors"
	"io/fs"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// While segments begin in the second directory the first is probed: a file is written and synced every
// probeInterval. When healthyProbes in a row took no more than a quarter of the threshold each, the next
// segment begins there again. The figures are those of pebble/v2/wal.
const (
	probeInterval = time.Second
	healthyProbes = 15
	// healthyFraction of the threshold is what a probe of a healthy disk may take.
	healthyFraction = 4
	probeBytes      = 100 << 10
	probeName       = "PROBE"
)

// probe runs until the first directory is healthy, has failed, or the log is closed.
func (f *failover) probe(disk vfs.FS) {
	path := disk.PathJoin(f.dirs[0].name, probeName)
	for good := 0; good < healthyProbes; {
		select {
		case <-f.After(probeInterval):
		case <-f.quit:
			return
		}
		done := make(chan error, 1)
		late := f.After(f.Threshold / healthyFraction)
		go func() { done <- probeOnce(disk, path) }()
		var err error
		select {
		case err = <-done:
			good++
		case <-late:
			good = 0
			select {
			case err = <-done:
			case <-f.quit:
				return
			}
		}
		switch free, failed := f.firstIs(); {
		case failed:
			return
		case err != nil || !free:
			good = 0
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.probing = false
	f.home.Store(0)
}

// firstIs reports whether nothing that stalled in the first directory is under way any more, and whether
// something has failed there.
func (f *failover) firstIs() (free, failed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.dirs[0]
	return d.stalled == 0 && !d.building, d.failed != nil
}

// probeOnce writes and syncs a file, and removes it.
func probeOnce(disk vfs.FS, path string) error {
	if err := disk.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := disk.Create(path, writeCategory)
	if err != nil {
		return err
	}
	if _, err = file.Write(make([]byte, probeBytes)); err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close(), disk.Remove(path))
}
