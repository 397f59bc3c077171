package main

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"countd/engine"
)

// TestAFullDiskAtTheStartIsOneSentence: it names the directory whose disk is full, and says what to do.
func TestAFullDiskAtTheStartIsOneSentence(t *testing.T) {
	for path, want := range map[string]string{
		"data/store/MANIFEST-000001": "the disk of the data directory data (see --dir) is full: make room on it " +
			"and start again (",
		"/other/log/FAILOVER.tmp": "the disk of the failover directory /other/log (see --log-failover-dir) is " +
			"full: make room on it and start again (",
	} {
		err := fmt.Errorf("%w: %w", engine.ErrDiskFull, &fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC})
		if got := openFailed("data", "/other/log", err).Error(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// TestAStopThatLosesWritesSaysSo.
func TestAStopThatLosesWritesSaysSo(t *testing.T) {
	err := closeFailed("data", fmt.Errorf("%w: %w", engine.ErrUnsaved, syscall.ENOSPC))
	if err == nil || !strings.Contains(err.Error(), "acknowledged ones may be among them") {
		t.Error(err)
	}
	if err := closeFailed("data", nil); err != nil {
		t.Error(err)
	}
}
