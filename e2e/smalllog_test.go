package e2e

import (
	"fmt"
	"log/slog"
	"os"
	"strings"

	"countd/config"
	"countd/engine"
	"countd/server"
)

// smallLogVar makes the test binary a server with small log segments.
const smallLogVar = "E2E_SMALL_LOG"

// The sizes of a small log: a segment is full within a second of load, and the merger runs about as
// often.
const (
	smallSegmentBytes = 24 << 10
	smallMergeBytes   = 96 << 10
)

// runSmallLog is countd's own start with smaller log segments, for which it has no option. It serves
// until it is killed or told to SHUTDOWN.
func runSmallLog(argv []string) int {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	err := serveSmallLog(argv, log)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func serveSmallLog(argv []string, log *slog.Logger) error {
	cfg := config.New()
	if _, err := cfg.ParseArgs(argv, nil, os.Stdin); err != nil {
		return err
	}
	policy := map[string]engine.FsyncPolicy{
		"always": engine.FsyncAlways, "everysec": engine.FsyncEverySec, "no": engine.FsyncNo,
	}[cfg.Value("appendfsync")]
	hot, err := server.HotConfig(cfg)
	if err != nil {
		return err
	}
	eng, recovery, err := engine.Open(engine.Options{Dir: cfg.Value("dir"), Policy: policy,
		Hot: &hot, Logger: log, SegmentBytes: smallSegmentBytes, MergeBytes: smallMergeBytes})
	if err != nil {
		return err
	}
	log.Info("data is open", "keys", recovery.Keys, "stored_keys", recovery.StoreKeys,
		"replayed_images", recovery.ReplayedImages, "recovery", recovery.Duration)
	srv, err := server.New(server.Options{Engine: eng, Config: cfg, Logger: log,
		Version: config.Version, Recovery: recovery})
	if err != nil {
		return err
	}
	go func() {
		<-srv.Ready()
		log.Info("ready to accept connections", "addresses", strings.Join(srv.Addrs(), " "))
	}()
	if err := srv.Serve(); err != nil {
		return err
	}
	return eng.Close()
}
