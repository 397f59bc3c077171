package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strconv"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Checked is what Check found.
type Checked struct {
	Tables  int
	Blocks  int
	Bytes   int64
	Damages []Damage // by table and offset

	suspect []span
}

// Damage is a place of a table that cannot be read.
type Damage struct {
	Table  string // the file's name
	Offset int64  // of the block in it; -1: not known
	Err    error
	Whole  bool // nothing of the table can be read
	// Harmless damage loses no entry: that of a filter, which reads of single keys fail on.
	Harmless bool
	// Unreadable: the disk did not give the bytes. They may be good, so this is no ground to do
	// without them.
	Unreadable bool

	length int64 // of the block, without its trailer; 0: not known
	tuning *pebble.Options
}

// span is the database's keys with lo < key <= hi.
type span struct{ lo, hi []byte }

// Check reads every block of every table and compares its checksum. The error says why it could
// not go on; what is damaged is no error.
func (s *Store) Check() (*Checked, error) {
	done, err := s.use()
	if err != nil {
		return nil, err
	}
	defer done()
	levels, err := s.db.SSTables()
	if err != nil {
		return nil, fmt.Errorf("store: check: %w", err)
	}
	c := &Checked{}
	for _, level := range levels {
		for i := range level {
			c.Tables++
			c.table(s, &level[i])
		}
	}
	slices.SortStableFunc(c.Damages, func(a, b Damage) int {
		return bytes.Compare([]byte(a.Table), []byte(b.Table))
	})
	return c, nil
}

// table checks one table.
func (c *Checked) table(s *Store, info *pebble.SSTableInfo) {
	name := fmt.Sprintf("%06d.sst", uint64(info.BackingSSTNum))
	whole := func(err error) {
		d := Damage{Table: name, Err: err, Whole: true, tuning: s.tuning}
		d.Offset, d.length = placeOf(err)
		c.lose(d, span{before(info.Smallest.UserKey), info.Largest.UserKey})
	}
	f, err := s.opts.FS.Open(s.opts.FS.PathJoin(s.opts.Dir, name))
	if err != nil {
		whole(err)
		return
	}
	if stat, err := f.Stat(); err != nil || uint64(stat.Size()) != info.Size && !info.Virtual {
		if err == nil {
			err = fmt.Errorf("it has %d bytes, the MANIFEST says %d: %w", stat.Size(), info.Size, ErrCorrupt)
		}
		whole(errors.Join(err, f.Close()))
		return
	}
	r, err := openTable(f, s.tuning)
	if err != nil {
		whole(err)
		return
	}
	defer r.Close()
	layout, err := r.Layout()
	if err != nil {
		whole(err)
		return
	}
	t := tableCheck{c: c, file: f, name: name, first: before(info.Smallest.UserKey), last: info.Largest.UserKey}
	if err := t.run(layout); err != nil {
		whole(err)
	}
}

// openTable makes a reader of a table, which owns f.
func openTable(f vfs.File, o *pebble.Options) (r *sstable.Reader, err error) {
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	defer func() {
		if p := recover(); p != nil { // NewReader's way to say that it does not know the table's schema
			err = fmt.Errorf("%v: %w", p, ErrCorrupt)
		}
		if err != nil {
			err = errors.Join(err, readable.Close())
		}
	}()
	return sstable.NewReader(context.Background(), readable, o.MakeReaderOptions())
}

// before is just below all keys from key on.
func before(key []byte) []byte {
	if n := len(key); n > 0 && key[n-1] == 0 {
		return key[:n-1]
	}
	if len(key) == 0 {
		return nil
	}
	below := bytes.Clone(key)
	below[len(below)-1]--
	return append(below, bytes.Repeat([]byte{0xff}, 8)...)
}

func (c *Checked) lose(d Damage, keys span) {
	d.Unreadable = !isDamage(d.Err)
	c.Damages = append(c.Damages, d)
	if !d.Harmless {
		c.suspect = append(c.suspect, span{bytes.Clone(keys.lo), bytes.Clone(keys.hi)})
	}
}

// tableCheck checks the blocks of a table whose index can be read.
type tableCheck struct {
	c           *Checked
	file        vfs.File
	name        string
	first, last []byte // below its keys; its last
	buf         []byte
}

// isDamage tells errors about bytes that are wrong, or missing, from errors of the disk.
func isDamage(err error) bool {
	return errors.Is(err, errChecksum) || errors.Is(err, ErrCorrupt) || pebble.IsCorruptionError(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, fs.ErrNotExist)
}

var errChecksum = errors.New("checksum mismatch")

func (t *tableCheck) run(l *sstable.Layout) error {
	for _, h := range l.Filter {
		if err := t.block(h.Handle); err != nil {
			d := Damage{Table: t.name, Offset: int64(h.Offset), Err: err, Harmless: true, length: int64(h.Length)}
			t.c.lose(d, span{})
		}
	}
	for _, h := range []block.Handle{l.TopIndex, l.RangeDel, l.RangeKey, l.ValueIndex, l.Properties, l.MetaIndex,
		l.BlobReferenceIndex} {
		if err := t.block(h); err != nil {
			return err
		}
	}
	for _, h := range l.ValueBlock {
		if err := t.block(h); err != nil {
			return err
		}
	}
	lo := t.first
	for _, index := range l.Index {
		if err := t.block(index); err != nil {
			return err
		}
		var it colblk.IndexIter
		data := bytes.Clone(t.buf[:index.Length])
		if err := it.Init(pebble.DefaultComparer, data, block.NoTransforms); err != nil {
			return err
		}
		for ok := it.First(); ok; ok = it.Next() {
			h, err := it.BlockHandleWithProperties()
			if err != nil {
				return err
			}
			hi := bytes.Clone(it.Separator())
			if err := t.block(h.Handle); err != nil {
				d := Damage{Table: t.name, Offset: int64(h.Offset), Err: err, length: int64(h.Length)}
				t.c.lose(d, span{lo, hi})
			}
			lo = hi
		}
	}
	return nil
}

// block reads a block into buf and compares its checksum.
func (t *tableCheck) block(h block.Handle) error {
	if h.Length == 0 {
		return nil
	}
	n := int(h.Length) + block.TrailerLen
	t.buf = slices.Grow(t.buf[:0], n)[:n]
	if _, err := t.file.ReadAt(t.buf, int64(h.Offset)); err != nil {
		return fmt.Errorf("block %d/%d: %w", h.Offset, h.Length, err)
	}
	t.c.Blocks++
	t.c.Bytes += int64(n)
	if binary.LittleEndian.Uint32(t.buf[n-4:]) != pebbleCRC(t.buf[:n-4]) {
		return fmt.Errorf("block %d/%d: %w", h.Offset, h.Length, errChecksum)
	}
	return nil
}

var blockPlace = regexp.MustCompile(`block (\d+)/(\d+)`)

// placeOf is the place of the block that an error of Pebble's names; offset is -1 where it names
// none.
func placeOf(err error) (offset, length int64) {
	if m := blockPlace.FindStringSubmatch(err.Error()); m != nil {
		offset, err1 := strconv.ParseInt(m[1], 10, 64)
		length, err2 := strconv.ParseInt(m[2], 10, 32)
		if err1 == nil && err2 == nil {
			return offset, length
		}
	}
	return -1, 0
}
