package pool

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

// Warnings says which sources are not in use as they are now, and why.
func (p *Pool) Warnings() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for i, err := range p.problems {
		if err != nil {
			all = append(all, fmt.Sprintf("%s: %v; %s", p.sources[i].Name, OneLine(err.Error()), p.meanwhile(i)))
		}
	}
	return append(all, p.leftOut...)
}

// meanwhile says what holds while the source of that index cannot be read.
func (p *Pool) meanwhile(index int) string {
	if topology.IsPartly(p.problems[index]) {
		return "what else it says is in use"
	}
	if p.reported[index] {
		return "the last good endpoints stay in use"
	}
	return "Envoys are told nothing before it has been read once"
}

// Unheard are the sources that have not been read once, for which Envoys wait.
func (p *Pool) Unheard() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for i, heard := range p.reported {
		if !heard {
			names = append(names, p.sources[i].Name)
		}
	}
	return names
}

// MissingMetrics says which metrics endpoints lack, one line for each metric.
func (p *Pool) MissingMetrics() []string {
	g := p.Generation()
	if g == nil {
		return nil
	}
	lacking := map[string][]string{}
	var names []string
	for _, t := range g.Targets {
		for _, metric := range t.Now().Missing {
			if lacking[metric] == nil {
				names = append(names, metric)
			}
			lacking[metric] = append(lacking[metric], t.Name)
		}
	}
	all := make([]string, len(names))
	for i, metric := range names {
		all[i] = fmt.Sprintf("metric %s: missing at %d of %d endpoints, such as %s; they are judged without it",
			metric, len(lacking[metric]), len(g.Targets), lacking[metric][0])
	}
	return all
}

// unreadAfter is how long an endpoint's scrapes have failed when it counts as one that cannot be read. The alert
// PintleSampleOld goes by the same age.
const unreadAfter = 5 * time.Second

// some are endpoints with the same trouble: how many, and the first one's name and failure.
type some struct {
	n             int
	name, failure string
}

func (s *some) add(t *Target, failure string) {
	if s.n++; s.n == 1 {
		s.name, s.failure = t.Name, failure
	}
}

// Unread says which endpoints cannot be read for want of the right credentials, of which pools half or more cannot be
// read for another reason, which endpoints do not say what models they serve, which list too many, both but for those
// whose sources say it, and of which the GPUs are not known, a line each. One dead server of many is no trouble of the
// sidecar.
func (p *Pool) Unread(now time.Time) []string {
	g := p.Generation()
	if g == nil {
		return nil
	}
	var refusing, models, omitting, gpus some
	for i, t := range g.Targets {
		v := t.Now()
		if v.refused() {
			refusing.add(t, v.Failure)
		}
		lists := !g.given(i, v.Models)
		if lists && v.ModelsFailure != "" {
			models.add(t, v.ModelsFailure)
		}
		if lists && v.ModelsOmitted > 0 {
			omitting.add(t, strconv.Itoa(v.ModelsOmitted))
		}
		if v.GPUFailure != "" {
			gpus.add(t, v.GPUFailure)
		}
	}
	var all []string
	if refusing.n > 0 {
		all = append(all, fmt.Sprintf("scrape: %d of %d endpoints refuse to be read, such as %s: %s", refusing.n,
			len(g.Targets), refusing.name, refusing.failure))
	}
	all = append(all, g.unreadPools(now)...)
	if models.n > 0 {
		all = append(all, fmt.Sprintf("models: %d of %d endpoints do not say which they serve, such as %s: %s; what "+
			"was known of them stays, and "+
			"without that they get requests for any model", models.n, len(g.Targets), models.name, models.failure))
	}
	if omitting.n > 0 {
		all = append(all, fmt.Sprintf("models: %d of %d endpoints list more than is taken, such as %s, which gets no "+
			"requests for %s of them", omitting.n, len(g.Targets), omitting.name, omitting.failure))
	}
	if gpus.n > 0 {
		all = append(all, fmt.Sprintf("gpu: the use of GPUs is not known of %d of %d endpoints, such as %s: %s",
			gpus.n, len(g.Targets), gpus.name, gpus.failure))
	}
	return all
}

// given reports whether the models of an endpoint are its source's, and not the first of those that it lists, of which
// there may be too many: what it lists does not count then.
func (g *Generation) given(endpoint int, lists []string) bool {
	models := g.Topology.Endpoints[endpoint].Models
	return len(models) > len(lists) || !slices.Equal(models, lists[:len(models)])
}

// refused reports whether the last scrape failed for want of the right credentials.
func (v *View) refused() bool { return v.Result == "unauthorized" || v.Result == "credentials" }

// unreadPools is a line for each pool of which half or more cannot be read, though not for want of credentials.
func (g *Generation) unreadPools(now time.Time) (all []string) {
	of, dead := map[string]int{}, map[string]*some{}
	var pools []string
	for _, t := range g.Targets {
		if of[t.Pool]++; of[t.Pool] == 1 {
			pools = append(pools, t.Pool)
			dead[t.Pool] = &some{}
		}
		v := t.Now()
		if !v.refused() && !v.FailingSince.IsZero() && now.Sub(v.FailingSince) >= unreadAfter {
			dead[t.Pool].add(t, v.Failure)
		}
	}
	for _, pool := range pools {
		if d := dead[pool]; 2*d.n >= of[pool] {
			all = append(all, fmt.Sprintf("scrape: %d of %d endpoints of the pool %s cannot be read, such as %s: %s; "+
				"what is known of their load grows stale", d.n, of[pool], pool, d.name, d.failure))
		}
	}
	return all
}
