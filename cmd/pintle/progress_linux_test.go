package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// openTerminal opens a pseudo terminal: what is written to tty is read from master.
func openTerminal(t *testing.T) (master, tty *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	var unlocked, number int32
	for request, value := range map[uintptr]*int32{syscall.TIOCSPTLCK: &unlocked, syscall.TIOCGPTN: &number} {
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(unsafe.Pointer(value))); e != 0 {
			t.Skip(e)
		}
	}
	if tty, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	return master, tty
}

// TestProgressOnATerminal: one line that is written anew, and cleared at the end. Elsewhere nothing is shown.
func TestProgressOnATerminal(t *testing.T) {
	master, tty := openTerminal(t)
	stop := showProgress(tty, func() float64 { return 0.25 })
	shown, buffer := "", make([]byte, 256)
	read := func(until string) {
		t.Helper()
		for !strings.Contains(shown, until) {
			n, err := master.Read(buffer)
			if err != nil {
				t.Fatalf("%v after %q", err, shown)
			}
			shown += string(buffer[:n])
		}
	}
	read("decided")
	stop()
	read("\x1b[K")
	rest := strings.TrimSuffix(shown, "\r\x1b[K")
	if rest == shown || strings.ReplaceAll(rest, "\r 25 % decided", "") != "" {
		t.Errorf("a terminal shows %q", shown)
	}
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	asked := false
	showProgress(file, func() float64 { asked = true; return 0 })()
	if info, err := file.Stat(); err != nil || info.Size() > 0 || asked {
		t.Errorf("a file gets %d bytes of progress, %v", info.Size(), err)
	}
}
