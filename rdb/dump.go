package rdb

import (
	"encoding/binary"
	"hash/crc64"
	"math"
	"strconv"
)

// Version is the version that is written, and the highest that is read.
const Version = 10

const (
	typeString  = 0
	footerBytes = 2 + 8

	len6Bit  = 0x00
	len14Bit = 0x40
	len32Bit = 0x80
	len64Bit = 0x81
	special  = 0xC0

	formInt8  = 0
	formInt16 = 1
	formInt32 = 2
	formLZF   = 3
)

// The CRC is that of Jones: polynomial 0xad93d23594c935a9, reflected, of no start nor final value.
var crcTable = crc64.MakeTable(0x95ac9329ac4bc9b5)

func checksum(b []byte) uint64 { return ^crc64.Update(math.MaxUint64, crcTable, b) }

// AppendInt appends the payload of an integer.
func AppendInt(dst []byte, n int64) []byte {
	start := len(dst)
	dst = append(dst, typeString)
	switch {
	case n == int64(int8(n)):
		dst = append(dst, special|formInt8, byte(n))
	case n == int64(int16(n)):
		dst = binary.LittleEndian.AppendUint16(append(dst, special|formInt16), uint16(n))
	case n == int64(int32(n)):
		dst = binary.LittleEndian.AppendUint32(append(dst, special|formInt32), uint32(n))
	default:
		var digits [20]byte
		text := strconv.AppendInt(digits[:0], n, 10)
		dst = append(appendLen(dst, len(text)), text...)
	}
	return AppendFooter(dst, start)
}

// AppendString appends the payload of a string that is not the decimal text of an int64 (AppendInt).
func AppendString(dst, val []byte) []byte {
	start := len(dst)
	dst = appendLen(append(dst, typeString), len(val))
	return AppendFooter(append(dst, val...), start)
}

// StringBytes is the length of the payload of a string of n bytes.
func StringBytes(n int) int {
	var buf [9]byte
	return 1 + len(appendLen(buf[:0], n)) + n + footerBytes
}

func appendLen(dst []byte, n int) []byte {
	switch {
	case n < 1<<6:
		return append(dst, len6Bit|byte(n))
	case n < 1<<14:
		return append(dst, len14Bit|byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, len32Bit), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(dst, len64Bit), uint64(n))
	}
}

// AppendFooter appends the footer of the payload that begins at dst[start].
func AppendFooter(dst []byte, start int) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, Version)
	return binary.LittleEndian.AppendUint64(dst, checksum(dst[start:]))
}
