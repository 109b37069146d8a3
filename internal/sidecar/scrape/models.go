package scrape

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/pace"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

// modelLister asks one endpoint from time to time which models it serves. Each has a connection and a goroutine of its
// own: a server whose list hangs is still scraped.
type modelLister struct {
	target  *pool.Target
	path    string           // empty is /v1/models
	access  *topology.Access // but for secret and name, which are the target's; nil is the target's
	every   time.Duration
	timeout time.Duration
	sleep   func(context.Context, time.Duration) // pace.Sleep but in tests
	changed func()
	log     *slog.Logger
	metrics *metrics.Metrics
	// told are those of failures since the last list.
	told kinds
	// omitted are how many names of the last list were left out.
	omitted int
}

func (l *modelLister) run(ctx context.Context) {
	access := l.target.Access
	if l.access != nil {
		access = l.access.For(access)
	}
	f := newFetcher(ctx, l.target.Address, access)
	defer f.close()
	f.aim(cmp.Or(l.path, "/v1/models"), 0)
	for ctx.Err() == nil {
		models, base, err := l.list(ctx, f)
		if ctx.Err() != nil {
			return
		}
		l.record(err)
		if err == nil {
			l.tellOmitted()
			if l.target.Serves(models, base) {
				l.changed()
			}
		}
		wait := l.every
		if err != nil {
			wait = min(wait, maxScrapeBackoff) // a server that is starting has a list soon
		}
		l.sleep(ctx, pace.Jitter(wait))
	}
}

// record counts a look, and logs when the endpoint begins or ends to hide its models, or hides them otherwise.
func (l *modelLister) record(err *scrapeError) {
	before, result, failure := l.target.Now().ModelsFailure, "ok", ""
	if err != nil {
		result, failure = err.result, err.Error()
	}
	l.target.Hides(failure)
	l.metrics.ListedModels(l.target.Name, result)
	switch {
	case failure != "" && l.told.add(result):
		l.log.Warn("the endpoint does not say which models it serves", "endpoint", l.target.Name, "result", result,
			"error", failure)
	case failure == "" && before != "":
		l.told = nil
		l.log.Info("the endpoint says which models it serves", "endpoint", l.target.Name)
	}
}

// tellOmitted keeps how many names are left out, and logs when there begin to be some, and when there are none again.
func (l *modelLister) tellOmitted() {
	before := l.target.Omits(l.omitted)
	switch {
	case l.omitted > 0 && before == 0:
		l.log.Warn("the endpoint lists more models than are taken, and gets no requests for the others", "endpoint",
			l.target.Name, "left_out", l.omitted)
	case l.omitted == 0 && before > 0:
		l.log.Info("the endpoint gets requests for all models that it lists", "endpoint", l.target.Name)
	}
}

// list returns the models' names: the base ones in order, as many as count says, then the LoRA adapters that are
// loaded, SGLang's as BASE:ADAPTER: a request for ADAPTER alone it answers from its base model. What has to be cut is
// cut at the end.
func (l *modelLister) list(ctx context.Context, f *fetcher) (names []string, count int, err *scrapeError) {
	var page bytes.Buffer
	if _, err := f.fetch(ctx, time.Now().Add(l.timeout), &page); err != nil {
		return nil, 0, err
	}
	var body struct {
		Data []struct {
			ID string `json:"id"`
			// Parent is the base model of an adapter.
			Parent string `json:"parent"`
			Owner  string `json:"owned_by"`
		} `json:"data"`
	}
	if err := json.Unmarshal(page.Bytes(), &body); err != nil {
		return nil, 0, &scrapeError{result: "no_models", err: fmt.Errorf("%s has no list of models: %w", f.url, err)}
	}
	if body.Data == nil {
		return nil, 0, &scrapeError{result: "no_models",
			err: fmt.Errorf("%s has no list of models: a list under the key data is right", f.url)}
	}
	var base, adapters []string
	l.omitted = 0
	for _, m := range body.Data {
		name := m.ID
		if m.Parent != "" && m.Owner == "sglang" {
			name = m.Parent + ":" + m.ID
		}
		switch {
		case m.ID == "":
		case len(name) > maxModelBytes:
			l.omitted++
		case m.Parent == "":
			base = append(base, name)
		default:
			adapters = append(adapters, name)
		}
	}
	base = sorted(base)
	models := append(base, sorted(adapters)...)
	l.omitted += max(len(models)-maxModels, 0)
	return models[:min(len(models), maxModels)], min(len(base), maxModels), nil
}

func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// maxModels and maxModelBytes bound what one server can put into every snapshot.
const (
	maxModels     = 256
	maxModelBytes = 512
)
