package server

import "testing"

// TestCountingDoesNotAllocate runs whole commands, from their bytes to the reply's.
func TestCountingDoesNotAllocate(t *testing.T) {
	s := newCommandServer(t).newSession()
	for _, args := range [][]string{{"INCR", "k"}, {"INCRBY", "k", "5"}, {"DECR", "k"}, {"GET", "k"},
		{"incrby", "k", "-7"}} {
		input := encodeCommand(args)
		run := func() {
			s.feed(input)
			s.out = s.out[:0]
		}
		run()
		if n := allocations(1000, run); n != 0 {
			t.Errorf("%q: %v allocations", args, n)
		}
	}
}

func BenchmarkCommand(b *testing.B) {
	s := newCommandServer(b).newSession()
	for _, args := range [][]string{{"INCRBY", "k", "5"}, {"GET", "k"}, {"SET", "k", "5"}, {"PING"}} {
		b.Run(args[0], func(b *testing.B) {
			input := encodeCommand(args)
			for b.Loop() {
				s.feed(input)
				s.out = s.out[:0]
			}
		})
	}
}

// TestAnEmptyCommandUsesUpASkip: what Redis 7.0.15 does (resetClient).
func TestAnEmptyCommandUsesUpASkip(t *testing.T) {
	for _, empty := range []string{"*0\r\n", "*-1\r\n", "\r\n"} {
		s := newCommandServer(t).newSession()
		s.feed([]byte("CLIENT REPLY SKIP\r\n" + empty + "PING\r\n"))
		if got := string(s.out); got != "+PONG\r\n" {
			t.Errorf("%q: %q", empty, got)
		}
	}
}
