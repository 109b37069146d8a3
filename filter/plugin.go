package main

import (
	"bytes"
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
	models modelsCheck
	// history is what the pool's state is made from.
	history history
	// shadow decides without acting, nil for none.
	shadow *shadow
	stale  bool
	// wide is set once the ingest listener was found to be open to others.
	wide bool
	// waiting are the streams that wait for the first snapshot, or for the journal to be read.
	waiting []*stream
	// crowded asks for room at the next tick.
	crowded bool
	// unstored are finished responses that the sidecar has not taken yet; handsOver has the next tick come at once.
	unstored  []*turn
	handsOver bool
	// routed are the requests of which the sidecar is to be told where they went.
	routed []byte
	// learning are requests whose prompts the sidecar is to be handed; handed is set while it has some and has not said
	// that it got them.
	learning []byte
	handed   bool
	// cannotAsk and wrongToken tell why the sidecar answers no question.
	cannotAsk, wrongToken seldom
}

const (
	// tickMillis is how often a worker looks whether the sidecar is still there.
	tickMillis = 1000
	// busyMillis is how often a busy worker tells the others what it has held back, if no decision did.
	busyMillis = 10
)

// slowDown has ticks come as they do when nothing hurries.
func (p *plugin) slowDown() {
	period := uint32(tickMillis)
	if p.history.busy {
		period = busyMillis
	}
	_ = hostcalls.SetTick(period)
}

// Start implements hostcalls.Plugin.
func (p *plugin) Start(configuration []byte) error {
	environment := hostcalls.ReadEnvironment().Lookup
	config, err := parse(configuration, environment)
	if err == nil {
		p.token, err = config.IngestToken(environment)
	}
	if err == nil {
		err = config.LacksSecret()
	}
	if err != nil {
		var mistakes strictjson.Mistakes
		if errors.As(err, &mistakes) {
			hostcalls.LogError("pintle: version " + version() + " refuses its configuration")
			for _, m := range mistakes {
				hostcalls.LogError("pintle: " + m)
			}
		}
		return err
	}
	reading := config.Plan.Reading()
	hostcalls.LogInfo("pintle: version " + version() + ", dialect " + reading.Dialect.String() + ", as " +
		reading.Because)
	for _, w := range config.Warnings() {
		hostcalls.LogWarn("pintle: " + w)
	}
	if !config.Ingest.Enabled() {
		hostcalls.LogWarn("pintle: ingest is not configured; snapshots come only if another listener's plug-in in " +
			"this VM takes them")
	}
	p.config = config
	if config.Plan.ReadsModels() {
		p.readModels++
	}
	p.warnOfEnvoy()
	p.pool.plan, p.pool.snapshot.Store = config.Plan, &p.data
	declareReport()
	p.history.begin(&p.pool, config.Plan.StateOptions(), &p.data)
	if len(config.Plan.Reporters()) > 0 {
		p.history.reports()
	}
	p.beginShadow()
	p.history.follow()
	return hostcalls.SetTick(tickMillis)
}

// beginShadow begins to decide by a second plan, if there is one that is right.
func (p *plugin) beginShadow() {
	if err := p.config.ShadowError; err != nil {
		hostcalls.LogError("pintle: the shadow is left out: " + err.Error())
	}
	for _, w := range p.config.ShadowWarnings() {
		hostcalls.LogWarn("pintle: " + w)
	}
	if p.config.Shadow == nil {
		return
	}
	if p.shadowStats == nil {
		p.shadowStats = newShadowStats()
	}
	p.shadow = newShadow(p.config.Shadow, p.shadowStats)
	p.pool.shadow, p.history.shadow = p.shadow, p.shadow
	p.history.wants(p.config.Shadow.StateOptions())
}

// parse reads the configuration. An empty one is a mistake here: somebody forgot it, and it would take no snapshots.
func parse(text []byte, environment func(name string) (value string, ok bool)) (*pluginconfig.Config, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, strictjson.Mistakes{"configuration: is empty; {} asks for the defaults"}
	}
	return pluginconfig.ParseIn(text, environment)
}

// Tick says once when snapshots stop coming and once when they come again, and keeps the journal's reader from falling
// behind while there are no requests.
func (p *plugin) Tick() {
	p.history.flush(&p.pool)
	if p.history.busy && !p.hurries() && p.history.looked(hostcalls.Now()) {
		return
	}
	p.pool.refresh()
	p.makeRoom()
	if p.handsOver || len(p.unstored) > 0 {
		p.handOver()
	}
	p.tellRouted()
	p.handPrompts()
	now := hostcalls.Now()
	if len(p.waiting) > 0 {
		p.wake()
		if p.history.progress == reading || p.history.looked(now) { // a tick reads one part of the journal
			return
		}
	}
	p.pool.dropLists(p.config.Plan, now)
	p.checkModels(now)
	p.history.follow()
	p.takeLeft()
	p.history.tick(&p.pool, &p.stats, now)
	p.stats.tell(now)
	p.lookWhetherBusy(now)
	received := p.pool.snapshot.ReceivedAt
	age, most := now-received, int64(p.config.Plan.Staleness().After)
	// By a clock that was set back the last one is from later on.
	stale := received != 0 && (age > most || age < -most)
	if stale == p.stale {
		return
	}
	p.stale = stale
	if stale {
		hostcalls.LogWarn("pintle: no snapshot for longer than stale.after; requests are routed without fresh " +
			"metrics until the sidecar is back")
		return
	}
	hostcalls.LogInfo("pintle: snapshots are coming again")
}

// hurries reports whether something waits for the next tick.
func (p *plugin) hurries() bool {
	return p.crowded || p.handsOver || len(p.waiting) > 0 || len(p.routed) > 0 || len(p.learning) > 0 && !p.handed
}

// lookWhetherBusy does so once a second, and has ticks come accordingly.
func (p *plugin) lookWhetherBusy(now int64) {
	if p.history.looked(now) {
		return
	}
	was := p.history.busy
	if p.history.look(now); p.history.busy != was && !p.hurries() {
		p.slowDown()
	}
}

// Stop implements hostcalls.Plugin.
func (p *plugin) Stop() {
	p.history.flush(&p.pool)
	p.leave()
	if p.config != nil && p.config.Plan.ReadsModels() {
		p.readModels--
	}
	p.stats.tell(hostcalls.Now())
	// Envoy's timer goes on at its last period for as long as there is the VM, though nobody is called any more.
	_ = hostcalls.SetTick(0)
}

// NewStream implements hostcalls.Plugin.
func (p *plugin) NewStream(id uint32) hostcalls.Stream {
	var s *stream
	if n := len(p.idle); n > 0 {
		s = p.idle[n-1]
		p.idle = p.idle[:n-1]
	} else {
		s = &stream{}
	}
	s.plugin, s.id = p, id
	return s
}
