package engine

import (
	"errors"
	"fmt"
	"syscall"
)

// diskFull reports whether err means a full disk, or an exhausted quota.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// tellFull makes an error of Open that means a full disk ErrDiskFull.
func tellFull(err error) error {
	if !diskFull(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDiskFull, err)
}
