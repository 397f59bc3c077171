package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrCorrupt is matched by errors of Open, CheckManifest and reads that found the store's own
// files damaged in a way that cannot be the end of an interrupted write. The text names the file
// and the offset. Nothing was changed on disk.
var ErrCorrupt = errors.New("the store is corrupt")

// Pebble takes a bad record of its MANIFEST for the end of it, silently, and then removes the
// tables of which it has not heard. So it is read here first.

// A MANIFEST is framed in blocks, as a log (pebble/v2/record, the oldest of its formats): each
// fragment has a checksum (4 bytes), a length (2) and a type (1), and none crosses a block.
const (
	manifestBlock  = 32 << 10
	manifestHeader = 7
	fragmentFull   = 1
	fragmentFirst  = 2
	fragmentMiddle = 3
	fragmentLast   = 4
)

// CheckManifest reads the MANIFEST of the store in dir. Bad bytes with a good record behind them
// are ErrCorrupt. Bad bytes at the end are what an interrupted write leaves, and what damage of
// the last record looks like: torn is where they begin, -1 if there are none. Without a store it
// returns -1.
func CheckManifest(disk vfs.FS, dir string) (name string, torn int64, err error) {
	name, err = manifestName(disk, dir)
	if name == "" || err != nil {
		return name, -1, err
	}
	f, err := disk.Open(disk.PathJoin(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return name, -1, fmt.Errorf("store: %s: offset 0: the file is missing: %w", name, ErrCorrupt)
	}
	if err != nil {
		return name, -1, fmt.Errorf("store: %s: %w", name, err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return name, -1, fmt.Errorf("store: %s: %w", name, err)
	}
	end := intactManifest(b)
	for i := end; i+manifestHeader <= len(b); i++ {
		if b[i+6] != 0 && manifestFragment(b, i) > 0 {
			return name, -1, fmt.Errorf("store: %s: offset %d: bad record, with a good one at offset %d "+
				"behind it: %w", name, end, i, ErrCorrupt)
		}
	}
	for _, c := range b[end:] {
		if c != 0 {
			return name, int64(end), nil
		}
	}
	return name, -1, nil
}

// manifestName is the name of the MANIFEST, "" where there is no store. A directory with a store's
// files and no marker that names one is ErrCorrupt: Pebble would begin a new store there and
// remove them.
func manifestName(disk vfs.FS, dir string) (string, error) {
	names, err := disk.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("store: list %s: %w", dir, err)
	}
	desc, err := pebble.Peek(dir, disk)
	if err != nil {
		return "", fmt.Errorf("store: %w", err)
	}
	if desc.Exists {
		return disk.PathBase(desc.ManifestFilename), nil
	}
	for _, name := range names {
		if IsTable(name) {
			return "", fmt.Errorf("store: %s is there, but no marker.manifest that names a MANIFEST: %w",
				name, ErrCorrupt)
		}
	}
	return "", nil
}

// checkOptions reads Pebble's OPTIONS file as Pebble will. Nothing is in it that is not in this
// program, so a damaged one may be removed.
func checkOptions(disk vfs.FS, dir string, o *pebble.Options) error {
	desc, err := pebble.Peek(dir, disk)
	if err != nil || desc.OptionsFilename == "" {
		return nil // Open will say so
	}
	f, err := disk.Open(desc.OptionsFilename)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxOptionsBytes))
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := o.CheckCompatibility(dir, string(b)); err != nil {
		return fmt.Errorf("store: %s: offset 0: %v: %w", disk.PathBase(desc.OptionsFilename), err, ErrCorrupt)
	}
	return nil
}

// maxOptionsBytes bounds what is read of an OPTIONS file, which has about 3 KB.
const maxOptionsBytes = 1 << 20

// intactManifest is where the unbroken run of whole records from the start of b ends.
func intactManifest(b []byte) (end int) { end, _ = walkManifest(b); return end }

// badFragment is the offset of the first fragment that is not valid.
func badFragment(b []byte) int { _, bad := walkManifest(b); return bad }

func walkManifest(b []byte) (end, bad int) {
	inRecord := false
	for i := 0; ; {
		if rest := manifestBlock - i%manifestBlock; rest < manifestHeader {
			i += rest
		}
		n := manifestFragment(b, i)
		if n == 0 {
			return end, i
		}
		kind := b[i+6]
		if (kind == fragmentMiddle || kind == fragmentLast) != inRecord {
			return end, i
		}
		inRecord = kind == fragmentFirst || kind == fragmentMiddle
		i += n
		if !inRecord {
			end = i
		}
	}
}

// manifestFragment is the size of the valid fragment at b[i], 0 if there is none.
func manifestFragment(b []byte, i int) int {
	if i+manifestHeader > len(b) || b[i+6] < fragmentFull || b[i+6] > fragmentLast {
		return 0
	}
	n := manifestHeader + int(binary.LittleEndian.Uint16(b[i+4:]))
	if i+n > len(b) || n > manifestBlock-i%manifestBlock ||
		binary.LittleEndian.Uint32(b[i:]) != pebbleCRC(b[i+6:i+n]) {
		return 0
	}
	return n
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// pebbleCRC is pebble/internal/crc: CRC-32C, rotated and shifted.
func pebbleCRC(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// IsTable reports whether a file of the store with this name is a table, which never changes once
// it is there.
func IsTable(name string) bool { return path.Ext(name) == ".sst" }
