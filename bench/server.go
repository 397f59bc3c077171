package main

import (
	"context"
	"os"

	"countd/bench/process"
)

// server is a process that a comparison started, with a directory of its own.
type server struct {
	*process.Process
	name string
	dir  string
}

// startServer starts a server in a new directory and returns when it answers PING.
func startServer(ctx context.Context, name, path string, args []string) (*server, error) {
	dir, err := os.MkdirTemp("", "bench-"+name+"-")
	if err != nil {
		return nil, err
	}
	p, err := process.Start(ctx, name, path, dir, args)
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return &server{Process: p, name: name, dir: dir}, nil
}

// stop ends the process and removes its directory.
func (s *server) stop() {
	s.Stop()
	os.RemoveAll(s.dir)
}
