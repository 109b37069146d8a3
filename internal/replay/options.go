package replay

import (
	"slices"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
)

// Options say how requests are run.
type Options struct {
	Servers Servers
	// Endpoints are the servers' names, labels and models; without any they are called server-0 and so on, and have all
	// models.
	Endpoints []scoring.Endpoint
	// Scale multiplies the rate of requests; 0 stands for 1.
	Scale float64
	// Speeds multiply the speed of servers, by their number; where there is none, it is 1.
	Speeds []float64
	// Headers are those of every request.
	Headers map[string]string
	// Seed is that of random choices.
	Seed uint64
	// SampleEvery is how often servers' metrics are read, in seconds; 0 stands for 0.05.
	SampleEvery float64
	// Warm is for how many seconds from the beginning requests do not count.
	Warm float64
	// Others are the plans of further gateways, made of the same configuration: each request comes to any of them. What
	// one of them learns of requests the others learn Lag seconds later; below 0 they never do.
	Others []*scoring.Plan
	Lag    float64
	// Events, when set, is told every event that the state is fed. It is valid during the call.
	Events func(*journal.Event)
	// Progress, when set, is told now and then how many requests have been decided.
	Progress func(done int)
}

// Sample is what became of one request, in seconds. TTFT and TPOT are 0 where nobody saw them.
type Sample struct {
	At, TTFT, TPOT, Whole float64
	// Cut is set where the answer did not come to its end.
	Cut bool
	// Input, Cached and Output are tokens; Predicted are those that the plan believed to be cached where it sent the
	// request.
	Input, Cached, Output, Predicted int
	// CachedUnknown is set where the server did not tell what it had cached; Cached is 0 then.
	CachedUnknown bool
	// Server is the number of the server, -1 for a request that was refused, and Refused why.
	Server  int
	Refused string
}

// listModels has all servers that list no models list these.
func (o *Options) listModels(models []string) {
	o.Endpoints = slices.Clone(o.Endpoints)
	for i := len(o.Endpoints); i < o.Servers.Count; i++ {
		o.Endpoints = append(o.Endpoints, scoring.Endpoint{Name: serverName(i)})
	}
	for i := range o.Endpoints {
		if len(o.Endpoints[i].Models) == 0 {
			o.Endpoints[i].Models = models
		}
	}
}
