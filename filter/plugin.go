package main

import (
	"errors"

	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/strictjson"
)

// plugin is one configured instance: a listener's filter.
type plugin struct {
	*worker
	config *pluginconfig.Config
	token  string // that snapshots must carry
	pool   pool
	log    log
	stale  bool
	models modelsCheck
}

// tickMillis is how often a worker looks whether the sidecar is still there.
const tickMillis = 1000

// Start implements hostcalls.Plugin.
func (p *plugin) Start(configuration []byte) error {
	environment := hostcalls.ReadEnvironment().Lookup
	config, err := pluginconfig.ParseIn(configuration, environment)
	if err == nil {
		p.token, err = config.IngestToken(environment)
	}
	if err != nil {
		var mistakes strictjson.Mistakes
		if errors.As(err, &mistakes) {
			for _, m := range mistakes {
				hostcalls.LogError("pintle: " + m)
			}
		}
		return err
	}
	for _, w := range config.Plan.Warnings() {
		hostcalls.LogWarn("pintle: " + w)
	}
	p.config = config
	p.log.begin(&p.pool, config.Plan.StateOptions())
	return hostcalls.SetTick(tickMillis)
}

// Tick says once when snapshots stop coming and once when they come again, and keeps the journal's reader from falling behind
// while there are no requests.
func (p *plugin) Tick() {
	p.pool.refresh(p.config.Plan)
	p.checkModels(hostcalls.Now())
	p.log.tick(&p.pool, &p.stats)
	stale := p.pool.receivedAt != 0 && hostcalls.Now()-p.pool.receivedAt > int64(p.config.Plan.Staleness().After)
	if stale == p.stale {
		return
	}
	p.stale = stale
	if stale {
		hostcalls.LogWarn("pintle: no snapshot for longer than stale.after; requests are routed without fresh metrics until the sidecar is back")
		return
	}
	hostcalls.LogInfo("pintle: snapshots are coming again")
}

// NewStream implements hostcalls.Plugin.
func (p *plugin) NewStream() hostcalls.Stream {
	if n := len(p.idle); n > 0 {
		s := p.idle[n-1]
		p.idle = p.idle[:n-1]
		s.plugin = p
		return s
	}
	return &stream{plugin: p}
}
