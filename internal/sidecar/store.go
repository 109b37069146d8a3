package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"sync"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/push"
	"github.com/pintle-dev/pintle/internal/sidecar/responses"
)

// store keeps the conversations of the Responses API and answers the filter.
type store struct {
	service  *responses.Service
	listener net.Listener
}

// openStore opens what the configuration says, nil for nothing. Its metrics join those of m.
func openStore(c *config.Config, token *push.Token, m *metrics.Metrics, log *slog.Logger) (*store, error) {
	if c.Responses == nil {
		return nil, nil
	}
	if c.Responses.Network == "unix" {
		// A sidecar that was killed has left its socket.
		if info, err := os.Stat(c.Responses.Address); err == nil && info.Mode().Type() == fs.ModeSocket {
			_ = os.Remove(c.Responses.Address)
		}
	}
	listener, err := net.Listen(c.Responses.Network, c.Responses.Address)
	if err != nil {
		return nil, fmt.Errorf("responses.address: %q cannot be listened on: %w", c.Responses.Address, err)
	}
	service, err := responses.New(c.Responses.Backend, token.Get, log)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("responses.storeConfig: %w", err), listener.Close())
	}
	m.Registry.MustRegister(service.Collector())
	return &store{service, listener}, nil
}

// run answers until ctx ends.
func (s *store) run(ctx context.Context) {
	var tasks sync.WaitGroup
	tasks.Go(func() { s.service.Run(ctx) })
	_ = serve(ctx, s.listener, s.service)
	tasks.Wait()
}
