// Package glob matches text with the patterns of Redis's KEYS.
package glob

// maxStars is how many stars Redis follows before it gives up ("nesting" in stringmatchlen_impl of
// src/util.c, since CVE-2024-31228).
const maxStars = 1000

// Match reports whether text matches pattern in the way of Redis's KEYS: * any bytes, ? one byte,
// [abc], [^abc] and [a-z] one byte of a set, \ takes the next byte literally; a set that is not
// closed ends with the pattern. foldCase ignores the case of ASCII letters. The empty text is
// matched by the empty pattern only, not by a star. A pattern with more than 1000 stars, neighbours
// and one at its end not counted, matches nothing that reaches the last of them, as in Redis.
//
// Only the last star is ever tried again: what an earlier star took can stay the shortest that
// fits, as the later star can take up whatever is left. So the cost is at most the product of the
// lengths, and the stack does not grow with the stars.
func Match(pattern, text []byte, foldCase bool) bool {
	if len(text) == 0 {
		return len(pattern) == 0
	}
	p, t := 0, 0
	starP, starT, stars := -1, 0, 0 // the pattern after the last star, and where in text it now ends
	for t < len(text) {
		if p < len(pattern) && pattern[p] == '*' {
			if p = skipStars(pattern, p); p == len(pattern) {
				return true
			}
			if stars++; stars > maxStars {
				return false
			}
			starP, starT = p, t
			continue
		}
		if p < len(pattern) {
			if next, ok := matchOne(pattern, p, text[t], foldCase); ok {
				p, t = next, t+1
				continue
			}
		}
		if starP < 0 {
			return false
		}
		starT++
		p, t = starP, starT
	}
	return skipStars(pattern, p) == len(pattern)
}

// skipStars returns the position of the first byte at or after p that is not a star.
func skipStars(pattern []byte, p int) int {
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p
}

// matchOne matches one byte of text with the element of the pattern at p, which is not a star, and
// returns the position of the next element.
func matchOne(pattern []byte, p int, b byte, foldCase bool) (next int, ok bool) {
	switch c := pattern[p]; {
	case c == '?':
		return p + 1, true
	case c == '[':
		return matchSet(pattern, p+1, b, foldCase)
	case c == '\\' && p+1 < len(pattern):
		p++
	}
	return p + 1, foldIf(pattern[p], foldCase) == foldIf(b, foldCase)
}

// matchSet matches b with the set whose first byte after the bracket is at p.
func matchSet(pattern []byte, p int, b byte, foldCase bool) (next int, ok bool) {
	negate := p < len(pattern) && pattern[p] == '^'
	if negate {
		p++
	}
	raw := b
	b = foldIf(b, foldCase)
	for ; p < len(pattern) && pattern[p] != ']'; p++ {
		switch {
		case pattern[p] == '\\' && p+1 < len(pattern):
			p++
			ok = ok || pattern[p] == raw // as in Redis, an escape never folds
		case p+2 < len(pattern) && pattern[p+1] == '-':
			ok = ok || inRange(pattern[p], pattern[p+2], b, foldCase)
			p += 2
		default:
			ok = ok || foldIf(pattern[p], foldCase) == b
		}
	}
	return min(p+1, len(pattern)), ok != negate
}

// inRange reports whether b, folded already, lies between from and to in either order. As in
// Redis, bytes are compared as signed ones, and their order is that before folding.
func inRange(from, to, b byte, foldCase bool) bool {
	if int8(from) > int8(to) {
		from, to = to, from
	}
	from, to = foldIf(from, foldCase), foldIf(to, foldCase)
	return int8(from) <= int8(b) && int8(b) <= int8(to)
}

func foldIf(b byte, fold bool) byte {
	if fold && 'A' <= b && b <= 'Z' {
		return b | 0x20
	}
	return b
}
