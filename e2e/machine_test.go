package e2e

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// watchMachine measures what may hold up any process on this machine while others use it: how late
// a short nap ends, and how long a sync of a few bytes takes. The returned function ends the watch
// and answers the longest of each, those under way included.
func watchMachine(t *testing.T) (longest func() (nap, sync time.Duration)) {
	const every = 10 * time.Millisecond
	file, err := os.Create(filepath.Join(t.TempDir(), "probe"))
	if err != nil {
		t.Fatal(err)
	}
	var naps, syncs probe
	stop := make(chan struct{})
	var wg sync.WaitGroup
	repeat := func(p *probe, fn func()) {
		wg.Go(func() {
			for {
				p.measure(fn)
				select {
				case <-stop:
					return
				case <-time.After(every):
				}
			}
		})
	}
	repeat(&naps, func() { time.Sleep(every) })
	repeat(&syncs, func() {
		_, _ = file.WriteAt([]byte{0}, 0) // only the time matters
		_ = file.Sync()
	})
	return func() (nap, sync time.Duration) {
		nap, sync = naps.longest(), syncs.longest()
		close(stop)
		wg.Wait()
		_ = file.Close()
		return max(nap-every, 0), sync
	}
}

// A probe measures the longest of many runs.
type probe struct {
	mu struct {
		sync.Mutex
		running bool
		since   moment
		worst   time.Duration
	}
}

func (p *probe) measure(fn func()) {
	p.mu.Lock()
	p.mu.running, p.mu.since = true, now()
	p.mu.Unlock()
	fn()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.running = false
	p.mu.worst = max(p.mu.worst, now().since(p.mu.since))
}

func (p *probe) longest() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.running {
		return max(p.mu.worst, now().since(p.mu.since))
	}
	return p.mu.worst
}
