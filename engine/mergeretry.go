package engine

import (
	"time"

	"countd/store"
)

// A merge that failed is tried again after a while; the log keeps what it could not take. Where it found the
// disk full it is tried as soon as there is more room, since it gives back more than it takes: the log may
// wait for that, and writers with it.

const (
	// mergeRetry is how long the merger waits after an error.
	mergeRetry = 10 * time.Second
	// roomTick is how often it looks for room meanwhile, which is one system call.
	roomTick = 250 * time.Millisecond
	// roomShare: a share of what is to be merged is more room. So however slowly room is made, the log is not
	// read more than this many times in vain before there is enough.
	roomShare = 16
)

// retry is a merge that is to be tried again. The zero value: there is none.
type retry struct {
	at   time.Time // in any case
	more uint64    // it is tried before when there are so many bytes more than room; 0: it is not
	room uint64    // the least that was free since it failed
}

// retryMerge is the retry of a merge that failed with err.
func (e *Engine) retryMerge(err error) (r retry) {
	r.at = time.Now().Add(mergeRetry)
	if e.opts.mergeRetry > 0 {
		r.at = time.Now().Add(e.opts.mergeRetry)
	}
	if job := e.merge.job.Load(); job != nil && store.DiskFull(err) {
		var ok bool
		if r.room, ok = e.room(); ok {
			r.more = max(uint64(sealedBytes(job.sealed)/roomShare), 1)
		}
	}
	return r
}

// tick fires when it is time to look whether r is due.
func (r *retry) tick() <-chan time.Time {
	switch {
	case r.at.IsZero():
		return nil
	case r.more > 0:
		return time.After(roomTick)
	}
	return time.After(time.Until(r.at))
}

// due reports whether the merge is to be tried now.
func (e *Engine) due(r *retry) bool {
	if !time.Now().Before(r.at) {
		return true
	}
	room, ok := e.room()
	if !ok || r.more == 0 {
		return false
	}
	r.room = min(r.room, room) // the log may have taken some
	return room >= r.room+r.more
}

// room is what is free on the disk of the data directory, in bytes; not ok: the file system does not say.
func (e *Engine) room() (bytes uint64, ok bool) {
	usage, err := e.opts.FS.GetDiskUsage(e.opts.Dir)
	return usage.TotalBytes - usage.UsedBytes, err == nil // root may use more than AvailBytes
}
