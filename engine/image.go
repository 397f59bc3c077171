package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"countd/shards"
)

// An image says what an entry is at the end of an epoch. A flush is a sequence of images; the log
// carries it in chunks, cut anywhere. wal/FORMAT.md draws the bytes:
//
//	image = op, uvarint space, uvarint key length, key, [expiry], [value], [tally]
//	op    = imageDelete | imageInt | imageBytes | imageSketch, plus imageExpiry, imageTally
//	expiry: varint, Unix milliseconds, with imageExpiry
//	value:  imageInt: varint; imageBytes and imageSketch: uvarint length, bytes
//	tally:  uvarint ups, uvarint downs, with imageTally, of an imageInt only
//
// Three more ops are of no entry. imageSpace says that a database began anew: op, uvarint database,
// uvarint space; images of spaces that no database has are of no account. imageContract makes a
// contract the one of its glob, imageNoContract removes that of a glob: op, contract
// (contractimage.go); op, uvarint glob length, glob.
const (
	imageDelete = 0
	imageInt    = 1
	imageBytes  = 2
	imageSketch = 3
	imageSpace  = 4
	// Of contracts.
	imageContract   = 5
	imageNoContract = 6

	imageExpiry = 0x10
	imageTally  = 0x20
	imageFlags  = imageExpiry | imageTally
)

// image is a decoded image. Its slices point into what it was decoded from.
type image struct {
	op       byte // without imageFlags
	space    uint64
	db       int // imageSpace
	key      []byte
	expireAt int64
	n        int64
	tally    tally
	bytes    []byte
	contract *Contract // imageContract; imageNoContract, of which only Glob counts
}

var (
	errImageShort = errors.New("engine: image is cut off")
	errImageBad   = errors.New("engine: image is malformed")
)

// appendImage appends the image of record r. REQUIRES p's lock.
func appendImage(dst []byte, t *shards.Table, p *shards.Partition, r shards.Ref) []byte {
	im := image{space: t.Space, key: p.Key(r), expireAt: p.ExpireAt(r)}
	switch p.Kind(r) {
	case shards.Tombstone:
		im.op = imageDelete
	case shards.Int:
		im.op, im.n = imageInt, p.Int(r)
		im.tally.ups, im.tally.downs = p.Tally(r)
	case shards.Sketch:
		im.op, im.bytes = imageSketch, p.Bytes(r)
	default:
		im.op, im.bytes = imageBytes, p.Bytes(r)
	}
	dst = append(dst, im.opByte())
	dst = binary.AppendUvarint(dst, im.space)
	dst = binary.AppendUvarint(dst, uint64(len(im.key)))
	dst = append(dst, im.key...)
	return im.appendState(dst)
}

func (im *image) opByte() byte {
	op := im.op
	if im.expireAt != NoExpiry && im.op != imageDelete {
		op |= imageExpiry
	}
	if im.tally != (tally{}) {
		op |= imageTally
	}
	return op
}

// appendState appends expiry and value.
func (im *image) appendState(dst []byte) []byte {
	if im.opByte()&imageExpiry != 0 {
		dst = binary.AppendVarint(dst, im.expireAt)
	}
	switch im.op {
	case imageInt:
		dst = binary.AppendVarint(dst, im.n)
	case imageBytes, imageSketch:
		dst = binary.AppendUvarint(dst, uint64(len(im.bytes)))
		dst = append(dst, im.bytes...)
	}
	if im.tally != (tally{}) {
		dst = binary.AppendUvarint(dst, uint64(im.tally.ups))
		dst = binary.AppendUvarint(dst, uint64(im.tally.downs))
	}
	return dst
}

func appendSpaceImage(dst []byte, db int, space uint64) []byte {
	dst = append(dst, imageSpace)
	dst = binary.AppendUvarint(dst, uint64(db))
	return binary.AppendUvarint(dst, space)
}

// decodeImage reads one image from the start of b and returns what follows it. The error is
// errImageShort where b ends within the image, errImageBad where no image begins like this.
func decodeImage(b []byte) (im image, rest []byte, err error) {
	d := decoder{b: b}
	op := d.byte()
	im.op = op &^ imageFlags
	if im.op == imageSpace {
		db := d.uvarint()
		im.space = d.uvarint()
		if db >= Databases || op != imageSpace {
			d.bad()
		}
		im.db = int(db)
		return im, d.b, d.err
	}
	if op == imageContract || op == imageNoContract {
		im.decodeContract(&d)
		return im, d.b, d.err
	}
	if im.op > imageSketch || im.op == imageDelete && op != imageDelete {
		d.bad()
	}
	im.space = d.uvarint()
	im.key = d.bytes(MaxStringLen)
	im.decodeState(&d, op)
	return im, d.b, d.err
}

// scanImage is decodeImage for one who wants to know what an image is of; of most it is half the work.
func scanImage(b []byte) (op byte, space uint64, key, rest []byte, err error) {
	if len(b) > 0 && b[0] == imageInt {
		space, n := binary.Uvarint(b[1:])
		if n > 0 {
			at := 1 + n
			size, n := binary.Uvarint(b[at:])
			if at += n; n > 0 && size <= MaxStringLen && size <= uint64(len(b)-at) {
				end := at + int(size)
				if _, n := binary.Varint(b[end:]); n > 0 {
					return imageInt, space, b[at:end:end], b[end+n:], nil
				}
			}
		}
	}
	im, rest, err := decodeImage(b)
	return im.op, im.space, im.key, rest, err
}

func (im *image) decodeState(d *decoder, op byte) {
	im.op, im.expireAt = op&^imageFlags, NoExpiry
	if op&imageExpiry != 0 {
		im.expireAt = d.varint()
	}
	switch im.op {
	case imageInt:
		im.n = d.varint()
	case imageBytes, imageSketch:
		im.bytes = d.bytes(MaxStringLen)
	}
	if op&imageTally != 0 {
		ups, downs := d.uvarint(), d.uvarint()
		if im.op != imageInt || ups > math.MaxInt64 || downs > math.MaxInt64 {
			d.bad()
		}
		im.tally = tally{int64(ups), int64(downs)}
	}
}

func (im *image) decodeContract(d *decoder) {
	var c Contract
	if im.op == imageContract {
		c = d.contract()
	} else {
		c.Glob = string(d.bytes(MaxGlobBytes))
	}
	im.contract = &c
}

// decoder reads the fields of images; its first error stays.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err, d.b = err, nil
	}
}

func (d *decoder) bad() { d.fail(errImageBad) }

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.fail(errImageShort)
		return 0
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	d.skip(n)
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	d.skip(n)
	return v
}

func (d *decoder) skip(n int) {
	switch {
	case n > 0:
		d.b = d.b[n:]
	case n == 0:
		d.fail(errImageShort)
	default:
		d.bad()
	}
}

// bytes reads a length and as many bytes, at most limit.
func (d *decoder) bytes(limit uint64) []byte {
	n := d.uvarint()
	if d.err == nil && n > limit {
		d.bad()
	}
	if n > uint64(len(d.b)) {
		d.fail(errImageShort)
	}
	if d.err != nil {
		return nil
	}
	b := d.b[:n:n]
	d.b = d.b[n:]
	return b
}

// A carrier puts images together that the log has cut into chunks.
type carrier struct {
	epoch uint64 // of the flush at hand
	carry []byte // what its last chunk had of an image that goes on in the next
}

// chunk calls take with what there is of a flush from the begin of an image on. take returns how many bytes of
// whole images it has taken; b is valid during the call.
func (c *carrier) chunk(epoch uint64, chunk []byte, take func(b []byte) (taken int, err error)) error {
	if epoch != c.epoch {
		if err := c.end(); err != nil {
			return err
		}
		c.epoch = epoch
	}
	b := chunk
	if len(c.carry) > 0 {
		c.carry = append(c.carry, chunk...)
		b = c.carry
	}
	taken, err := take(b)
	if err != nil {
		return err
	}
	if len(c.carry) == 0 || taken > 0 { // a large image in many chunks is not moved for each
		c.carry = append(c.carry[:0], b[taken:]...)
	}
	return nil
}

// end reports what is left of an image that is cut off. It comes after the last chunk.
func (c *carrier) end() error {
	if len(c.carry) > 0 {
		return fmt.Errorf("flush of epoch %d: %w", c.epoch, errImageShort)
	}
	return nil
}

// assembler decodes the images of flushes from the chunks that the log cut them into.
type assembler struct {
	carrier
	im image // what fn is given
}

// chunk calls fn for every image that ends in the chunk, with its bytes. Both are valid during the call.
func (a *assembler) chunk(epoch uint64, chunk []byte, fn func(im *image, raw []byte) error) error {
	return a.carrier.chunk(epoch, chunk, func(b []byte) (taken int, err error) {
		for taken < len(b) {
			var rest []byte
			a.im, rest, err = decodeImage(b[taken:])
			if err == errImageShort {
				return taken, nil
			}
			end := len(b) - len(rest)
			if err == nil {
				err = fn(&a.im, b[taken:end])
			}
			if err != nil {
				return taken, err
			}
			taken = end
		}
		return taken, nil
	})
}

// isEntry reports whether an image with this op is of an entry.
func isEntry(op byte) bool { return op <= imageSketch }
