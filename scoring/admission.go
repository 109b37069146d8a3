package scoring

import (
	"slices"
	"time"
)

// The second halves of headers' names, see headerNames.
const (
	// headerObjective names the request's objective, and with it its priority.
	headerObjective = "inference-objective"
	// headerRewrite names the model to ask for in place of the body's, where no rule rewrites that.
	headerRewrite = "model-name-rewrite"
)

// headerNames are a request header under its name of today, x-llm-d-..., and the one of before, x-gateway-...
type headerNames struct{ now, before HeaderKey }

func (b *Builder) namedHeader(half string) headerNames {
	return headerNames{b.RequestHeader("x-llm-d-" + half), b.RequestHeader("x-gateway-" + half)}
}

// header returns the value under today's name, else that under the former one.
func (r *Request) header(names headerNames) string {
	if value := r.Header(names.now); value != "" {
		return value
	}
	return r.Header(names.before)
}

// Utilization says how saturated endpoints are by what they report: the larger of queue and KV cache usage, each
// divided by its threshold. Source: Gateway API Inference Extension, utilization detector.
type Utilization struct {
	QueueDepth, KVUsage float64
	// StaleAfter is the age from which metrics are not believed; 0 is any.
	StaleAfter time.Duration
}

// DefaultUtilization has the thresholds of a document that gives none.
var DefaultUtilization = Utilization{QueueDepth: 5, KVUsage: 0.8, StaleAfter: 200 * time.Millisecond}

// Known reports whether e has metrics that are believed.
func (u *Utilization) Known(c *Cycle, e *Endpoint) bool {
	return e.Metrics.SampledAt != 0 && (u.StaleAfter == 0 || c.sampledWithin(&e.Metrics, u.StaleAfter))
}

// Of is how saturated an endpoint is: 1 at a threshold, and where nothing is known.
func (u *Utilization) Of(c *Cycle, e *Endpoint) float64 {
	if !u.Known(c, e) {
		return 1
	}
	return max(float64(e.Metrics.WaitingRequests)/u.QueueDepth, e.Metrics.KVCacheUsage/u.KVUsage)
}

// SaturationDetector is a plug-in by which a document says when the pool has no capacity for requests that may be shed.
type SaturationDetector interface {
	// Thresholds are what the pool is judged by.
	Thresholds() Utilization
}

// saturated reports whether the mean of the endpoints' saturations reaches 1.
func (c *Cycle) saturated() bool {
	sum := 0.0
	for i := range c.Pool.Endpoints {
		sum += c.plan.saturation.Of(c, &c.Pool.Endpoints[i])
	}
	return sum >= float64(len(c.Pool.Endpoints))
}

// Priority is that of the objective which the request names. A client can choose among the objectives but not invent
// one: an unknown name is priority 0, as is none.
func (c *Cycle) Priority() int {
	name := c.Request.header(c.plan.objective)
	if name == "" {
		return 0
	}
	for i := range c.Pool.Objectives {
		if c.Pool.Objectives[i].Name == name {
			return c.Pool.Objectives[i].Priority
		}
	}
	return 0
}

// rewrite settles which model the request is for: what the rule for the body's name makes of it; without one, the
// header's name, or what the rule for that makes of it. So no client gets past a rule by a header. A request that names
// no model is left alone.
func (c *Cycle) rewrite() {
	if c.Request.Model == "" {
		return
	}
	rule := c.rewriteRule(c.Request.Model)
	if name := c.Request.header(c.plan.rewrite); rule == nil && name != "" {
		c.Request.Model, rule = name, c.rewriteRule(name)
	}
	if rule != nil {
		c.Request.Model = c.choose(rule.Targets)
	}
}

// adoptPathModel has a request whose body names no model be one for that of its path.
func (c *Cycle) adoptPathModel() {
	r := &c.Request
	if r.Model != "" || r.PathModel == "" {
		return
	}
	if c.Service(r.PathModel) > Unserved {
		r.Model = r.PathModel
	}
}

// rewriteRule returns the first rule for a name, nil for none. Rules that name models come before those that apply to
// all.
func (c *Cycle) rewriteRule(model string) *Rewrite {
	var general *Rewrite
	for i := range c.Pool.Rewrites {
		rule := &c.Pool.Rewrites[i]
		if len(rule.Targets) == 0 {
			continue
		}
		if len(rule.Models) == 0 && general == nil {
			general = rule
		}
		if slices.Contains(rule.Models, model) {
			return rule
		}
	}
	return general
}

// choose picks a target with a probability proportional to its weight, uniformly when all weights are 0.
func (c *Cycle) choose(targets []RewriteTarget) string {
	sum := int64(0)
	for i := range targets {
		sum += int64(targets[i].Weight)
	}
	if sum == 0 {
		return targets[c.Random.IntN(len(targets))].Model
	}
	left := c.Random.Int64N(sum)
	for i := range targets {
		if left -= int64(targets[i].Weight); left < 0 {
			return targets[i].Model
		}
	}
	return targets[0].Model
}
