package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"countd/config"
)

// levelVerbose is Redis's verbose, between debug and notice.
const levelVerbose = slog.Level(-2)

// levels maps loglevel to slog's levels; notice is Info.
var levels = map[string]slog.Level{
	"debug":   slog.LevelDebug,
	"verbose": levelVerbose,
	"notice":  slog.LevelInfo,
	"warning": slog.LevelWarn,
}

// openLog returns a logger to logfile, or to stderr where none is named, whose level follows CONFIG
// SET loglevel, and a function that closes the file.
func openLog(cfg *config.Config, stderr io.Writer) (*slog.Logger, func(), error) {
	out, closeLog := stderr, func() {}
	if name := cfg.Value("logfile"); name != "" {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot open the log file: %w; see --logfile", err)
		}
		out, closeLog = f, func() { f.Close() }
	}
	var level slog.LevelVar
	follow := func() error {
		level.Set(levels[cfg.Value("loglevel")])
		return nil
	}
	_ = follow()
	cfg.OnChange(follow, "loglevel")
	handler := slog.NewTextHandler(out, &slog.HandlerOptions{Level: &level, ReplaceAttr: levelName})
	return slog.New(newRepeatHandler(handler)), closeLog, nil
}

// levelName writes the levels in the words of loglevel.
func levelName(_ []string, a slog.Attr) slog.Attr {
	if a.Key != slog.LevelKey {
		return a
	}
	switch level, _ := a.Value.Any().(slog.Level); {
	case level < levelVerbose:
		a.Value = slog.StringValue("debug")
	case level < slog.LevelInfo:
		a.Value = slog.StringValue("verbose")
	case level < slog.LevelWarn:
		a.Value = slog.StringValue("notice")
	case level < slog.LevelError:
		a.Value = slog.StringValue("warning")
	default:
		a.Value = slog.StringValue("error")
	}
	return a
}
