package engine

import (
	"fmt"

	"countd/store"
)

// tellFull makes an error of Open that means a full disk ErrDiskFull.
func tellFull(err error) error {
	if !store.DiskFull(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDiskFull, err)
}
