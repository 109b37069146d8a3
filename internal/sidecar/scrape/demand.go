package scrape

import (
	"context"
	"sync"
	"time"
)

// modelsInterval is the time between two looks at an endpoint's models when the configuration gives none.
const modelsInterval = 30 * time.Second

// Demand is whether any Envoy asks for the models that endpoints serve. The zero value is no demand.
type Demand struct {
	once sync.Once
	mu   sync.Mutex
	ch   chan struct{}
}

// Ask says that an Envoy does. It may be called any number of times, by anyone.
func (d *Demand) Ask() { d.once.Do(func() { close(d.asked()) }) }

func (d *Demand) asked() chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ch == nil {
		d.ch = make(chan struct{})
	}
	return d.ch
}

// wait returns the time between two looks at an endpoint's models: that of the configuration, or a default once an
// Envoy asks. It is 0 when ctx ends before.
func (d *Demand) wait(ctx context.Context, configured time.Duration) time.Duration {
	if configured > 0 {
		return configured
	}
	select {
	case <-ctx.Done():
		return 0
	case <-d.asked():
		return modelsInterval
	}
}
