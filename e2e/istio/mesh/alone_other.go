//go:build !linux

package mesh

import (
	"errors"
	"net/netip"
	"syscall"
)

func ownSystem() *syscall.SysProcAttr { return nil }

func addLoopback(netip.Prefix) error { return errors.ErrUnsupported }
