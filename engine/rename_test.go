package engine

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// rename is a step of the walker.
func (w *walker) rename(src string, nx bool) {
	w.t.Helper()
	dst, now := string(w.key()), w.op.NowMs
	done, err := w.e.Rename(&w.op, []byte(src), []byte(dst), nx)
	v, ok := w.m.live(w.op.DB, src, now)
	_, there := w.m.live(w.op.DB, dst, now)
	if !ok {
		w.want(err, ErrNoKey)
		return
	}
	want := !nx || !there
	if want && src != dst && !w.m.admits([]byte(dst), v.val) {
		w.want(err, ErrOutOfRange)
		return
	}
	w.want(err, nil)
	if done != want {
		w.t.Fatalf("Rename %q %q: %v, want %v", src, dst, done, want)
	}
	if done {
		delete(w.m.keys[w.op.DB], src)
		w.m.keys[w.op.DB][dst] = w.m.under(dst, v)
	}
}

// copy is a step of the walker.
func (w *walker) copy(src string, replace bool) {
	w.t.Helper()
	dst, db, now := string(w.key()), w.rng.IntN(3), w.op.NowMs
	if db == w.op.DB && src == dst {
		return
	}
	done, err := w.e.Copy(&w.op, []byte(src), db, []byte(dst), replace)
	v, ok := w.m.live(w.op.DB, src, now)
	_, there := w.m.live(db, dst, now)
	want := ok && (replace || !there)
	if want && !w.m.admits([]byte(dst), v.val) {
		w.want(err, ErrOutOfRange)
		return
	}
	w.want(err, nil)
	if done != want {
		w.t.Fatalf("Copy %q to %q of database %d: %v, want %v", src, dst, db, done, want)
	}
	if done {
		w.m.keys[db][dst] = w.m.under(dst, v.clone())
	}
}

// move is a step of the walker.
func (w *walker) move(key string) {
	w.t.Helper()
	db, now := (w.op.DB+1+w.rng.IntN(2))%3, w.op.NowMs
	done, err := w.e.Move(&w.op, []byte(key), db)
	v, ok := w.m.live(w.op.DB, key, now)
	_, there := w.m.live(db, key, now)
	want := ok && !there
	if want && !w.m.admits([]byte(key), v.val) {
		w.want(err, ErrOutOfRange)
		return
	}
	w.want(err, nil)
	if done != want {
		w.t.Fatalf("Move %q to database %d: %v, want %v", key, db, done, want)
	}
	if done {
		delete(w.m.keys[w.op.DB], key)
		w.m.keys[db][key] = w.m.under(key, v)
	}
}

// appendTo is a step of the walker: APPEND, and GETRANGE of what is there then. Sketches are left alone.
func (w *walker) appendTo(key string) {
	w.t.Helper()
	v, ok := w.m.live(w.op.DB, key, w.op.NowMs)
	if v.sketch != nil {
		return
	}
	if !ok {
		v.expiry = NoExpiry
	}
	val := bytes.Repeat([]byte{byte('0' + w.rng.IntN(11))}, w.rng.IntN(3)*w.rng.IntN(60))
	n, err := w.e.Append(&w.op, []byte(key), val)
	if (!ok || len(val) > 0) && !w.m.admits([]byte(key), v.val+string(val)) {
		w.want(err, ErrOutOfRange)
		return
	}
	w.want(err, nil)
	if !ok || len(val) > 0 {
		v.tally = tally{}
	}
	v.val += string(val)
	if n != int64(len(v.val)) {
		w.t.Fatalf("Append %q: %d bytes, want %d", key, n, len(v.val))
	}
	w.m.keys[w.op.DB][key] = v
	start := w.rng.Int64N(n + 1)
	end := start + w.rng.Int64N(n+1)
	got, err := w.e.GetRange(&w.op, []byte(key), start, end)
	w.want(err, nil)
	if want := v.val[start:min(end+1, n)]; string(got) != want {
		w.t.Fatalf("GetRange %s %d %d: %q, want %q", strconv.Quote(key), start, end, got, want)
	}
}

// travel increments writer w's counter and takes it through all places where traveller looks.
func travel(e *Engine, op *Op, w int) error {
	a, b := fmt.Appendf(nil, "t%d", w), fmt.Appendf(nil, "u%d", w)
	all := func(done bool, err error) error {
		if err == nil && !done {
			err = errors.New("not renamed or moved")
		}
		return err
	}
	_, err1 := e.IncrBy(op, a, 1)
	err2 := all(e.Rename(op, a, b, true))
	err3 := all(e.Move(op, b, 1))
	op.DB = 1
	err4 := all(e.Rename(op, b, a, false))
	err5 := all(e.Move(op, a, 0))
	op.DB = 0
	return errors.Join(err1, err2, err3, err4, err5)
}

// traveller returns the counter of writer w, and at how many places it is.
func traveller(t *testing.T, e *Engine, w int) (n int64, places int) {
	t.Helper()
	for db := range 2 {
		for _, name := range []string{"t", "u"} {
			op := Op{NowMs: e.NowMs(), DB: db}
			v, err := e.Get(&op, fmt.Appendf(nil, "%s%d", name, w))
			if err != nil {
				t.Fatal(err)
			}
			if v.Exists {
				n = v.Int
				places++
			}
		}
	}
	return n, places
}

// TestADestinationThatCannotBeReadIsNotWritten: whether there is one, and so whether RENAMENX may write,
// is not known where the store cannot be read.
func TestADestinationThatCannotBeReadIsNotWritten(t *testing.T) {
	e, _, err := Open(Options{Dir: "data", FS: vfs.NewMem(), Policy: FsyncNo, FlushInterval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	op := Op{NowMs: e.NowMs()}
	mustIncr(t, e, &op, "src", 1)
	src, dst := []byte("src"), []byte("dst")
	for i := 0; e.place(&op, src).part == e.place(&op, dst).part; i++ {
		dst = fmt.Appendf(nil, "dst%d", i)
	}
	injected := errors.New("injected")
	for _, keep := range []bool{false, true} {
		pr := e.lockPair(&op, src, 0, dst)
		pr.to.p.Fail(injected) // until the lock is let go
		done, err := e.transfer(&op, &pr, pr.from.content(&op), keep)
		pr.unlock()
		if done || err != injected {
			t.Errorf("keep %v: %v, %v", keep, done, err)
		}
	}
	if n, err := e.Exists(&op, [][]byte{src, dst}); n != 1 || err != nil {
		t.Errorf("there are %d keys (%v), want 1", n, err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
