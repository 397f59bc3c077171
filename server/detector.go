package server

import (
	"errors"
	"strings"
	"time"

	"countd/config"
	"countd/engine"
)

// hotOptions are the options that make up the detector's settings.
var hotOptions = []string{"hot-keys", "hot-promote-rate", "hot-demote-rate", "hot-share-permille",
	"hot-hold-ms", "hot-window-ms", "hot-tick-ms", "hot-samples", "hot-entries", "hot-max"}

// HotConfig is what the options say of hot keys. The error is a sentence that says which of them
// do not go together.
func HotConfig(cfg *config.Config) (engine.HotConfig, error) {
	ms := func(name string) time.Duration { return time.Duration(cfg.Int(name)) * time.Millisecond }
	hot := engine.HotConfig{
		Off:         !cfg.Bool("hot-keys"),
		PromoteRate: float64(cfg.Int("hot-promote-rate")),
		DemoteRate:  float64(cfg.Int("hot-demote-rate")),
		Share:       float64(cfg.Int("hot-share-permille")) / 1000,
		Hold:        ms("hot-hold-ms"),
		Window:      ms("hot-window-ms"),
		Tick:        ms("hot-tick-ms"),
		Samples:     int(cfg.Int("hot-samples")),
		Entries:     int(cfg.Int("hot-entries")),
		MaxHot:      int(cfg.Int("hot-max")),
	}
	if err := hot.Validate(); err != nil {
		return hot, errors.New(strings.TrimPrefix(err.Error(), "hotkeys: "))
	}
	return hot, nil
}

// followHotConfig has the engine follow CONFIG SET of the detector's settings. Where they do not go
// together the whole CONFIG SET is undone.
func (srv *Server) followHotConfig() {
	srv.cfg.OnChange(func() error {
		hot, err := HotConfig(srv.cfg)
		if err != nil || srv.eng == nil {
			return err
		}
		return srv.eng.ConfigureHot(hot)
	}, hotOptions...)
}
