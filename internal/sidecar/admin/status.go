package admin

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"github.com/pintle-dev/pintle/internal/command"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/kubernetes"
	"github.com/pintle-dev/pintle/internal/sidecar/kvevents"
	"github.com/pintle-dev/pintle/internal/sidecar/push"
	"github.com/pintle-dev/pintle/internal/sidecar/replicate"
	"github.com/pintle-dev/pintle/internal/sidecar/responses"
)

//go:embed page
var pageFiles embed.FS

// page serves the status page, which gets what it shows from /status/events. It loads nothing from elsewhere and may
// run no script but its own, whatever names endpoints have.
func page() http.Handler {
	files, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	server := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'")
		w.Header().Set("Cache-Control", "no-cache")
		server.ServeHTTP(w, r)
	})
}

// Status is the answer of /status, and each event of /status/events.
type Status struct {
	healthBody
	// Version is this sidecar's; those of the filters are with their Envoys.
	Version  string    `json:"version,omitempty"`
	Time     time.Time `json:"time"`
	Topology string    `json:"topology,omitempty"`
	// Endpoints are as in /endpoints, Envoys those that are fed.
	Endpoints     []endpointBody    `json:"endpoints"`
	Envoys        []envoyBody       `json:"envoys"`
	Configuration configurationBody `json:"configuration"`
	// Mistakes are the last warnings and errors, the newest first.
	Mistakes []mistake `json:"mistakes"`
	// Replication is how the Envoys stand with other gateways; empty where they share nothing.
	Replication []replicate.State `json:"replication,omitempty"`
	// Caches is what the servers say of their caches; missing where nobody listens to that.
	Caches *cachesBody `json:"caches,omitempty"`
	// Store is what the store of conversations has; missing where there is none.
	Store *responses.State `json:"store,omitempty"`
}

// cachesBody is how it stands with the servers' KV events.
type cachesBody struct {
	Summary    string            `json:"summary"`
	Publishers []kvevents.Status `json:"publishers"`
}

// envoyBody is what one Envoy has acknowledged.
type envoyBody struct {
	Ingest string `json:"ingest"`
	// Accepted is how long ago it last took a snapshot; empty is never.
	Accepted string `json:"accepted,omitempty"`
	Result   string `json:"result,omitempty"`
	Epoch    uint64 `json:"epoch,string"`
	Sequence uint64 `json:"sequence"`
	Topology string `json:"topology,omitempty"`
	Failure  string `json:"failure,omitempty"`
	// Filter is the version of the module that it runs; empty until it has said so.
	Filter string `json:"filter,omitempty"`
}

// configurationBody is the configuration in force, without secrets.
type configurationBody struct {
	File           string            `json:"file"`
	ScrapeInterval string            `json:"scrapeInterval"`
	IdleInterval   string            `json:"idleInterval"`
	ScrapeTimeout  string            `json:"scrapeTimeout"`
	PushInterval   string            `json:"pushInterval"`
	ModelsInterval string            `json:"modelsInterval,omitempty"`
	Engines        []string          `json:"engines"`
	EndpointsFile  string            `json:"endpointsFile,omitempty"`
	Kubernetes     []kubernetes.Pool `json:"kubernetes,omitempty"`
	DNS            []string          `json:"dns,omitempty"`
	Static         int               `json:"staticEndpoints"`
	// Responses is where conversations are kept, and asked for.
	Responses string `json:"responses,omitempty"`
}

func describeConfig(c *config.Config) configurationBody {
	b := configurationBody{
		File: c.Path, ScrapeInterval: c.Scrape.Interval.String(), IdleInterval: c.Scrape.IdleInterval.String(),
		ScrapeTimeout: c.Scrape.Timeout.String(), PushInterval: c.PushInterval.String(), Engines: c.Engines.Names(),
		EndpointsFile: c.EndpointsFile,
	}
	if c.Scrape.Models > 0 {
		b.ModelsInterval = c.Scrape.Models.String()
	}
	if c.Kubernetes != nil {
		b.Kubernetes = c.Kubernetes.Pools
	}
	if r := c.Responses; r != nil {
		place := "in memory"
		if tiers := r.Backend.Tiered; tiers != nil {
			place = "in redis"
			if tiers.Mongo != nil {
				place = "in redis and behind it in mongo"
			}
		}
		b.Responses = place + ", at " + r.Address
	}
	for _, pool := range c.DNS {
		b.DNS = append(b.DNS, pool.Type+" "+pool.Name)
	}
	return b
}

func describeEnvoy(p *push.Pusher, now time.Time) envoyBody {
	state := p.Now()
	b := envoyBody{Ingest: p.Ingest.Name, Result: state.Result, Failure: state.Failure, Filter: state.Filter}
	if !state.Accepted.IsZero() {
		b.Accepted = now.Sub(state.Accepted).Round(time.Millisecond).String()
		b.Epoch, b.Sequence = state.Acknowledged.Epoch, state.Acknowledged.Sequence
		b.Topology = fmt.Sprintf("%016x", state.Holds)
	}
	return b
}

func (a *Admin) statusNow() Status {
	now := time.Now()
	b := Status{
		healthBody: a.healthNow(), Version: command.Version(), Time: now, Endpoints: a.endpointsNow(),
		Configuration: describeConfig(a.Config), Mistakes: a.Recorder.newestFirst(),
	}
	b.Configuration.Static = a.Pool.Found(a.Config.Path) // which may have changed since the start
	if g := a.Pool.Generation(); g != nil {
		b.Topology = fmt.Sprintf("%016x", g.ID)
	}
	for _, p := range a.Pushers {
		b.Envoys = append(b.Envoys, describeEnvoy(p, now))
	}
	for _, m := range a.Replication {
		b.Replication = append(b.Replication, m.Now(now))
	}
	if a.Caches != nil {
		b.Caches = &cachesBody{Summary: a.Caches.Summary(), Publishers: a.Caches.Now()}
	}
	if a.Store != nil {
		b.Store = a.Store.Now()
	}
	return b
}

func (a *Admin) status(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, a.statusNow())
}

// eventPeriod is how often the status page is told what there is now.
const eventPeriod = 500 * time.Millisecond

// events sends the status as server-sent events until the reader goes.
func (a *Admin) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	stream := http.NewResponseController(w)
	ticker := time.NewTicker(eventPeriod)
	defer ticker.Stop()
	for {
		text, err := json.Marshal(a.statusNow())
		if err != nil {
			return // nothing in it can fail to marshal
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", text); err != nil || stream.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C:
		}
	}
}
