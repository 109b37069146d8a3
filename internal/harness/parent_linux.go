package harness

import "syscall"

// dieWithParent has the kernel end a child whose test process was killed.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
