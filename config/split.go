package config

import (
	"fmt"
	"strconv"
	"strings"
)

// splitWords splits a line of a config file as redis-server does: blanks separate words; "…" knows
// \n \r \t \b \a \xHH and \ before any other character; '…' knows only \'. After a closing quote a
// word must end. ok is false where the quotes do not balance.
func splitWords(line string) (words []string, ok bool) {
	for {
		line = strings.TrimLeft(line, blanks)
		if line == "" {
			return words, true
		}
		var word string
		if word, line, ok = cutWord(line); !ok {
			return nil, false
		}
		words = append(words, word)
	}
}

// joinWords is the inverse of splitWords: it quotes words where they need it.
func joinWords(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		plain := w != "" && !strings.ContainsFunc(w, func(r rune) bool {
			return r <= ' ' || r >= 0x7f || r == '"' || r == '\''
		})
		if plain {
			b.WriteString(w)
			continue
		}
		b.WriteByte('"')
		for _, ch := range []byte(w) {
			switch {
			case ch == '"' || ch == '\\':
				b.WriteByte('\\')
				b.WriteByte(ch)
			case ch < ' ' || ch >= 0x7f:
				fmt.Fprintf(&b, `\x%02x`, ch)
			default:
				b.WriteByte(ch)
			}
		}
		b.WriteByte('"')
	}
	return b.String()
}

// blanks are what C's isspace accepts.
const blanks = " \t\n\v\f\r"

// cutWord takes the first word off a line that does not begin with a blank. A quote may open in the
// middle of a word (ab"c d" is one word).
func cutWord(line string) (word, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch ch := line[i]; {
		case strings.IndexByte(blanks, ch) >= 0:
			return b.String(), line[i:], true
		case ch == '"' || ch == '\'':
			n, ok := appendQuoted(&b, line[i:])
			rest = line[i+n:]
			ended := rest == "" || strings.IndexByte(blanks, rest[0]) >= 0
			return b.String(), rest, ok && ended
		default:
			b.WriteByte(ch)
		}
	}
	return b.String(), "", true
}

// appendQuoted reads the quoted text that s begins with and returns its length with both quotes; ok
// is false where it does not end.
func appendQuoted(b *strings.Builder, s string) (n int, ok bool) {
	quote := s[0]
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == quote:
			return i + 1, true
		case s[i] != '\\' || i+1 == len(s):
			b.WriteByte(s[i])
		case quote == '\'':
			if s[i+1] == '\'' {
				i++
			}
			b.WriteByte(s[i])
		default:
			ch, length := unescape(s[i:])
			b.WriteByte(ch)
			i += length - 1
		}
	}
	return len(s), false
}

// unescape reads the escape that s begins with. REQUIRES: s is a backslash and at least one byte.
func unescape(s string) (ch byte, length int) {
	if s[1] == 'x' && len(s) >= 4 {
		if n, err := strconv.ParseUint(s[2:4], 16, 8); err == nil {
			return byte(n), 4
		}
	}
	if i := strings.IndexByte("nrtba", s[1]); i >= 0 {
		return "\n\r\t\b\a"[i], 2
	}
	return s[1], 2
}
