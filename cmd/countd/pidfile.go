package main

import (
	"log/slog"
	"os"
	"strconv"
)

// writePIDFile writes the process id to name, where one is given, and returns the function that
// removes it. A failure is a warning, as in Redis: the server works without.
func writePIDFile(name string, log *slog.Logger) (remove func()) {
	if name == "" {
		return func() {}
	}
	if err := os.WriteFile(name, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644); err != nil {
		log.Warn("cannot write the pid file", "err", err)
		return func() {}
	}
	return func() { os.Remove(name) }
}
