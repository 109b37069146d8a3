package sidecar

import (
	"fmt"
	"log/slog"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/push"
	"github.com/pintle-dev/pintle/internal/sidecar/responses"
)

// openStore opens what keeps the conversations of the Responses API, if the configuration says so. Its metrics join
// those of m.
func (a *answers) openStore(c *config.Config, token *push.Token, m *metrics.Metrics, log *slog.Logger) error {
	if c.Responses == nil {
		return nil
	}
	service, err := responses.New(c.Responses.Backend, token.Get, log)
	if err != nil {
		return fmt.Errorf("%sstoreConfig: %w", c.Responses.At, err)
	}
	m.Registry.MustRegister(service.Collector())
	a.tasks, a.store = append(a.tasks, service.Run), service
	return a.serve("responses.address", c.Responses.Network, c.Responses.Address, "/", service)
}
