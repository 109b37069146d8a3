//go:build !linux

package stack

import "syscall"

// childAttributes keep the terminal's Ctrl-C from a child.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
