package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestRepeatedErrorsAreLeftOut: of errors with the same message a few are logged in each window, and what was
// left out is counted; others, and what is no error, are not concerned.
func TestRepeatedErrorsAreLeftOut(t *testing.T) {
	var out bytes.Buffer
	h := newRepeatHandler(slog.NewTextHandler(&out, nil)).WithAttrs([]slog.Attr{slog.String("a", "b")})
	at := time.Unix(1000, 0)
	say := func(level slog.Level, message string) {
		if err := h.Handle(context.Background(), slog.NewRecord(at, level, message, 0)); err != nil {
			t.Fatal(err)
		}
	}
	lines := func() int {
		n := strings.Count(out.String(), "\n")
		out.Reset()
		return n
	}
	for range 100 {
		say(slog.LevelError, "damage")
		say(slog.LevelInfo, "merged")
	}
	say(slog.LevelWarn, "other damage")
	if n := lines(); n != repeatLimit+100+1 {
		t.Errorf("%d lines", n)
	}
	at = at.Add(repeatWindow - 1)
	if say(slog.LevelError, "damage"); lines() != 0 {
		t.Error("a window ends too early")
	}
	at = at.Add(1)
	say(slog.LevelError, "damage")
	if want := fmt.Sprintf("left_out_before=%d", 100-repeatLimit+1); !strings.Contains(out.String(), want) {
		t.Errorf("%q has no %s", out.String(), want)
	}
	if lines(); len(h.(repeatHandler).seen.of) != 2 {
		t.Errorf("%d messages are remembered", len(h.(repeatHandler).seen.of))
	}
	for i := range 10 * repeatMessages {
		say(slog.LevelError, fmt.Sprint(i))
	}
	if n := len(h.(repeatHandler).seen.of); n > repeatMessages {
		t.Errorf("%d messages are remembered", n)
	}
}
