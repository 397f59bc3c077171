package shards

// A partition's contents may be put off until somebody wants them: a start can serve long before all
// that it has read is in the tables.

// Defer has the next Lock call fn, under the lock, which brings the partition's contents. Until then it
// looks empty to who uses LockAsIs. REQUIRES that nobody else uses the partition yet.
func (p *Partition) Defer(fn func()) { p.deferred, p.fill = true, fn }

// Deferred reports whether the contents are still to come. It may be called after LockAsIs.
func (p *Partition) Deferred() bool { return p.deferred }

// LockAsIs is Lock, but leaves what was put off where it is: for who counts, or drops the contents.
func (p *Partition) LockAsIs() { p.mu.Lock() }

func (p *Partition) bring() {
	fn := p.fill
	p.undefer()
	fn()
}

// undefer forgets what was put off.
func (p *Partition) undefer() { p.deferred, p.fill = false, nil }
