//go:build !linux

package engine

func prefault([]byte) {}
