package process

import "syscall"

// dieWithParent has the system kill a server whose comparison ended without stopping it.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
