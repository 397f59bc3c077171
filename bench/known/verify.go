package known

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"

	"countd/bench/resp"
)

// ErrWrong says that a value or DBSIZE is not what it must be; what was wrong was printed.
var ErrWrong = errors.New("the server does not have what it was given")

// maxPrinted bounds the wrong values that are printed.
const maxPrinted = 100

// Check says what to verify.
type Check struct {
	Sample  uint64 // counters to read, drawn with repetition
	Seed    uint64
	Stepped bool  // a load has incremented counters by Step
	DBSize  int64 // what DBSIZE must be
}

// Verify reads a random sample of the counters that Fill made and compares their values, and DBSIZE.
// What is wrong is printed to out, which must be safe for concurrent use: every connection writes to it.
func Verify(ctx context.Context, c Config, k Check, out io.Writer) error {
	var next, done, wrong atomic.Uint64
	stop := progress(out, &done, k.Sample)
	err := parallel(c, func(conn *resp.Conn) error {
		depth := uint64(c.Depth)
		name := make([]byte, 0, 32)
		sample := make([]uint64, 0, depth)
		for {
			from := next.Add(depth) - depth
			to := min(from+depth, k.Sample)
			if from >= to {
				return nil
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			r := rand.New(rand.NewPCG(k.Seed, from))
			sample = sample[:0]
			for range to - from {
				i := r.Uint64N(c.Keys)
				sample = append(sample, i)
				conn.Array(2)
				conn.Words("GET")
				name = appendName(name[:0], i)
				conn.Word(name)
			}
			if err := conn.Send(); err != nil {
				return err
			}
			for _, i := range sample {
				r, err := conn.Read()
				if err != nil {
					return err
				}
				if !k.right(i, r) && wrong.Add(1) <= maxPrinted {
					fmt.Fprintf(out, "WRONG: %s is %v, expected %s\n", appendName(nil, i), r, k.expected(i))
				}
			}
			done.Add(to - from)
		}
	})
	stop()
	if err != nil {
		return err
	}
	if err := checkSize(c.Address, k.DBSize, out); err != nil {
		return err
	}
	if n := wrong.Load(); n > 0 {
		fmt.Fprintf(out, "%d of %d values are wrong\n", n, k.Sample)
		return ErrWrong
	}
	return nil
}

// right says whether counter i may be r.
func (k *Check) right(i uint64, r resp.Reply) bool {
	if !k.Stepped {
		return r.Is(resp.Integer(Value(i)))
	}
	return r.Kind == ':' && r.N > 0 && r.N%Step == Value(i)
}

func (k *Check) expected(i uint64) string {
	if k.Stepped {
		return fmt.Sprintf("%d and a multiple of %d", Value(i), Step)
	}
	return fmt.Sprint(Value(i))
}

func checkSize(address string, want int64, out io.Writer) error {
	conn, err := resp.Dial(address)
	if err != nil {
		return err
	}
	defer conn.Close()
	r, err := conn.Do("DBSIZE")
	if err != nil {
		return err
	}
	if !r.Is(resp.Integer(want)) {
		fmt.Fprintf(out, "WRONG: DBSIZE is %v, expected %d\n", r, want)
		return ErrWrong
	}
	return nil
}
