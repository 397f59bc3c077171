package store

import (
	"io"
	"log/slog"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestADamagedTableIsNotReadWithoutEnd: where a table's end is damaged its statistics cannot be read, and Pebble
// would try that again at once.
func TestADamagedTableIsNotReadWithoutEnd(t *testing.T) {
	fs, _ := damageable(t)
	tried := 0
	for name, b := range fs.files(t) {
		if path.Ext(name) != ".sst" {
			continue
		}
		b[len(b)-60] ^= 16 // in the footer
		var said counter
		s, err := openWith(Options{FS: fs.with(t, name, b), HoldCompaction: true,
			Fatal:  func(msg string) { t.Errorf("fatal: %s", msg) },
			Logger: slog.New(slog.NewTextHandler(&said, nil))})
		if err != nil {
			continue // it has the position
		}
		tried++
		for start := time.Now(); said.n.Load() == 0; time.Sleep(time.Millisecond) {
			if time.Since(start) > 2*time.Minute {
				t.Fatalf("%s: nothing is said of the damage", name)
			}
		}
		time.Sleep(100 * time.Millisecond)
		if n := said.n.Load(); n > 4 {
			t.Errorf("%s: %d errors were logged", name, n)
		}
		if err := s.Close(); err != nil { // which waits for the goroutine
			t.Errorf("%s: %v", name, err)
		}
	}
	if tried == 0 {
		t.Error("no damaged store could be opened")
	}
}

// counter counts the lines of a log that speak of damage.
type counter struct{ n atomic.Int64 }

var _ io.Writer = (*counter)(nil)

func (c *counter) Write(p []byte) (int, error) {
	if strings.Contains(string(p), ".sst") {
		c.n.Add(1)
	}
	return len(p), nil
}
