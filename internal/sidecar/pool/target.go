package pool

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

// Target is one endpoint that is being scraped. It lives as long as name, address, node, access, pool and engine stay
// the same.
type Target struct {
	Name, Address string
	// Access is how it is asked; nil is plain HTTP without credentials.
	Access *topology.Access
	// Node is the address of its machine; empty is unknown.
	Node string
	// Pool is the set of endpoints that it is one of.
	Pool string
	// Said is set when a source says its engine, which is then not detected.
	Said bool

	engine string // as the topology has it; empty is detected
	stop   context.CancelFunc

	mu   sync.Mutex
	view View
}

// View is a target's state at one moment.
type View struct {
	// Kind is what its page is read as; nil before it is detected, and while that is in doubt.
	Kind *engine.Engine
	// Sample was taken at Sampled, which is zero before the first.
	Sample  engine.Sample
	Sampled time.Time
	// Result is that of the last scrape, "ok" after a good one, Failure why it failed; empty after a good one.
	Result, Failure string
	// FailingSince is when the first of the scrapes failed that did since the last good one; zero after a good one.
	FailingSince time.Time
	// ModelsFailure is why the last look at its models failed; empty after a good one.
	ModelsFailure string
	// ModelsOmitted is how many names of its list are not among Models, as there are too many or they are too long.
	ModelsOmitted int
	// Shared is set when Sample is of another gateway's scrape.
	Shared bool
	// Missing are the metrics that the last page lacked.
	Missing []string
	// Models are those that the server says it serves; nil is unknown. The first BaseModels are base models.
	Models     []string
	BaseModels int
	// GPU is the used part of its busiest GPU, 0 to 1, if GPUKnown is set.
	GPU      float64
	GPUKnown bool
	// GPUFailure is why the last look at its GPUs failed; empty after a good one.
	GPUFailure string
}

// Now returns the target's state.
func (t *Target) Now() View {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.view
}

// succeed takes over what is known of the server, which was asked in another way so far: until it answers again it
// would get requests for any model, and count as full. What was read as another engine's load is not known.
func (t *Target) succeed(former *Target) {
	known := former.Now()
	t.view.Models, t.view.BaseModels = known.Models, known.BaseModels
	if t.engine == former.engine {
		t.keep(&known.Sample, known.Sampled, known.Missing, known.Shared)
	}
}

// Kind is Now's.
func (t *Target) Kind() *engine.Engine {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.view.Kind
}

// Detected keeps what the target's page is read as, nil when that is in doubt. What the last sample has of another
// engine's attributes is no longer known.
func (t *Target) Detected(kind *engine.Engine) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.view.Kind != kind {
		t.view.Sample.AttributesKnown = 0
	}
	t.view.Kind = kind
}

// Read keeps a sample and what its page lacked, unless another gateway took a newer one meanwhile. It reports whether
// it differs from the last.
func (t *Target) Read(sample *engine.Sample, at time.Time, missing []string) (differs bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.view.Shared && !at.After(t.view.Sampled) {
		return false
	}
	return t.keep(sample, at, missing, false)
}

// keep keeps a sample. The caller has locked t.
func (t *Target) keep(sample *engine.Sample, at time.Time, missing []string, shared bool) (differs bool) {
	differs = t.view.Sampled.IsZero() || !t.view.Sample.Equal(sample)
	t.view.Sample, t.view.Sampled, t.view.Missing, t.view.Shared = *sample, at, missing, shared
	return differs
}

// Share keeps a sample that another gateway took, and what it was read as, unless there is a newer one or the endpoint
// is known to be of another engine. It reports whether it did, and whether the sample differs from the last.
func (t *Target) Share(kind *engine.Engine, sample *engine.Sample, at time.Time, missing []string) (taken,
	differs bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !at.After(t.view.Sampled) || t.view.Kind != nil && t.view.Kind != kind {
		return false, false
	}
	t.view.Kind, t.view.Result, t.view.Failure, t.view.FailingSince = kind, "ok", "", time.Time{}
	return true, t.keep(sample, at, missing, true)
}

// Failed keeps the result of a scrape that ended now and why it failed, empty when it did not.
func (t *Target) Failed(result, why string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.view.Result, t.view.Failure = result, why
	switch {
	case why == "":
		t.view.FailingSince = time.Time{}
	case t.view.FailingSince.IsZero():
		t.view.FailingSince = now
	}
}

// Hides keeps why the endpoint does not say which models it serves, empty when it does.
func (t *Target) Hides(why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.view.ModelsFailure = why
}

// Omits keeps how many names of the endpoint's list are left out, and returns how many were before.
func (t *Target) Omits(names int) (before int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, t.view.ModelsOmitted = t.view.ModelsOmitted, names
	return before
}

// Uses keeps the used part of the endpoint's busiest GPU, or why it is not known, and reports whether it is another.
func (t *Target) Uses(gpu float64, why string) (differs bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := why == ""
	differs = t.view.GPUKnown != known || t.view.GPU != gpu
	t.view.GPU, t.view.GPUKnown, t.view.GPUFailure = gpu, known, why
	return differs
}

// Serves keeps which models the endpoint says it serves, of which the first base ones are base models, and reports
// whether that is new.
func (t *Target) Serves(models []string, base int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slices.Equal(t.view.Models, models) && t.view.BaseModels == base {
		return false
	}
	t.view.Models, t.view.BaseModels = models, base
	return true
}
