package main

import (
	"context"
	"io"
	"os/signal"
	"syscall"

	"github.com/pintle-dev/pintle/internal/sidecar"
)

// runSidecar runs pintle sidecar until SIGTERM or SIGINT and returns the exit code. While it drains, a second signal
// ends it at once.
func runSidecar(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	context.AfterFunc(ctx, stop)
	return sidecar.Command(ctx, args, stdout, stderr)
}
