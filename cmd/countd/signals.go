package main

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// stopOnSignal calls stop once on SIGTERM or SIGINT. A SIGINT after that ends the process at once:
// someone at a terminal is tired of waiting. What was acknowledged is as safe as after a crash.
// SIGHUP is ignored, as in Redis, and so is SIGPIPE: a log that nobody reads is no reason to die.
// The returned function ends the watch.
func stopOnSignal(log *slog.Logger, stop func()) (unwatch func()) {
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	done := make(chan struct{})
	go func() {
		stopping := false
		for {
			select {
			case <-done:
				return
			case sig := <-signals:
				switch {
				case !stopping:
					stopping = true
					log.Warn("stopping", "signal", sig.String())
					go stop()
				case sig == syscall.SIGINT:
					log.Warn("stopping at once, as the second interrupt asks")
					os.Exit(exitFailed)
				}
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}
