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
	"syscall"
	"time"

	"countd/config"
	"countd/engine"
	"countd/server"
)

// start opens everything, serves until the stop, and closes everything.
func start(cfg *config.Config, hot engine.HotConfig, stderr io.Writer) (err error) {
	tuneGC(cfg)
	log, closeLog, err := openLog(cfg, stderr)
	if err != nil {
		return err
	}
	defer closeLog()
	if cfg.Value("logfile") != "" { // where one looks first; standard error may go nowhere
		defer func() {
			if err != nil {
				log.Error("countd failed", "err", err)
			}
		}()
	}
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
	case engine.MayRepair(err):
		return fmt.Errorf("the data directory %s is damaged: %w; countd check %s --repair salvages what "+
			"can be, or restore a backup", dir, plain(err), dir)
	case engine.IsDamage(err):
		return fmt.Errorf("the data directory %s is damaged: %w", dir, plain(err))
	case errors.Is(err, engine.ErrDiskFull):
		return fmt.Errorf("%s: make room on it and start again (%w)", fullDisk(dir, failover, err), plain(err))
	case errors.Is(err, engine.ErrFailover):
		return fmt.Errorf("cannot open the data directory %s (see --log-failover-dir): %w", dir, plain(err))
	}
	return cannotOpen(dir, err)
}

// closeFailed says what it means that closing the data directory answers err; nil: nothing.
func closeFailed(dir string, err error) error {
	switch {
	case errors.Is(err, engine.ErrUnsaved):
		return fmt.Errorf("the last writes are not saved in the data directory %s, and as not every reply "+
			"waited for the disk, acknowledged ones may be among them: %w", dir, plain(err))
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

// cannotOpen says why dir cannot be opened, in words where the system's would name a file that is not there.
func cannotOpen(dir string, err error) error {
	switch file := fileOnTheWay(dir); {
	case errors.Is(err, syscall.ENOTDIR) && file != "":
		return fmt.Errorf("cannot open the data directory %s (see --dir): %s is not a directory", dir, file)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("cannot open the data directory %s (see --dir): no permission to read and write it: %w",
			dir, plain(err))
	}
	return fmt.Errorf("cannot open the data directory %s (see --dir): %w", dir, plain(err))
}

// fileOnTheWay is dir, or the nearest above it, that is there and no directory; "" if none.
func fileOnTheWay(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil {
			if info.IsDir() {
				return ""
			}
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
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
