package pool

import (
	"fmt"
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

// Unread says which endpoints cannot be read for want of the right credentials, which do not say what models they
// serve, and of which the GPUs are not known, a line each.
func (p *Pool) Unread() []string {
	g := p.Generation()
	if g == nil {
		return nil
	}
	var scrapes, models, gpus []View
	var scrapesAt, modelsAt, gpusAt string
	for _, t := range g.Targets {
		v := t.Now()
		if v.Result == "unauthorized" || v.Result == "credentials" {
			scrapes, scrapesAt = append(scrapes, v), first(scrapesAt, t.Name)
		}
		if v.ModelsFailure != "" {
			models, modelsAt = append(models, v), first(modelsAt, t.Name)
		}
		if v.GPUFailure != "" {
			gpus, gpusAt = append(gpus, v), first(gpusAt, t.Name)
		}
	}
	var all []string
	if len(scrapes) > 0 {
		all = append(all, fmt.Sprintf("scrape: %d of %d endpoints refuse to be read, such as %s: %s", len(scrapes),
			len(g.Targets), scrapesAt,
			scrapes[0].Failure))
	}
	if len(models) > 0 {
		all = append(all, fmt.Sprintf("models: %d of %d endpoints do not say which they serve, such as %s: %s; what "+
			"was known of them stays, and "+
			"without that they get requests for any model", len(models), len(g.Targets), modelsAt,
			models[0].ModelsFailure))
	}
	if len(gpus) > 0 {
		all = append(all, fmt.Sprintf("gpu: the use of GPUs is not known of %d of %d endpoints, such as %s: %s",
			len(gpus), len(g.Targets), gpusAt, gpus[0].GPUFailure))
	}
	return all
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
