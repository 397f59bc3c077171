//go:build !amd64 && !arm64

package shards

import "unsafe"

// prefetch does nothing on this processor.
func prefetch(unsafe.Pointer) {}
