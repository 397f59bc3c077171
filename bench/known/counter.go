package known

// Step is what a load may increment by without hiding the value. It is above all values.
const Step = 1_000_000

// MaxKeys is how many counters there can be: as many as the digits of a name.
const MaxKeys = 1_000_000_000_000

// digits of a name's number.
const digits = 12

// Value is what counter i is set to: 1 to Step-1, as if at random (SplitMix64's mixing function,
// Steele, Lea and Flood, OOPSLA 2014), so that neighbours do not have each other's.
func Value(i uint64) int64 {
	z := i + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return 1 + int64((z^z>>31)%(Step-1))
}

// appendName appends the name of counter i.
func appendName(dst []byte, i uint64) []byte {
	dst = append(dst, "key:000000000000"...)
	for at := len(dst) - 1; i > 0 && at >= len(dst)-digits; at-- {
		dst[at] = byte('0' + i%10)
		i /= 10
	}
	return dst
}
