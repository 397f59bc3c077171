//go:build !linux

package process

import "syscall"

// dieWithParent is for Linux: elsewhere a server outlives a comparison that is killed.
func dieWithParent() *syscall.SysProcAttr { return nil }
