package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"countd/config"
	"countd/engine"
	"countd/server"
)

// start opens everything, serves until the stop, and closes everything.
func start(cfg *config.Config, hot engine.HotConfig, stderr io.Writer) error {
	tuneGC(cfg)
	log, closeLog, err := openLog(cfg, stderr)
	if err != nil {
		return err
	}
	defer closeLog()
	if err := checkAddresses(cfg.Addresses()); err != nil {
		return err
	}
	log.Info(config.VersionLine()+" starts", "pid", os.Getpid())

	dir, failover := cfg.Value("dir"), cfg.Value("log-failover-dir")
	if failover != "" {
		var err error
		if failover, err = filepath.Abs(failover); err != nil {
			return fmt.Errorf("log-failover-dir: %w", err)
		}
	}
	eng, recovery, err := engine.Open(engine.Options{Dir: dir, Policy: policy(cfg), Logger: log,
		Hot: &hot, Contracts: contracts(cfg), LogFailoverDir: failover, MaxMemory: maxMemory(cfg),
		LogStall: time.Duration(cfg.Int("log-failover-threshold")) * time.Millisecond})
	if err != nil {
		return openFailed(dir, failover, err)
	}
	logRecovery(cfg, recovery, log)
	defer writePIDFile(cfg.Value("pidfile"), log)()

	served := serve(cfg, eng, recovery, log)
	closed := closeFailed(dir, eng.Close())
	if served == nil && closed == nil {
		log.Info("countd stopped")
	}
	return errors.Join(served, closed)
}

// openFailed says why the data directory cannot be opened, and what to do.
func openFailed(dir, failover string, err error) error {
	switch {
	case errors.Is(err, engine.ErrLocked):
		return fmt.Errorf("the data directory %s is in use by another process; "+
			"stop that one or choose another directory with --dir", dir)
	case engine.IsDamage(err):
		return fmt.Errorf("the data directory %s is damaged: %w; countd check %s --repair salvages what "+
			"can be, or restore a backup", dir, err, dir)
	case errors.Is(err, engine.ErrDiskFull):
		return fmt.Errorf("%s: make room on it and start again (%w)", fullDisk(dir, failover, err), err)
	case errors.Is(err, engine.ErrFailover):
		return fmt.Errorf("cannot open the data directory %s (see --log-failover-dir): %w", dir, err)
	}
	return fmt.Errorf("cannot open the data directory %s (see --dir): %w", dir, err)
}

// closeFailed says what it means that closing the data directory answers err; nil: nothing.
func closeFailed(dir string, err error) error {
	switch {
	case errors.Is(err, engine.ErrUnsaved):
		return fmt.Errorf("the last writes are not saved in the data directory %s, and as not every reply "+
			"waited for the disk, acknowledged ones may be among them: %w", dir, err)
	case err != nil:
		return fmt.Errorf("the data was not closed cleanly: %w", err)
	}
	return nil
}

// fullDisk says which disk is full, by the path in err.
func fullDisk(dir, failover string, err error) string {
	var path *fs.PathError
	if failover != "" && errors.As(err, &path) && filepath.Dir(path.Path) == failover {
		return fmt.Sprintf("the disk of the failover directory %s (see --log-failover-dir) is full", failover)
	}
	return fmt.Sprintf("the disk of the data directory %s (see --dir) is full", dir)
}

// serve runs a server on eng until SIGTERM, SIGINT or SHUTDOWN.
func serve(cfg *config.Config, eng *engine.Engine, recovery engine.Recovery, log *slog.Logger) error {
	srv, err := server.New(server.Options{Engine: eng, Config: cfg, Logger: log,
		Version: config.Version, Recovery: recovery})
	if err != nil {
		return err
	}
	defer stopOnSignal(log, srv.Shutdown)()
	stopped := make(chan struct{})
	defer close(stopped)
	go func() {
		select {
		case <-srv.Ready():
			log.Info("ready to accept connections", "addresses", strings.Join(srv.Addrs(), " "))
		case <-stopped:
		}
	}()
	return srv.Serve()
}

// maxMemory is the budget of a server with a log; without one there is nowhere to evict to, of which the
// server warns.
func maxMemory(cfg *config.Config) int64 {
	if policy(cfg) == engine.FsyncOff {
		return 0
	}
	return cfg.Int("maxmemory")
}

// policy is what appendonly and appendfsync say together.
func policy(cfg *config.Config) engine.FsyncPolicy {
	if !cfg.Bool("appendonly") {
		return engine.FsyncOff
	}
	switch cfg.Value("appendfsync") {
	case "always":
		return engine.FsyncAlways
	case "no":
		return engine.FsyncNo
	default:
		return engine.FsyncEverySec
	}
}

// logRecovery says where the data is, how safe it is, and what was found.
func logRecovery(cfg *config.Config, r engine.Recovery, log *slog.Logger) {
	if !cfg.Bool("appendonly") {
		log.Warn("data lives in memory only and ends with the process (appendonly no)")
		return
	}
	log.Info("data is open", "dir", cfg.Value("dir"), "appendfsync", cfg.Value("appendfsync"),
		"keys", r.Keys, "stored_keys", r.StoreKeys, "replayed_images", r.ReplayedImages,
		"replayed_bytes", r.ReplayedBytes, "recovery", r.Duration.Round(time.Millisecond))
	if r.TruncatedBytes > 0 {
		log.Warn("the log ended in a torn write, which was never acknowledged; it was cut off",
			"bytes", r.TruncatedBytes)
	}
}
