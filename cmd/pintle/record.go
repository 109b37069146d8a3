package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/pintle-dev/pintle/internal/command"
	"github.com/pintle-dev/pintle/internal/recording"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/internal/sidecar/push"
)

// flushEvery is the longest time that an event waits before it is in the file.
const flushEvery = time.Second

// runRecord follows the journals of Envoys into a file until SIGINT or SIGTERM, or for a time.
func runRecord(args []string, stdout, stderr io.Writer) int {
	flags := command.NewFlags("pintle record")
	path := flags.String("c", "",
		"the sidecar's configuration, which says where the Envoys are and with which token (required)")
	output := flags.String("o", "", "the file to record into; what is there is kept as FILE.1 (required)")
	size := flags.Int64("size", 256, "megabytes after which the next file is begun")
	keep := flags.Int("keep", 8, "full files to keep, as FILE.1 to FILE.N")
	limit := flags.Duration("for", 0, "how long to record; 0s is until it is stopped")
	if code, done := command.Parse(flags, args, stdout, stderr, "c", "o"); done {
		return code
	}
	if err := checkRecordFlags(*size, *keep, *limit); err != nil {
		return command.Fail(flags, stderr, 2, err)
	}
	c, err := config.Load(*path)
	if err != nil {
		return command.Fail(flags, stderr, 2, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if *limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *limit)
		defer cancel()
	}
	recorder := &recording.Recorder{File: &recording.File{Path: *output, Size: *size << 20, Keep: *keep}}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	if err := record(ctx, c, recorder, log); err != nil {
		return command.Fail(flags, stderr, 1, err)
	}
	events, missed, _ := recorder.Flush()
	fmt.Fprintf(stderr, "%s: %d events in %s, %d missed\n", flags.Name(), events, *output, missed)
	return 0
}

const (
	mostSize = 1 << 20 // megabytes
	mostKept = 1000
)

func checkRecordFlags(size int64, keep int, limit time.Duration) error {
	switch {
	case size < 1 || size > mostSize:
		return fmt.Errorf("flag -size %d: want 1 to %d", size, mostSize)
	case keep < 0 || keep > mostKept:
		return fmt.Errorf("flag -keep %d: want 0 to %d", keep, mostKept)
	case limit < 0:
		return fmt.Errorf("flag -for %v: want 0s or more", limit)
	}
	return nil
}

// record follows all Envoys of c until ctx ends.
func record(ctx context.Context, c *config.Config, recorder *recording.Recorder, log *slog.Logger) error {
	token, err := push.NewToken(c)
	if err != nil {
		return err
	}
	// The file is there from the beginning, so that one which cannot be written is known at once.
	if _, err := recorder.File.Writer(); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	if c.TokenFile != "" {
		running.Go(func() { token.Watch(ctx, c.TokenFile, log) })
	}
	for _, ingest := range c.Ingests {
		follower := &follow.Follower{Ingest: ingest, Token: token.Get, Sample: -1, Sink: recorder, Log: log}
		running.Go(func() { follower.Run(ctx) })
	}
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for err == nil && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker.C:
			_, _, err = recorder.Flush()
		}
	}
	stop()
	running.Wait()
	return recorder.Close()
}
