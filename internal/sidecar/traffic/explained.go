package traffic

import (
	"slices"

	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/journal"
)

// Explained is a decision and how it came about, with the keys of the answer of pintle explain -o json.
type Explained struct {
	Decision
	Profiles []ExplainedProfile `json:"profiles"`
	// Held is who was believed to have the prompt, where the sidecar keeps prefixes.
	Held *Held `json:"held,omitempty"`
}

// ExplainedProfile is what a profile came to.
type ExplainedProfile struct {
	Name string `json:"name"`
	// FilteredOut has by endpoint what removed it, Scores by scorer and endpoint the scores, Totals by endpoint the
	// weighted sums.
	FilteredOut map[string]string             `json:"filteredOut"`
	Scorers     []string                      `json:"scorers"` // in the order of the profile
	Scores      map[string]map[string]float64 `json:"scores"`
	Totals      map[string]float64            `json:"totals"`
	Picked      []string                      `json:"picked"`
}

// Decision returns a decision with its steps; ok is false when it is no longer there.
func (t *Traffic) Decision(id uint64) (x Explained, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, from := range []*ring{&t.recent.notable, &t.recent.last} {
		for _, d := range from.all {
			if d != nil && d.ID == id {
				x.Decision, x.Profiles, x.Held = *d, []ExplainedProfile{}, d.held
				journal.ReadSteps(d.steps, &explanation{&x, d.names})
				return x, true
			}
		}
	}
	return x, false
}

// explanation writes steps down. It implements journal.StepsReader.
type explanation struct {
	*Explained
	names *follow.Names
}

// Profile implements journal.StepsReader.
func (x *explanation) Profile(hash uint64) {
	x.Profiles = append(x.Profiles, ExplainedProfile{
		Name: x.names.Of(journal.ProfileName, hash), FilteredOut: map[string]string{}, Scorers: []string{},
		Scores: map[string]map[string]float64{}, Totals: map[string]float64{}, Picked: []string{},
	})
}

// last is the profile that the next step is of.
func (x *explanation) last() *ExplainedProfile {
	if len(x.Profiles) == 0 {
		x.Profile(0)
	}
	return &x.Profiles[len(x.Profiles)-1]
}

// Removed implements journal.StepsReader.
func (x *explanation) Removed(plugin, endpoint uint64) {
	x.last().FilteredOut[x.names.Endpoint(endpoint)] = x.names.Of(journal.PluginName, plugin)
}

// Scored implements journal.StepsReader.
func (x *explanation) Scored(plugin, endpoint uint64, score float64) {
	p, name := x.last(), x.names.Of(journal.PluginName, plugin)
	if !slices.Contains(p.Scorers, name) {
		p.Scorers = append(p.Scorers, name)
		p.Scores[name] = map[string]float64{}
	}
	p.Scores[name][x.names.Endpoint(endpoint)] = score
}

// Total implements journal.StepsReader.
func (x *explanation) Total(endpoint uint64, total float64) {
	x.last().Totals[x.names.Endpoint(endpoint)] = total
}

// Picked implements journal.StepsReader.
func (x *explanation) Picked(endpoint uint64) {
	x.last().Picked = append(x.last().Picked, x.names.Endpoint(endpoint))
}
