package main

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// repeatHandler keeps warnings and errors that come again and again from filling the disk: of those with the same
// message it passes on repeatLimit within repeatWindow, and tells with the next one how many it left out.
type repeatHandler struct {
	slog.Handler
	seen *repeats
}

type repeats struct {
	sync.Mutex
	of map[string]*repeat // by message, at most repeatMessages
}

type repeat struct {
	since  time.Time // the begin of its window
	passed int
	left   int // out, since the last that was passed
}

const (
	repeatLimit    = 10
	repeatWindow   = 10 * time.Second
	repeatMessages = 1000
)

func newRepeatHandler(h slog.Handler) slog.Handler {
	return repeatHandler{h, &repeats{of: map[string]*repeat{}}}
}

// Handle is part of slog.Handler.
func (h repeatHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return h.Handler.Handle(ctx, r)
	}
	pass, left := h.seen.take(r.Message, r.Time)
	if !pass {
		return nil
	}
	if left > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("left_out_before", left))
	}
	return h.Handler.Handle(ctx, r)
}

// take reports whether a message passes, and how many like it did not since the last that did.
func (s *repeats) take(message string, now time.Time) (pass bool, left int) {
	s.Lock()
	defer s.Unlock()
	m := s.of[message]
	switch {
	case m == nil:
		if len(s.of) == repeatMessages {
			clear(s.of)
		}
		m = &repeat{since: now}
		s.of[message] = m
	case now.Sub(m.since) >= repeatWindow:
		m.since, m.passed = now, 0
	}
	if m.passed == repeatLimit {
		m.left++
		return false, 0
	}
	m.passed++
	left, m.left = m.left, 0
	return true, left
}

// WithAttrs is part of slog.Handler.
func (h repeatHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return repeatHandler{h.Handler.WithAttrs(attrs), h.seen}
}

// WithGroup is part of slog.Handler.
func (h repeatHandler) WithGroup(name string) slog.Handler {
	return repeatHandler{h.Handler.WithGroup(name), h.seen}
}
