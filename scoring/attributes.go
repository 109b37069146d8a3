package scoring

import (
	"math"
	"strings"
)

// Attribute is a metric of endpoints by its name.
type Attribute struct {
	name  string
	read  func(m *Metrics) float64 // of those that every sample has; nil for others
	names *string                  // of the pool where it was found, to be found once
	place int
}

// CoreProducer is the producer of an attribute that names none, and of all that a core-metrics-extractor reads,
// whatever its own name is.
const CoreProducer = "core-metrics-extractor"

// ReadAttribute reads the name of an attribute from the parameter key and its producer from producer, if that is
// given: Name with a producer beside it, or both in one as Name/Producer. Without either, core-metrics-extractor is
// the producer; an empty one stands for none.
func (b *Builder) ReadAttribute(key string) *Attribute {
	name, producer := "", CoreProducer
	b.String(key, &name)
	b.String("producer", &producer)
	both := strings.Contains(name, "/")
	switch {
	case name == "":
		b.Missing(key, "name a metric, such as WaitingQueueSize or one of customMetrics")
	case both && b.Has("producer"):
		b.Mistake(key, "names a producer behind its slash, and producer is given, too; one of them is right")
	case !both && producer != "":
		name += "/" + producer
	}
	return &Attribute{name: name, read: coreAttributes(name)}
}

// coreAttributes reads what the sidecar samples of every server.
func coreAttributes(name string) func(m *Metrics) float64 {
	switch name {
	case "WaitingQueueSize/" + CoreProducer:
		return func(m *Metrics) float64 { return float64(m.WaitingRequests) }
	case "RunningRequestsSize/" + CoreProducer:
		return func(m *Metrics) float64 { return float64(m.RunningRequests) }
	case "KVCacheUsagePercent/" + CoreProducer:
		return func(m *Metrics) float64 { return m.KVCacheUsage }
	}
	return nil
}

// Attribute returns the value of an endpoint's metric; ok is false where it is not known, as before the first sample,
// or too old.
func (c *Cycle) Attribute(a *Attribute, e *Endpoint) (value float64, ok bool) {
	if !c.Fresh(e) {
		return 0, false
	}
	if a.read != nil {
		return a.read(&e.Metrics), e.Metrics.SampledAt != 0
	}
	place := a.find(c.Pool.Attributes)
	if place < 0 || place >= len(e.Metrics.Attributes) {
		return 0, false
	}
	value = e.Metrics.Attributes[place]
	return value, !math.IsNaN(value)
}

// find is the attribute's place among names, -1 for none.
func (a *Attribute) find(names []string) int {
	if len(names) == 0 {
		return -1
	}
	if a.names == &names[0] && a.place < len(names) && names[a.place] == a.name {
		return a.place
	}
	for i := range names {
		if names[i] == a.name {
			a.names, a.place = &names[0], i
			return i
		}
	}
	return -1
}
