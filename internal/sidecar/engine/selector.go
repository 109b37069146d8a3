package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pintle-dev/pintle/internal/selector"
)

// Change says what differs from an engine's own page: other metric names, another place. Empty fields change nothing.
// Names may be selectors: name{label="value",other="value"}, the quotes optional.
type Change struct {
	// Path and Port are where the page is.
	Path string
	Port uint16
	// Waiting, Running and KVCacheUsage name gauges. Several series of the first two are summed, of the last averaged.
	Waiting, Running, KVCacheUsage string
	// CacheInfo names a metric with the labels block_size and num_gpu_blocks, LoRAInfo one with running_lora_adapters,
	// waiting_lora_adapters and max_lora.
	CacheInfo, LoRAInfo string
	// BlockSizeLabel and BlocksLabel are CacheInfo's labels where they are called otherwise; BlockSize and Blocks name
	// gauges in its place.
	BlockSizeLabel, BlocksLabel, BlockSize, Blocks string
	// Attributes are further gauges; of several series the first counts.
	Attributes []Gauge
}

// Gauge is a number on the page and what it is called in snapshots.
type Gauge struct{ Attribute, Selector string }

// With returns s with the engine of that name or alias changed, or with a new one.
func (s Set) With(name string, c Change) (Set, error) {
	if known := s.ByName(name); known != nil {
		name = known.name
	}
	changed := slices.Clone(s)
	i := slices.IndexFunc(s, func(e *Engine) bool { return e.name == name })
	old := &Engine{name: name, path: defaultPath}
	if i >= 0 {
		old = s[i]
	}
	rules, err := c.rules(old.rules)
	if err != nil {
		return nil, err
	}
	if len(c.Attributes) > MaxAttributes {
		return nil, fmt.Errorf("engine %s has %d attributes; at most %d are right", name, len(c.Attributes),
			MaxAttributes)
	}
	e := newEngine(name, rules)
	if e.attributes = old.attributes; len(c.Attributes) > 0 {
		e.attributes = nil
	}
	for _, a := range c.Attributes {
		e.attributes = append(e.attributes, a.Attribute)
	}
	e.path, e.port, e.filters = old.path, old.port, old.filters
	if c.Path != "" {
		e.path, e.filters = c.Path, false
	}
	if c.Port != 0 {
		e.port = c.Port
	}
	if !e.anyLoad() {
		return nil, fmt.Errorf("engine %s has no load; at least one of waiting, running and kvCacheUsage is right",
			name)
	}
	if i >= 0 {
		changed[i] = e
		return changed, nil
	}
	// What the user names is looked for first.
	return append(Set{e}, changed...), nil
}

func (e *Engine) anyLoad() bool {
	return slices.ContainsFunc(e.rules, func(r rule) bool { return loadFields.Has(r.field) })
}

// rules returns old with the rules of the fields that c names replaced.
func (c Change) rules(old []rule) ([]rule, error) {
	rules := slices.Clone(old)
	replace := func(key, text string, by ...rule) error {
		if text == "" {
			return nil
		}
		metric, matches, err := parseSelector(text)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		for i := range by {
			by[i].metric, by[i].matches = metric, matches
			by[i].adopt(rules)
			rules = slices.DeleteFunc(rules, func(r rule) bool { return r.field == by[i].field })
		}
		rules = append(rules, by...)
		return nil
	}
	for _, err := range []error{
		replace("waiting", c.Waiting, rule{field: Waiting, combine: sum}),
		replace("running", c.Running, rule{field: Running, combine: sum}),
		replace("kvCacheUsage", c.KVCacheUsage, rule{field: KVUsage, combine: mean}),
		replace("cacheInfo", c.CacheInfo,
			rule{label: cmp.Or(c.BlockSizeLabel, "block_size"), field: KVBlockTokens, combine: first},
			rule{label: cmp.Or(c.BlocksLabel, "num_gpu_blocks"), field: KVBlocks, combine: sum}),
		replace("cacheBlockSize", c.BlockSize, rule{field: KVBlockTokens, combine: first}),
		replace("cacheBlocks", c.Blocks, rule{field: KVBlocks, combine: sum}),
		replace("loraInfo", c.LoRAInfo, rule{label: "max_lora", field: MaxLoRA, combine: newest, optional: true},
			rule{label: "running_lora_adapters", field: RunningLoRA, combine: newest, optional: true},
			rule{label: "waiting_lora_adapters", field: WaitingLoRA, combine: newest, optional: true}),
	} {
		if err != nil {
			return nil, err
		}
	}
	if len(c.Attributes) > 0 {
		rules = slices.DeleteFunc(rules, func(r rule) bool { return r.field >= Attribute })
	}
	for i, a := range c.Attributes {
		if err := replace("attribute "+a.Attribute, a.Selector,
			rule{field: Attribute + Field(i), combine: first, optional: true}); err != nil {
			return nil, err
		}
	}
	return rules, nil
}

// adopt has r read several series as the engine itself reads those of the metric, but for a part that r asks for.
func (r *rule) adopt(own []rule) {
	for i := range own {
		o := &own[i]
		if o.field != r.field || o.metric != r.metric || o.label != r.label {
			continue
		}
		r.combine, r.optional = o.combine, o.optional
		if !slices.ContainsFunc(r.matches, func(m match) bool { return m.name == o.part }) {
			r.part = o.part
		}
	}
}

// parseSelector reads a PromQL instant selector that compares labels by = only.
func parseSelector(text string) (metric string, matches []match, err error) {
	metric, found, problem := selector.Parse(text)
	if problem != "" {
		return "", nil, fmt.Errorf(`%q %s; a metric name, or name{label="value"}, is right`, text, problem)
	}
	for _, m := range found {
		matches = append(matches, match{m.Name, m.Value})
	}
	return metric, matches, nil
}
