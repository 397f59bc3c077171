package engine

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"

	"countd/shards"
)

// The identity file makes a directory a countd data directory: its format version and the seed of
// the key hash, which orders the store and so must never change.
const (
	identityName   = "IDENTITY"
	formatVersion  = 1
	identityFormat = "countd data directory, format %d\nhash seed %016x%016x\n"
	checksumFormat = "checksum %08x\n" // CRC-32C of the lines before

	maxIdentityBytes = 4096
)

// ErrFormat is returned by Open where the data directory was written by another version, or is not one.
var ErrFormat = errors.New("engine: data directory has an unknown format")

// ErrIdentity is returned by Open where the identity file is damaged, or missing beside data. Without
// the right seed the data cannot be told apart from other keys' data.
var ErrIdentity = errors.New("engine: the data directory's IDENTITY file is damaged or missing")

// errIdentityLost is an ErrIdentity that Repair cannot help: there is no seed, or that of other data.
var errIdentityLost = fmt.Errorf("%w", ErrIdentity)

// identityHelp is what to do about it.
const identityHelp = "it is the same in every backup of this directory, copy it from one"

// loadIdentity reads the identity of dir, or gives it one where it has neither that nor data.
func loadIdentity(fs vfs.FS, dir string) (shards.Seed, error) {
	path := fs.PathJoin(dir, identityName)
	f, err := fs.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		for _, part := range []string{storeDir, walDir} {
			if names, err := fs.List(fs.PathJoin(dir, part)); err == nil && len(names) > 0 {
				return shards.Seed{}, fmt.Errorf("%w: %s is not there, but %s is; %s",
					errIdentityLost, path, fs.PathJoin(dir, part), identityHelp)
			}
		}
		return createIdentity(fs, dir, path)
	}
	if err != nil {
		return shards.Seed{}, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxIdentityBytes))
	if err != nil {
		return shards.Seed{}, err
	}
	return parseIdentity(b, path)
}

func parseIdentity(b []byte, path string) (seed shards.Seed, err error) {
	var version int
	n, _ := fmt.Sscanf(string(b), identityFormat, &version, &seed.K0, &seed.K1)
	switch {
	case n >= 1 && version > formatVersion && checksumOK(b):
		return seed, newerFormat(path, version, formatVersion)
	case n >= 1 && version > formatVersion:
		return seed, fmt.Errorf("%w: %s says format %d, and this countd reads formats up to %d: a later "+
			"version of countd wrote it, or it is damaged; then: %s", ErrIdentity, path,
			version, formatVersion, identityHelp)
	case n < 3 || string(b) != string(appendIdentity(nil, seed)):
		return seed, fmt.Errorf("%w: %s; %s", ErrIdentity, path, identityHelp)
	}
	return seed, nil
}

func appendIdentity(b []byte, seed shards.Seed) []byte {
	return appendChecksum(fmt.Appendf(b, identityFormat, formatVersion, seed.K0, seed.K1))
}

func appendChecksum(b []byte) []byte {
	return fmt.Appendf(b, checksumFormat, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// checksumOK reports whether b ends with the checksum of its other lines.
func checksumOK(b []byte) bool {
	n := bytes.LastIndexByte(bytes.TrimSuffix(b, []byte("\n")), '\n') + 1
	return n > 0 && bytes.Equal(appendChecksum(bytes.Clone(b[:n])), b)
}

// newerFormat is the error for a file that a later version of countd wrote.
func newerFormat(path string, version, known int) error {
	return fmt.Errorf("%w: %s has format %d, and this countd reads formats up to %d: a later version of "+
		"countd wrote it, use that one", ErrFormat, path, version, known)
}

func createIdentity(fs vfs.FS, dir, path string) (shards.Seed, error) {
	seed := randomSeed()
	return seed, writeFileAtomically(fs, dir, path, appendIdentity(nil, seed))
}

func randomSeed() shards.Seed {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return shards.Seed{K0: binary.LittleEndian.Uint64(b[:]), K1: binary.LittleEndian.Uint64(b[8:])}
}

// writeFileAtomically makes content durable as path in dir, or leaves path as it was.
func writeFileAtomically(fs vfs.FS, dir, path string, content []byte) error {
	tmp := path + ".tmp"
	if err := writeFile(fs, tmp, content); err != nil {
		return err
	}
	if err := fs.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(fs, dir)
}

// writeFile makes a file and syncs its content, not its name.
func writeFile(fs vfs.FS, path string, content []byte) error {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

// makeDir creates dir and what is missing above it, and makes that durable.
func makeDir(fs vfs.FS, dir string) error {
	if _, err := fs.Stat(dir); err == nil || !errors.Is(err, os.ErrNotExist) {
		return err
	}
	parent := fs.PathDir(dir)
	if parent != dir {
		if err := makeDir(fs, parent); err != nil {
			return err
		}
	}
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return syncDir(fs, parent)
}
