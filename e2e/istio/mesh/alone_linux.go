package mesh

import (
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownSystem gives a child loopback and mounts of its own.
func ownSystem() *syscall.SysProcAttr {
	own := func(id int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
	}
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
		UidMappings: own(os.Getuid()), GidMappings: own(os.Getgid()),
		Pdeathsig: syscall.SIGKILL,
	}
}

// addLoopback has loopback up, with a network besides its own.
func addLoopback(network netip.Prefix) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	up, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	up.SetUint16(unix.IFF_UP | unix.IFF_LOOPBACK | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, up); err != nil {
		return err
	}
	mask := [4]byte{}
	for i := range network.Bits() {
		mask[i/8] |= 0x80 >> (i % 8)
	}
	for _, set := range []struct {
		request uint
		value   [4]byte
	}{{unix.SIOCSIFADDR, network.Addr().As4()}, {unix.SIOCSIFNETMASK, mask}} {
		alias, err := unix.NewIfreq("lo:0")
		if err != nil {
			return err
		}
		if err := alias.SetInet4Addr(set.value[:]); err != nil {
			return err
		}
		if err := unix.IoctlIfreq(socket, set.request, alias); err != nil {
			return err
		}
	}
	return nil
}
