package soak

import (
	"strconv"
	"strings"

	"countd/bench/resp"
)

// life is what INFO said of one server process, and the system of it.
type life struct {
	evicted, readBack, expired, merges, slowedMs int64
	peakRSS, tableBytes                          int64
}

// sample asks a server for its figures.
func sample(c *resp.Conn) (life, error) {
	r, err := c.Do("INFO", "everything")
	if err != nil {
		return life{}, err
	}
	text := string(r.Text)
	return life{
		evicted:    infoNumber(text, "entries_evicted_to_store"),
		readBack:   infoNumber(text, "store_reads"),
		expired:    infoNumber(text, "expired_keys"),
		merges:     infoNumber(text, "merges"),
		slowedMs:   infoNumber(text, "writers_slowed_msec"),
		tableBytes: infoNumber(text, "used_memory_dataset"),
	}, nil
}

// add adds the figures of the next process.
func (l *life) add(o life) {
	l.evicted += o.evicted
	l.readBack += o.readBack
	l.expired += o.expired
	l.merges += o.merges
	l.slowedMs += o.slowedMs
	l.peakRSS = max(l.peakRSS, o.peakRSS)
	l.tableBytes = max(l.tableBytes, o.tableBytes)
}

// infoNumber is one number of an INFO text, 0 where it is missing.
func infoNumber(text, name string) int64 {
	_, rest, _ := strings.Cut(text, "\n"+name+":")
	value, _, _ := strings.Cut(rest, "\r")
	n, _ := strconv.ParseInt(value, 10, 64)
	return n
}
