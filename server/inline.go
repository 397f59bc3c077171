package server

// inline reads a command that is a line of words, as one types it into telnet.
func (p *parser) inline(b []byte) ([][]byte, int, error) {
	end, err := p.line(b, '\n', "too big inline request")
	if end < 0 || err != nil {
		return nil, 0, err
	}
	line := b[:end]
	if end > 0 && line[end-1] == '\r' {
		line = line[:end-1]
	}
	p.goTo(0)
	if !p.splitWords(line) {
		return nil, 0, protocolError("unbalanced quotes in request")
	}
	return p.args, end + 1, nil
}

// splitWords makes the words of a line the arguments. Words are parted by white space; "…" may hold
// \n \r \t \b \a \xHH and \ before any other byte, '…' may hold \'. A closing quote must end
// its word, an opening one need not begin it. It reports false where quotes do not fit. (Redis's
// sdssplitargs; a line has no zero byte.)
func (p *parser) splitWords(line []byte) bool {
	p.args, p.spans = p.args[:0], p.spans[:0]
	words := p.scratch[:0]
	for i := 0; ; {
		for i < len(line) && isSpace(line[i]) {
			i++
		}
		if i == len(line) {
			break
		}
		start := len(words)
		var ok bool
		if words, i, ok = appendWord(words, line, i); !ok {
			return false
		}
		p.spans = append(p.spans, span{start, len(words)})
	}
	p.scratch = words
	p.takeArgs(words)
	p.reset()
	return true
}

// appendWord unquotes the word at line[i:] and returns the place behind it.
func appendWord(dst, line []byte, i int) ([]byte, int, bool) {
	for i < len(line) {
		switch c := line[i]; c {
		case ' ', '\n', '\r', '\t':
			return dst, i + 1, true
		case '"', '\'':
			var ok bool
			if dst, i, ok = appendQuoted(dst, line, i+1, c); !ok {
				return dst, i, false
			}
			return dst, i, i == len(line) || isSpace(line[i])
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst, i, true
}

// appendQuoted unquotes what is before the closing quote and returns the place behind that.
func appendQuoted(dst, line []byte, i int, quote byte) ([]byte, int, bool) {
	for ; i < len(line); i++ {
		c := line[i]
		switch {
		case c == quote:
			return dst, i + 1, true
		case c != '\\' || i+1 == len(line):
		case quote == '\'':
			if line[i+1] == '\'' {
				i++
				c = '\''
			}
		case line[i+1] == 'x' && i+3 < len(line) && isHex(line[i+2]) && isHex(line[i+3]):
			c = hexValue(line[i+2])<<4 | hexValue(line[i+3])
			i += 3
		default:
			i++
			c = unescape(line[i])
		}
		dst = append(dst, c)
	}
	return dst, i, false
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

func hexValue(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
