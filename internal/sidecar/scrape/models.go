package scrape

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/pace"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
)

// modelLister asks one endpoint from time to time which models it serves. Each has a connection and a goroutine of its own:
// a server whose list hangs is still scraped.
type modelLister struct {
	target  *pool.Target
	every   time.Duration
	timeout time.Duration
	changed func()
}

func (l *modelLister) run(ctx context.Context) {
	f := newFetcher(ctx, l.target.Address)
	defer f.close()
	f.aim("/v1/models", 0)
	for ctx.Err() == nil {
		models, err := l.list(ctx, f)
		if err == nil && l.target.Serves(models) {
			l.changed()
		}
		wait := l.every
		if err != nil {
			wait = min(wait, maxScrapeBackoff) // a server that is starting has a list soon
		}
		pace.Sleep(ctx, pace.Jitter(wait))
	}
}

// list returns the models' names in order: base models and the LoRA adapters that are loaded.
func (l *modelLister) list(ctx context.Context, f *fetcher) ([]string, error) {
	var page bytes.Buffer
	if _, err := f.fetch(ctx, time.Now().Add(l.timeout), &page); err != nil {
		return nil, err
	}
	var body struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(page.Bytes(), &body); err != nil {
		return nil, fmt.Errorf("%s: %w", f.url, err)
	}
	var models []string
	for _, m := range body.Data {
		if m.ID != "" && len(m.ID) <= maxModelBytes && len(models) < maxModels {
			models = append(models, m.ID)
		}
	}
	slices.Sort(models)
	return slices.Compact(models), nil
}

// maxModels and maxModelBytes bound what one server can put into every snapshot.
const (
	maxModels     = 256
	maxModelBytes = 512
)
