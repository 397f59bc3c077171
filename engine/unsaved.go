package engine

import "fmt"

// A full disk keeps the last flush from the log. That is a loss only where something in it was acknowledged.

// allKept reports whether all that was acknowledged is synced: what is not was written since every reply
// waits for the disk.
func (e *Engine) allKept() bool {
	since := max(e.policySince.Load(), e.contracts.lastEpoch.Load())
	return e.allWait() && e.durable.Load() >= since
}

// unsaved says what it means for Close that the log does not take the last flush. What was written before,
// it syncs. REQUIRES e.commit.
func (e *Engine) unsaved(cause error) error {
	if err := e.syncNow(); err != nil {
		return err
	}
	e.raiseDurable(e.written.Load())
	if !e.allKept() {
		return fmt.Errorf("%w: %w", ErrUnsaved, cause)
	}
	e.log.Warn("the last writes are not saved; none of them was acknowledged", "err", cause)
	return nil
}
