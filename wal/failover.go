package wal

import (
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A log with a failover goes on in another directory while the disk of one stalls.
//
// Whoever leads the flush waits for a write or a sync no longer than a threshold. Then he gives the
// active segment up as it is: the operation is left to end by itself, and a new segment begins in the
// directory that works. Its header names the end of the old one up to which that is known to be synced,
// and it begins with the flushes behind that end, of which copies are kept until they are synced. A
// reader reads a segment to the end that its successor names. So each flush is read once, and whatever
// the stalled operations still do to the old segment is of no account, be it success, failure or half.
//
//	000007.log   header, flushes ── synced ── a flush, a flush │ stalled: maybe there, maybe not
//	000008.log   header: 000007 ends at synced; the two flushes again; what follows
//
// A segment is made under another name, with all that it begins with, and synced; then it is renamed.
// The name is the only thing that decides, so at any crash either the old segment is the newest, with
// all that was written to it, or the new one is there as a whole. Nothing that was written since the
// stall was acknowledged before the new name is durable.
//
// A segment that is being made can be given up. Where its disk stalls too, another is begun in the
// first directory that works again, be it that of the old segment; the first that is ready to be
// renamed is the one. If a disk stalls in the renaming itself, the name may come or not. Then nothing
// is written to the old segment any more, and the header of the next says that this one is void.
//
// An error is not a stall: a failed write or sync of the active segment is final, as without a
// failover. If a stalled operation fails at last, no segment begins in its directory any more.
//
// Rejected: giving up nothing but appending the same flushes to both, and taking each epoch once
// (pebble/v2/wal): every reader would have to merge two segments, and a half flush in the middle of one
// could not be told from damage.

// Failover says where a log goes on.
type Failover struct {
	// Dir is a directory on another disk. It must exist, and be this log's alone.
	Dir string
	// Leave: what is in Dir is read and removed, but no segment begins there.
	Leave bool
	// Threshold is how long an operation may take; 0 means DefaultStallThreshold.
	Threshold time.Duration
	// Notify is called when segments begin in another directory than before. It must not block.
	Notify func(Switch)
	// After replaces time.After in tests.
	After func(time.Duration) <-chan time.Time
}

// Switch says that segments begin in another directory now.
type Switch struct {
	Dir     string
	Primary bool  // it is Options.Dir
	Failed  error // why they do not begin in the other one any more; nil: it stalled, or works again
}

// DefaultStallThreshold is the one of pebble/v2/wal.
const DefaultStallThreshold = 100 * time.Millisecond

// errStalled is the result of an operation that has not ended in time.
var errStalled = errors.New("wal: the disk stalls")

// failover is the state of a log that has one. What mu does not guard and is not atomic belongs to the
// goroutine that leads the flush.
type failover struct {
	Failover
	dirs []*directory

	// kept are the flushes that are not known to be synced, base the epoch of the last that is.
	kept []keptFlush
	base uint64
	// adrift: an operation of the active segment stalled. Nothing is written to it any more.
	adrift bool
	// heir: the segment before was adrift.
	heir bool
	// syncing is the directory of the sync between BeginSync and EndSync.
	syncing *directory
	// void is the first segment, if any, that may have a name though it was given up.
	void SegmentID

	mu   sync.Mutex    // guards the fields of dirs that say so, and probing
	wake chan struct{} // a directory may have become free
	quit chan struct{}

	probing bool
	// home is the place in dirs of where segments are to begin, active of where the active one is.
	home, active atomic.Int32

	stalls, switches atomic.Int64
}

// keptFlush is a copy of a flush. end is where it ends in the active segment, once it is written.
type keptFlush struct {
	epoch  uint64
	chunks [][]byte
	meta   []byte
	bytes  uint64
	end    int64
}

func newFailover(o Failover, l *Log) *failover {
	f := &failover{
		Failover: o, dirs: l.dirs, base: l.lastEpoch,
		wake: make(chan struct{}, 1), quit: make(chan struct{}),
	}
	if f.Threshold <= 0 {
		f.Threshold = DefaultStallThreshold
	}
	if f.After == nil {
		f.After = time.After
	}
	if f.Notify == nil {
		f.Notify = func(Switch) {}
	}
	return f
}

func (f *failover) stop() { close(f.quit) }

// FailoverStats say what a failover has done since Open.
type FailoverStats struct {
	Stalls   int64 // operations that did not end in time
	Switches int64 // of the directory that segments begin in
	Away     bool  // the active segment is not in Options.Dir
}

// FailoverStats may be called at any time by any goroutine.
func (l *Log) FailoverStats() FailoverStats {
	f := l.over
	if f == nil {
		return FailoverStats{}
	}
	return FailoverStats{Stalls: f.stalls.Load(), Switches: f.switches.Load(), Away: f.active.Load() != 0}
}

// keep copies a flush that is about to be written.
func (f *failover) keep(epoch uint64, chunks [][]byte, meta []byte, bytes uint64) {
	k := keptFlush{epoch: epoch, meta: slices.Clone(meta), bytes: bytes, end: math.MaxInt64}
	for _, c := range chunks {
		k.chunks = append(k.chunks, slices.Clone(c))
	}
	f.kept = append(f.kept, k)
}

// forgetLast takes back a keep: the flush was not written. The old slice may be read still, by who makes
// a segment that was given up.
func (f *failover) forgetLast() { f.kept = slices.Clone(f.kept[:len(f.kept)-1]) }

// synced says that the active segment is synced up to off.
func (f *failover) synced(off int64) {
	n := 0
	for n < len(f.kept) && f.kept[n].end <= off {
		f.base = f.kept[n].epoch
		n++
	}
	f.kept = slices.Clone(f.kept[n:])
}

// appendGuarded is Append, with a failover.
func (l *Log) appendGuarded(epoch uint64, chunks [][]byte, meta []byte, bytes uint64) error {
	f := l.over
	err := l.neutralise()
	if errors.Is(err, errStalled) {
		l.drift()
		err = nil
	}
	if err == nil && (l.active.file == nil || f.adrift) {
		err = l.begin(false)
	}
	if err != nil {
		return err
	}
	f.keep(epoch, chunks, meta, bytes)
	err = l.write(epoch, chunks, meta, bytes)
	if err == nil {
		f.kept[len(f.kept)-1].end = l.active.off
		return nil
	}
	if errors.Is(err, errStalled) {
		l.drift()
		err = l.begin(false) // with this flush
	}
	if err != nil && l.failed == nil {
		f.forgetLast()
	}
	return err
}

// rotateGuarded is Rotate, with a failover. A segment behind one that was given up is sealed also where
// it has no flush, since only its header says where that one ends.
func (l *Log) rotateGuarded() error {
	if l.active.file == nil {
		return nil
	}
	err := l.neutralise()
	if errors.Is(err, errStalled) {
		l.drift()
		err = nil
	}
	if err == nil && l.over.adrift {
		err = l.begin(false)
	}
	if err == nil {
		err = l.Sync()
	}
	if err != nil || l.active.off == l.active.first && !l.over.heir {
		return err
	}
	return l.begin(false)
}

func (l *Log) isAdrift() bool { return l.over != nil && l.over.adrift }

// broken notes that an operation failed that nobody waited for.
func (f *failover) broken(d *directory, err error) {
	if err == nil || errors.Is(err, errStalled) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if d.failed == nil {
		d.failed = err
	}
}

// moveOn gives up the active segment, of which an operation stalled, and returns when all that was
// appended is synced in another.
func (l *Log) moveOn() error {
	l.drift()
	return l.begin(true)
}

// beginOrder is the order in which directories are tried.
func (f *failover) beginOrder() []*directory {
	first := f.home.Load()
	if f.adrift {
		first = 1 - f.active.Load()
	}
	return []*directory{f.dirs[first], f.dirs[1-first]}
}

// take makes a segment that begin has made the active one. What was kept is in it.
func (l *Log) take(next segment, d *directory) {
	f := l.over
	if n := len(f.kept); n > 0 {
		f.base = f.kept[n-1].epoch
		l.lastEpoch = f.base
	}
	f.kept = nil
	if l.enc.buf == nil {
		l.enc.buf = make([]byte, 0, encodeBufferBytes)
	}
	old := l.active
	l.place(next.id, d)
	l.mu.Lock()
	if old.file != nil {
		l.mu.sealed = append(l.mu.sealed, SegmentInfo{old.id, old.synced})
	}
	l.active = next
	l.mu.active = next.id
	l.activeBytes.Store(next.off)
	l.mu.Unlock()
	if old.file != nil {
		old.file.(*guarded).release(old.synced)
	}
	f.heir, f.adrift, f.void = f.adrift, false, 0
	f.moved(l, d)
}

// moved notes which directory the active segment is in.
func (f *failover) moved(l *Log, d *directory) {
	to := int32(slices.Index(f.dirs, d))
	from := f.active.Swap(to)
	f.mu.Lock()
	f.home.Store(to)
	failed := f.dirs[1-to].failed
	if to != 0 && !f.probing {
		f.probing = true
		go f.probe(l.fs)
	}
	f.mu.Unlock()
	if from != to {
		f.switches.Add(1)
		f.Notify(Switch{Dir: d.name, Primary: to == 0, Failed: failed})
	}
}
