// Package topology is what topology-affinity-scorer and -filter have in common: how near two servers are.
package topology

import "github.com/pintle-dev/pintle/scoring"

// Distance is how far apart two servers are known to be.
type Distance uint8

// The distances, nearest first.
const (
	Host Distance = iota
	Rack
	Zone
	Region
	Apart
)

// Labels are the labels that name where a server stands: its host, rack, zone and region.
type Labels [Apart]string

// Usual are the labels of a configuration that gives none.
var Usual = Labels{
	"kubernetes.io/hostname", "topology.kubernetes.io/rack", "topology.kubernetes.io/zone",
	"topology.kubernetes.io/region",
}

// Extractor is a plug-in that says which labels they are.
type Extractor interface{ Labels() Labels }

// Finder finds the labels that a plug-in goes by.
type Finder struct {
	labels Labels
	name   string
	mark   func(text string)
}

// NewFinder reads the parameter topologyProducerName.
func NewFinder(b *scoring.Builder) *Finder {
	const usual = "topology-extractor"
	f := &Finder{labels: Usual, name: usual}
	o := b.Object
	o.String("topologyProducerName", &f.name)
	if f.name == "" {
		f.name = usual
	} else if f.name != usual {
		f.mark = func(text string) { o.Mistake("topologyProducerName", text) }
	}
	return f
}

// Link implements scoring.Linked.
func (f *Finder) Link(l *scoring.Linker) {
	plugin, kind := l.Find(f.name)
	extractor, ok := plugin.(Extractor)
	switch {
	case ok:
		f.labels = extractor.Labels()
	case plugin == nil && kind != "":
	case f.mark != nil && plugin == nil:
		f.mark(l.NotDeclared(f.name))
	case f.mark != nil:
		f.mark("is not a topology-extractor")
	}
}

// Between is how far a is from b: the nearest place that both name alike.
func (f *Finder) Between(a, b *scoring.Endpoint) Distance {
	for d := Host; d < Apart; d++ {
		x, known := a.Label(f.labels[d])
		y, too := b.Label(f.labels[d])
		if known && too && x != "" && x == y {
			return d
		}
	}
	return Apart
}

// Known reports whether anything is known of where e stands.
func (f *Finder) Known(e *scoring.Endpoint) bool {
	for _, label := range f.labels {
		if value, ok := e.Label(label); ok && value != "" {
			return true
		}
	}
	return false
}
