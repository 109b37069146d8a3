package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestReplayIsInterrupted: a replay that waits for its trace ends when it is told to.
func TestReplayIsInterrupted(t *testing.T) {
	const child = "PINTLE_TEST_REPLAY"
	if os.Getenv(child) != "" {
		os.Exit(run([]string{"replay", "-c", "../../internal/shipped/config.yaml", "-"}, os.Stdout, os.Stderr))
	}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			command := exec.Command(os.Args[0], "-test.run", "^TestReplayIsInterrupted$")
			command.Env = append(os.Environ(), child+"=1")
			in, err := command.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			late := time.AfterFunc(10*time.Second, func() { _ = command.Process.Kill() })
			// More than a pipe holds is written when some of it has been read.
			row := `{"timestamp": 0, "input_length": 1}` + "\n"
			if _, err := in.Write([]byte(strings.Repeat(row, 1<<18/len(row)))); err != nil {
				t.Fatal(err)
			}
			if err := command.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if err := command.Wait(); err == nil || !late.Stop() {
				t.Errorf("it ended with %v after ten seconds, want an end by the signal at once", err)
			}
		})
	}
}
