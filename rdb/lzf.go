package rdb

// LZF, the compression of Marc Lehmann's liblzf. A compressed text is a sequence of
//
//	000lllll                     l+1 bytes follow as they are
//	lllddddd dddddddd            l+2 bytes (l from 1 to 6) from d+1 bytes back
//	111ddddd llllllll dddddddd   l+9 bytes from d+1 bytes back
//
// where what is copied may overlap with what it is copied to.

// maxExpansion bounds how many bytes come of a compressed one: 264 of the three of the longest form.
const maxExpansion = 264 / 3

// unpack returns the n bytes that src was compressed from, nil where there are not just n or where src is
// damaged. The caller has checked n against maxExpansion.
func unpack(src []byte, n int) []byte {
	dst := make([]byte, 0, n)
	for len(src) > 0 {
		first := int(src[0])
		src = src[1:]
		if first < 1<<5 {
			run := first + 1
			if run > len(src) || run > n-len(dst) {
				return nil
			}
			dst, src = append(dst, src[:run]...), src[run:]
			continue
		}
		run := first >> 5
		if run == 7 {
			if len(src) == 0 {
				return nil
			}
			run += int(src[0])
			src = src[1:]
		}
		if len(src) == 0 {
			return nil
		}
		run += 2
		from := len(dst) - (first&0x1F)<<8 - int(src[0]) - 1
		src = src[1:]
		if from < 0 || run > n-len(dst) {
			return nil
		}
		for run > 0 { // at first no more than there is
			k := min(run, len(dst)-from)
			dst = append(dst, dst[from:from+k]...)
			run -= k
		}
	}
	if len(dst) != n {
		return nil
	}
	return dst
}
