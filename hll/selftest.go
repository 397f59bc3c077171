package hll

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/axiomhq/hyperloglog"
)

// selfTestMax is the number of elements SelfTest adds.
const selfTestMax = 200_000

// SelfTest counts selfTestMax elements here and in axiomhq/hyperloglog, side by
// side: PFSELFTEST. At each power of ten and at the end it demands the same
// registers and the same estimate as the library's, and an estimate within four
// standard errors of the truth. It takes some 20 ms. seed varies the elements.
func SelfTest(seed uint64) error {
	b, lib := New(), hyperloglog.New14()
	var elem [16]byte
	binary.LittleEndian.PutUint64(elem[8:], seed)
	next := uint64(10)
	for n := uint64(1); n <= selfTestMax; n++ {
		binary.LittleEndian.PutUint64(elem[:], n)
		h := Hash(elem[:])
		lib.InsertHash(h)
		var err error
		if b, _, err = AddHash(b, h); err != nil {
			return err
		}
		if n != next && n != selfTestMax {
			continue
		}
		next *= 10
		if err := selfCheck(b, lib, n); err != nil {
			return fmt.Errorf("hll: self test with seed %d: %w", seed, err)
		}
	}
	return nil
}

// selfCheck compares b, to which n distinct elements were added, with lib.
func selfCheck(b []byte, lib *hyperloglog.Sketch, n uint64) error {
	if err := Valid(b); err != nil {
		return err
	}
	got, err := Count(b)
	if err != nil {
		return err
	}
	if bound := 4 * StandardError * float64(n); math.Abs(float64(got)-float64(n)) > bound+1 {
		return fmt.Errorf("%d elements counted as %d", n, got)
	}
	dense := hyperloglog.NewNoSparse()
	if err := dense.Merge(lib); err != nil {
		return err
	}
	regs, err := AppendRegisters(nil, b)
	if err != nil {
		return err
	}
	form, err := dense.MarshalBinary()
	if err != nil {
		return err
	}
	if !bytes.Equal(form[len(form)-Registers:], regs) {
		return fmt.Errorf("registers after %d elements differ from the library's", n)
	}
	if isDense(b) {
		lib = dense
	}
	if want := lib.Estimate(); got != want {
		return fmt.Errorf("%d elements counted as %d, by the library as %d", n, got, want)
	}
	return nil
}
