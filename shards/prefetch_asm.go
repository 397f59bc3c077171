//go:build amd64 || arm64

package shards

import "unsafe"

// prefetch fetches the cache line at addr, without waiting for it.
//
//go:noescape
func prefetch(addr unsafe.Pointer)
