package stack

import "syscall"

// childAttributes keep the terminal's Ctrl-C from a child and have the kernel end it when this process was killed.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
