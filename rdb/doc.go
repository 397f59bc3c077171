// Package rdb reads and writes single values in the form that DUMP replies and RESTORE takes, that of
// Redis's snapshots:
//
//	payload = type, value, footer
//	type      1 byte; 0 is a string, the only one countd has
//	value     a length and as many bytes, or one of the special forms
//	footer    2 bytes version, then 8 bytes CRC-64 of all before it, both little endian
//
// The first byte of a value tells its form; the two top bits are
//
//	00   the other 6 bits are the length
//	01   the other 6 bits and the next byte are the length, big endian
//	10   0x80: the next 4 bytes are the length, 0x81: the next 8 bytes, big endian
//	11   no length: the other 6 bits are the special form
//	       0, 1, 2  an integer of 1, 2 or 4 bytes, signed, little endian
//	       3        LZF: length compressed, length, compressed bytes
//
// The format is described by Redis's rdb.h, rdb.c and cluster.c (7.0.15, version 10). What is written
// here is never compressed; compressed values are read. Payloads come from outside: nothing is believed
// before it is checked, and no more memory is taken than the payload can fill.
package rdb
