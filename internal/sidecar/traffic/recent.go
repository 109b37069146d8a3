package traffic

import (
	"cmp"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/journal"
)

// How many decisions are kept: the last ones, and of those with steps, refusals and failures some more.
const (
	keptLast    = 512
	keptNotable = 512
)

// Decision is one request as the status page lists it. It has nothing of the prompt, and nothing of who sent it.
type Decision struct {
	// ID is the request's, Change that of its last change: both only grow.
	ID     uint64    `json:"id"`
	Change uint64    `json:"change"`
	Time   time.Time `json:"time"`
	Envoy  string    `json:"envoy"`
	// Model is the one that was served, Asked the one that the client asked for, if it was another.
	Model    string `json:"model"`
	Asked    string `json:"asked,omitempty"`
	Profile  string `json:"profile,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	// Tried is the endpoint that was chosen and could not serve.
	Tried string `json:"tried,omitempty"`
	// Shadow is where a shadow would have sent it, "refused" if nowhere; empty where the two agree.
	Shadow string `json:"shadow,omitempty"`
	// Status is that which the client got, "none" when it left before, "unknown" when who had the request is gone, and
	// empty while it is in flight.
	Status string `json:"status"`
	// Reason is why it was refused, Ended what ended it if that was no whole answer.
	Reason string `json:"reason,omitempty"`
	Ended  string `json:"ended,omitempty"`
	// TTFT and Duration are in milliseconds; 0 is unknown.
	TTFT     float64 `json:"ttft"`
	Duration float64 `json:"duration"`
	// Tokens: Cached was reported, -1 when it was not; Predicted was thought when the endpoint was chosen, -1 when
	// nobody thought about it.
	Input       uint32 `json:"input"`
	Output      uint32 `json:"output"`
	Cached      int64  `json:"cached"`
	Predicted   int64  `json:"predicted"`
	PromptBytes uint32 `json:"promptBytes"`
	Cold        bool   `json:"cold"`
	Streamed    bool   `json:"streamed"`
	// Explained says that its steps are there.
	Explained bool `json:"explained"`

	steps []byte
	held  *Held
	names *follow.Names
	lease leaseKey
	rings int // how many hold it
}

type leaseKey struct {
	instance uint64
	lease    uint32
}

// recent keeps the last decisions.
type recent struct {
	began         time.Time
	id, change    uint64
	last, notable ring
	// open are the decisions in the rings that have not ended.
	open map[leaseKey]*Decision
	// spare is the last one that no ring holds any more, for the next.
	spare *Decision
}

// ring keeps the newest decisions.
type ring struct {
	all  []*Decision
	next int
}

func newRecent() *recent {
	return &recent{
		began: time.Now(), last: ring{all: make([]*Decision, keptLast)}, notable: ring{all: make([]*Decision,
			keptNotable)}, open: map[leaseKey]*Decision{},
	}
}

// put adds d to a ring that does not have it, in the place of the oldest one.
func (r *recent) put(into *ring, d *Decision) {
	if old := into.all[into.next]; old != nil {
		if old.rings--; old.rings == 0 {
			delete(r.open, old.lease)
			r.spare = old
		}
	}
	into.all[into.next] = d
	into.next = (into.next + 1) % len(into.all)
	d.rings++
}

// take takes an event. held says who had the prompt of one that can be explained, where that is known.
func (r *recent) take(e *follow.Event, held *Held) {
	switch e.Kind {
	case journal.Decision:
		d := r.add(e)
		r.open[d.lease] = d
		if d.explain(e) {
			d.held = held
			r.put(&r.notable, d)
		}
	case journal.Began:
		if d := r.open[leaseKey{e.Instance, e.Lease}]; d != nil {
			d.TTFT = millis(e.TTFTMicros)
			r.changed(d)
		}
	case journal.Completion:
		r.complete(e)
	case journal.Gone:
		r.leave(e.Instance)
	case journal.Refused:
		d := r.add(e)
		d.Status, d.Reason = statusText(e.Code), e.Names.Of(journal.ReasonName, e.Reason)
		d.explain(e)
		r.put(&r.notable, d)
	}
}

// add lists a request.
func (r *recent) add(e *follow.Event) *Decision {
	r.id++
	d := r.spare
	if r.spare = nil; d == nil {
		d = new(Decision)
	}
	*d = Decision{
		ID: r.id, Time: time.Unix(0, e.Time), Envoy: e.Envoy, names: e.Names, lease: leaseKey{e.Instance, e.Lease},
		Model: e.Names.Of(journal.ModelName, e.Model), Profile: e.Names.Of(journal.ProfileName,
			e.Profile), Endpoint: e.Names.Endpoint(e.Primary),
		Cold: e.Cold, Streamed: e.Streamed, Cached: -1, Predicted: -1, PromptBytes: e.PromptBytes,
	}
	if e.Asked != e.Model {
		d.Asked = e.Names.Of(journal.ModelName, e.Asked)
	}
	if e.Predicted {
		d.Predicted = int64(e.PredictedTokens)
	}
	if e.Shadowed.Decided && e.Shadowed.Primary != e.Primary {
		d.Shadow = cmp.Or(e.Names.Endpoint(e.Shadowed.Primary), "refused")
	}
	r.put(&r.last, d)
	r.changed(d)
	return d
}

func (r *recent) changed(d *Decision) {
	r.change++
	d.Change = r.change
}

// explain keeps the steps that an event brings.
func (d *Decision) explain(e *follow.Event) bool {
	if len(e.Steps) == 0 {
		return false
	}
	d.steps, d.Explained = append([]byte(nil), e.Steps...), true
	return true
}

// complete notes how a request ended. One that failed is listed though its decision is no longer.
func (r *recent) complete(e *follow.Event) {
	failed := e.Code >= 500 || e.Ended == journal.EndedUnreached || e.Ended == journal.EndedReset ||
		e.Ended == journal.EndedTimeout
	key := leaseKey{e.Instance, e.Lease}
	d := r.open[key]
	if d == nil {
		if !failed {
			return
		}
		d = r.add(e)
	}
	delete(r.open, key)
	d.Status, d.Endpoint, d.Tried, d.Ended = statusText(e.Code), e.Names.Endpoint(e.Primary), e.Names.Endpoint(e.Tried),
		endings[e.Ended]
	d.TTFT, d.Duration = millis(e.TTFTMicros), millis(e.DurationMicros)
	d.Input, d.Output = e.InputTokens, e.OutputTokens
	if e.CachedReported {
		d.Cached = int64(e.CachedTokens)
	}
	d.explain(e)
	if failed && !slices.Contains(r.notable.all, d) {
		r.put(&r.notable, d)
	}
	r.changed(d)
}

// leave notes that an instance is gone: nobody will say how its requests ended, unless it lives after all.
func (r *recent) leave(instance uint64) {
	for key, d := range r.open {
		if key.instance == instance {
			d.Status, d.Ended = "unknown", "gone"
			r.changed(d)
		}
	}
}

// endings are how the status page calls what ended a request, if it was no whole answer.
var endings = map[journal.Ending]string{
	journal.EndedUnreached: "unreached", journal.EndedReset: "reset", journal.EndedTimeout: "timeout",
	journal.EndedClient: "client",
	journal.EndedEnvoy:  "envoy",
}

func millis(micros uint32) float64 { return float64(micros) / 1000 }

// Changed is what has changed of the last decisions, the latest change first.
type Changed struct {
	// Process is when the one that answers began. Another one numbers all anew, and soon as high as the one before.
	Process time.Time `json:"process"`
	// Change is that of the latest one.
	Change    uint64     `json:"change,string"`
	Decisions []Decision `json:"decisions"`
}

// Decisions returns what has changed since a change; all if that is none of this process.
func (t *Traffic) Decisions(since uint64) Changed {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := []Decision{}
	if since > t.recent.change {
		since = 0
	}
	seen := map[*Decision]bool{}
	for _, from := range []*ring{&t.recent.notable, &t.recent.last} {
		for _, d := range from.all {
			if d != nil && d.Change > since && !seen[d] {
				seen[d] = true
				all = append(all, *d)
			}
		}
	}
	slices.SortFunc(all, func(a, b Decision) int { return cmp.Compare(b.Change, a.Change) })
	return Changed{t.recent.began, t.recent.change, all}
}
