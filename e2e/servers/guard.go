package servers

import (
	"io"
	"os/exec"
	"strconv"
	"syscall"
)

// Guard starts a process that kills a group of processes when what is returned is closed, also by the death of the
// tests, of which most of a model server's processes would not notice.
func Guard(group int) (io.Closer, error) {
	cmd := exec.Command("sh", "-c", `read -r _; kill -s KILL -- "-$0"`, strconv.Itoa(group))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() { _ = cmd.Wait() }() // that the group was gone already is no failure
	return pipe, nil
}
