package hll

// EncodingOf returns b's encoding, or ErrNotSketch or ErrCorrupt.
func EncodingOf(b []byte) (Encoding, error) {
	if err := check(b); err != nil {
		return 0, err
	}
	return Encoding(b[offEncoding]), nil
}

// ToDense makes b dense, if it is not. It grows b as Add does.
func ToDense(b []byte) (nb []byte, changed bool, err error) {
	if err := check(b); err != nil || isDense(b) {
		return b, false, err
	}
	nb, err = toDense(b)
	return nb, err == nil, err
}
