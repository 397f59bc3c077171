package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilSignal returns a context that ends with Ctrl-C, SIGTERM or SIGHUP; a second one ends the
// process. Until stop is called, SIGPIPE does nothing: who reads the output no more shows as the
// error of a write.
func untilSignal() (ctx context.Context, stop func()) {
	end := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		end = append(end, syscall.SIGHUP)
	}
	ctx, restore := signal.NotifyContext(context.Background(), end...)
	context.AfterFunc(ctx, restore)
	// Caught, not ignored: children would inherit that.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	return ctx, func() {
		restore()
		signal.Stop(pipe)
	}
}
