package servers

import (
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestGuard: what is left of a model server ends with the tests.
func TestGuard(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pipe, err := Guard(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	_ = pipe.Close()
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		_ = cmd.Process.Kill()
		t.Error("the group is still there")
	}
}
