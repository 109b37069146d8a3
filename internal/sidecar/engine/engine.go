// Package engine reads the load of a model server off its Prometheus metrics page.
//
// Each kind of server has one file that says where its numbers stand: a list of rules, in order of preference. The
// reader looks only at lines that begin with a wanted metric name; the rest of the page, often hundreds of histogram
// lines, costs one comparison a line. It accepts the Prometheus text exposition format 0.0.4 except for metric names
// written as quoted strings inside the braces, which no model server uses. A line that breaks the format is skipped.
package engine

import (
	"net/url"
	"slices"
	"strings"
)

// Sample is what one metrics page says of its server. The zero value is a server without load.
type Sample struct {
	// WaitingRequests and RunningRequests count requests in the queue and in the batch, summed over the page's series.
	WaitingRequests, RunningRequests uint32
	// KVCacheUsage is the used part of the KV cache, 0 to 1, the mean over the page's series.
	KVCacheUsage float64
	// KVBlockTokens is the number of tokens in a KV block, KVBlocks the number of blocks in all. 0 is unknown.
	KVBlockTokens, KVBlocks uint32
	// MaxLoRA is how many LoRA adapters the server can run at once. 0 is unknown.
	MaxLoRA uint32
	// MaxRunning is how many requests the server's batch can hold. 0 is unknown.
	MaxRunning uint32
	// ProcessStart is when the server's process started by its own clock, milliseconds since 1970. 0 is unknown.
	ProcessStart uint64
	// Done counts what the server has done since its start, in a unit of the engine's. It is no part of what Equal
	// compares.
	Done float64
	// RunningLoRA and WaitingLoRA name the adapters of running and of waiting requests. Their elements never change
	// once they are set, so that copies of a Sample may be read by anyone.
	RunningLoRA, WaitingLoRA []string
	// Attributes are the numbers that the engine's configuration names; AttributesKnown has a bit for each that the
	// page has.
	Attributes      [MaxAttributes]float64
	AttributesKnown uint16
}

// Equal reports whether two samples say the same of load, sizes and process.
func (s *Sample) Equal(o *Sample) bool {
	return s.WaitingRequests == o.WaitingRequests && s.RunningRequests == o.RunningRequests &&
		s.KVCacheUsage == o.KVCacheUsage && s.KVBlockTokens == o.KVBlockTokens && s.KVBlocks == o.KVBlocks &&
		s.MaxLoRA == o.MaxLoRA && s.MaxRunning == o.MaxRunning && s.ProcessStart == o.ProcessStart &&
		s.Attributes == o.Attributes && s.AttributesKnown == o.AttributesKnown &&
		slices.Equal(s.RunningLoRA, o.RunningLoRA) && slices.Equal(s.WaitingLoRA, o.WaitingLoRA)
}

// Field is one number, or one list of names, of a Sample.
type Field uint8

// The fields of a Sample.
const (
	Waiting Field = iota
	Running
	KVUsage
	KVBlockTokens
	KVBlocks
	MaxLoRA
	RunningLoRA
	WaitingLoRA
	MaxRunning
	ProcessStart
	Done
	fieldCount
	// Attribute is the first of MaxAttributes fields that the configuration names.
	Attribute = fieldCount
)

// MaxAttributes bounds an engine's attributes.
const MaxAttributes = 16

// Fields is a set of fields.
type Fields uint32

// Has reports whether f is in the set.
func (s Fields) Has(f Field) bool { return s&(1<<f) != 0 }

// loadFields are the numbers without which a page says nothing of load.
const loadFields = Fields(1<<Waiting | 1<<Running | 1<<KVUsage)

// HasLoad reports whether any number in the set changes with load. A page without one is not a metrics page of the
// engine.
func (s Fields) HasLoad() bool { return s&loadFields != 0 }

// combine is how the series of one metric become one number.
type combine uint8

const (
	sum combine = iota
	mean
	first
	newest // the series with the greatest value, which is a unix time; the first on a tie
	ranks  // the sum of the first series of each data-parallel rank (dp_rank): the others are of its shards
)

// match is a label that a series must have.
type match struct{ name, value string }

// rule says where one field stands on a page.
type rule struct {
	metric string
	// matches choose among the metric's series; none takes all.
	matches []match
	// part names a label whose series count for nothing where it has a value: what they say is in another one, too.
	part string
	// label names the label that holds the field; empty when the sample value is the field.
	label   string
	field   Field
	combine combine
	// optional is set when a healthy server may leave the metric out.
	optional bool
	// waitsToo is set for requests that wait besides those of an earlier rule, if the page has that.
	waitsToo bool
}

// Engine is one kind of model server.
type Engine struct {
	name string
	// path is where the page is, port the port that serves it; 0 is the endpoint's own.
	path string
	port uint16
	// filters is set when the page leaves out what is not named in the query at path with a slash behind it, as that of
	// the Prometheus client for Python does.
	filters bool
	// prefix is what all its metric names begin with, but for processStart.
	prefix string
	// rules of one field stand in order of preference: the first that the page answers wins.
	rules []rule
	// metrics are the rules' distinct metric names.
	metrics []string
	// attributes are the names of its Attributes.
	attributes []string
}

// defaultPath is where most servers have their page.
const defaultPath = "/metrics"

// processStart is the name by which the Prometheus client of every language tells when its process started. Servers of
// several processes that share a page leave it out.
const processStart = "process_start_time_seconds"

func newEngine(name string, rules []rule) *Engine {
	if !slices.ContainsFunc(rules, func(r rule) bool { return r.field == ProcessStart }) {
		rules = append(rules, rule{metric: processStart, field: ProcessStart, combine: first, optional: true})
	}
	e := &Engine{name: name, path: defaultPath, rules: rules, prefix: rules[0].metric}
	for _, r := range rules {
		for r.field != ProcessStart && r.field < Attribute && !strings.HasPrefix(r.metric, e.prefix) {
			e.prefix = e.prefix[:len(e.prefix)-1]
		}
		if !slices.Contains(e.metrics, r.metric) {
			e.metrics = append(e.metrics, r.metric)
		}
	}
	return e
}

// Attributes are the names of what a Sample has in Attributes, in that order.
func (e *Engine) Attributes() []string { return e.attributes }

// Name returns the engine's name.
func (e *Engine) Name() string { return e.name }

// Path returns where the server's page is, such as "/metrics".
func (e *Engine) Path() string { return e.path }

// Port returns the port that serves the page; 0 is the one that serves requests.
func (e *Engine) Port() uint16 { return e.port }

// FilteredPath returns where the page has nothing but the engine's metrics; empty when it cannot be asked for less. A
// server may answer otherwise than the engine's own does, as when something stands before it: the whole page is at
// Path.
func (e *Engine) FilteredPath() string {
	if !e.filters {
		return ""
	}
	query := url.Values{"name[]": e.metrics}
	return e.path + "/?" + query.Encode()
}

// Missing returns the preferred metric name of each field that a healthy server's page has and found lacks, each name
// once.
func (e *Engine) Missing(found Fields) []string {
	var names []string
	seen := found
	for _, r := range e.rules {
		if r.optional || seen.Has(r.field) {
			continue
		}
		seen |= 1 << r.field
		if !slices.Contains(names, r.metric) {
			names = append(names, r.metric)
		}
	}
	return names
}
