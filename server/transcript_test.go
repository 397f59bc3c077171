package server

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A transcript is a conversation in testdata/*.txt: commands, each followed by the bytes of its
// reply, which must be those of countd and of redis-server alike.
//
//	# a comment
//	@countd             the rest of the file is not for redis-server
//	> SET k "a\x00b"    a command, in redis-cli's quoting
//	+OK                 its reply, cut into lines at \r\n
//	$3
//	"a\x00b"            a line that is not plain text is quoted
//	~ :[0-9]+           a line that must match a regular expression
//	>- CLIENT REPLY OFF a command without a reply
//
// Each file begins with no keys and a new connection.

var record = flag.Bool("record", false, "write redis-server's replies into the transcripts, "+
	"behind @countd countd's")

// A turn of a transcript: what comes before its command, the command, and the reply's lines.
type turn struct {
	head       []string
	line       int
	command    string
	want       []string
	countdOnly bool
	noReply    bool
}

func readTranscript(t *testing.T, path string) (turns []turn, tail []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var head []string
	countdOnly := false
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		switch {
		case line != "" && line[0] == '>':
			_, command, _ := strings.Cut(line, " ")
			turns = append(turns, turn{head: head, line: i + 1, command: command,
				countdOnly: countdOnly, noReply: strings.HasPrefix(line, ">- ")})
			head = nil
		case line == "" || line[0] == '#' || line[0] == '@':
			countdOnly = countdOnly || line == "@countd"
			head = append(head, line)
		case len(turns) == 0:
			t.Fatalf("%s:%d: a reply before the first command", path, i+1)
		default:
			last := &turns[len(turns)-1]
			last.want = append(last.want, line)
		}
	}
	return turns, head
}

// matches reports whether the lines of a reply are those wanted.
func (turn *turn) matches(got []string) bool {
	if len(got) != len(turn.want) {
		return false
	}
	for i, want := range turn.want {
		if pattern, ok := strings.CutPrefix(want, "~ "); ok {
			if !regexp.MustCompile("^(?:" + pattern + ")$").MatchString(got[i]) {
				return false
			}
		} else if got[i] != want {
			return false
		}
	}
	return true
}

// play runs a transcript. Where rec is set replies that differ are put in place of those wanted, but
// none of countd's where redis-server has one.
func play(t *testing.T, to target, path string, redis, rec bool) {
	turns, tail := readTranscript(t, path)
	to.do(t, []string{"FLUSHALL"})
	var text strings.Builder
	for i := range turns {
		turn := &turns[i]
		args, err := splitArgs(turn.command)
		if err != nil {
			t.Fatalf("%s:%d: %v", path, turn.line, err)
		}
		switch {
		case redis && turn.countdOnly:
		case turn.noReply:
			to.send(t, args)
		default:
			got := replyLines(to.do(t, args))
			switch {
			case turn.matches(got):
			case rec && redis != turn.countdOnly:
				turn.want = got
			default:
				t.Errorf("%s:%d: %s\ngot\n%s\nwant\n%s", path, turn.line, turn.command,
					strings.Join(got, "\n"), strings.Join(turn.want, "\n"))
			}
		}
		for _, line := range turn.head {
			fmt.Fprintln(&text, line)
		}
		prompt := "> "
		if turn.noReply {
			prompt = ">- "
		}
		fmt.Fprintln(&text, prompt+turn.command)
		for _, line := range turn.want {
			fmt.Fprintln(&text, line)
		}
	}
	for _, line := range tail {
		fmt.Fprintln(&text, line)
	}
	if rec {
		if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func transcripts(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no transcripts", err)
	}
	return paths
}

func TestTranscriptsOnRedisServer(t *testing.T) {
	addr := startRedis(t, "the check that the transcripts are Redis's own replies")
	for _, path := range transcripts(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			play(t, dialRedis(t, addr), path, true, *record)
		})
	}
}

func TestTranscripts(t *testing.T) {
	srv := newCommandServer(t)
	for _, path := range transcripts(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			play(t, &sessionTarget{srv.newSession()}, path, false, *record)
		})
	}
}
