package engine

import (
	"errors"
	"fmt"
	"math"
	"os"

	"countd/store"
)

// maxMends bounds the bits that are set right, a round each.
const maxMends = 64

// mend sets the first flipped bit right that a checksum tells.
func (r *repair) mend() (mended bool, err error) {
	if r.mends++; r.mends > maxMends {
		return false, nil
	}
	for i := range r.log.Segments {
		s := &r.log.Segments[i]
		offset, mask, err := r.log.Mend(s)
		if mask != 0 || err != nil {
			return true, errors.Join(err, r.flip(s.Dir, walDir, s.Name, offset, mask))
		}
	}
	if r.badManifest {
		name, offset, mask, err := store.MendManifest(r.disk, r.path(storeDir))
		if mask != 0 || err != nil {
			return true, errors.Join(err, r.flip(r.path(storeDir), storeDir, name, offset, mask))
		}
	}
	if r.tables == nil {
		return false, nil
	}
	for i := range r.tables.Damages {
		d := &r.tables.Damages[i]
		offset, mask, err := d.Mend(r.disk, r.path(storeDir))
		if mask != 0 || err != nil {
			return true, errors.Join(err, r.flip(r.path(storeDir), storeDir, d.Table, offset, mask))
		}
	}
	return false, nil
}

// flip flips bits of a byte of a file in dir, which is that of a part or holds some of it.
func (r *repair) flip(dir, part, name string, offset int64, mask byte) error {
	if mask == 0 {
		return nil
	}
	r.sayf("%s: offset %d: one bit was flipped, as the checksum tells; it is set right, and nothing of "+
		"this is lost", r.disk.PathJoin(part, name), offset)
	if err := r.keepFrom(dir, part, name); err != nil {
		return err
	}
	file := r.disk.PathJoin(dir, name)
	b, err := readSmallFile(r.disk, file, math.MaxInt64)
	if err != nil {
		return err
	}
	b[offset] ^= mask
	return writeFileAtomically(r.disk, dir, file, b)
}

// repairIdentity looks for the one bit that was flipped.
func (r *repair) repairIdentity() error {
	beyond := fmt.Errorf("engine: %s: %s; else %w", identityName, identityHelp, ErrBeyondRepair)
	b, err := readSmallFile(r.disk, r.path(identityName), maxIdentityBytes)
	if errors.Is(err, os.ErrNotExist) {
		return beyond
	}
	if err != nil {
		return err
	}
	for i := range b {
		for mask := byte(1); mask != 0; mask <<= 1 {
			b[i] ^= mask
			_, err := parseIdentity(b, identityName)
			b[i] ^= mask
			if err == nil {
				return r.flip(r.dir, "", identityName, int64(i), mask)
			}
		}
	}
	return beyond
}
