package main

import (
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls"
)

// modelsGrace is how long the endpoints may list no models before the operator is told.
const modelsGrace = 30 * time.Second

// modelsCheck finds out whether the models that a configuration goes by ever become known.
type modelsCheck struct {
	since   int64 // when there were endpoints for the first time
	settled bool
}

// checkModels says once that the servers' models shall be read, and none is known.
func (p *plugin) checkModels(now int64) {
	switch m := &p.models; {
	case m.settled || !p.config.Plan.ReadsModels() || len(p.pool.Endpoints) == 0:
	case p.pool.ListsModels():
		m.settled = true
	case m.since == 0:
		m.since = now
	case now-m.since > int64(modelsGrace):
		m.settled = true
		hostcalls.LogWarn("pintle: models-data-source: no endpoint lists its models, so every one gets requests for " +
			"all of them; " +
			"the sidecar asks the servers at /v1/models and says in its log why that fails, or list models with the " +
			"endpoints")
	}
}
