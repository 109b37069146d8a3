// Package explain runs the filter's own scoring code natively on endpoints and requests from files, and reports every
// step of the decision: for `pintle explain`, and for tests whose cases people can read.
package explain

import (
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
)

// Explanation is one decision. Its JSON form is stable.
type Explanation struct {
	Profiles map[string]*Profile `json:"profiles"`
	// Mix is what several profiles came to together, nil when one decided.
	Mix *Mix `json:"mix,omitempty"`
	// Primary is the profile whose endpoints serve the request.
	Primary string `json:"primary"`
	// Destination are the addresses to try, best first.
	Destination []string `json:"destination"`
	// Model is the model that the server is asked for, after rewrites and selection.
	Model string `json:"model"`
	// Selection is how the model was chosen, if the request names a virtual one.
	Selection *Selection `json:"selection,omitempty"`
	// Predicted is what the request is expected to meet at each endpoint, where a plug-in goes by that.
	Predicted map[string]Predicted `json:"predicted,omitempty"`
	// RequestHeaders are the headers that plug-ins add to the request.
	RequestHeaders map[string]string `json:"requestHeaders"`
	// ResponseHeaders are the headers that plug-ins add to the response, if the first choice serves the request.
	ResponseHeaders map[string]string `json:"responseHeaders"`
	Error           *Error            `json:"error"`
}

// Profile is what one scheduling profile came to.
type Profile struct {
	// FilteredOut names the filter that removed an endpoint.
	FilteredOut map[string]string `json:"filteredOut"`
	// Scores are each scorer's clamped scores, before their weight.
	Scores map[string]map[string]float64 `json:"scores"`
	// Totals are the sums of score x weight; in a mix they are brought to 0..1.
	Totals map[string]float64 `json:"totals"`
	Picked []string           `json:"picked"`
}

// Predicted are the times to the first token and for each further one, in milliseconds.
type Predicted struct {
	TTFT float64 `json:"ttftMs"`
	TPOT float64 `json:"tpotMs"`
}

// Error is what the client would be told.
type Error struct {
	Status  int    `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Explainer explains one request after another. Not safe for concurrent use.
type Explainer struct {
	config  *pluginconfig.Config
	plan    *scoring.Plan
	cycle   *scoring.Cycle
	fleet   *Fleet
	scan    openai.Request
	event   journal.Event
	entered bool
}

// New returns an explainer whose random choices follow from seed.
func New(config *pluginconfig.Config, fleet *Fleet, seed uint64) *Explainer {
	x := &Explainer{config: config, plan: config.Plan, fleet: fleet, cycle: scoring.NewCycle(seed)}
	x.cycle.Pool = &fleet.Pool
	return x
}

// Explain decides one request at the time now, nanoseconds since 1970. The request counts as in flight for those that
// follow, and its prompt as cached where it went.
func (x *Explainer) Explain(request Request, now int64) *Explanation {
	result := &Explanation{
		Profiles: map[string]*Profile{}, Destination: []string{}, RequestHeaders: map[string]string{},
		ResponseHeaders: map[string]string{},
	}
	if !x.entered {
		x.fleet.enter(x.plan, now)
		x.plan.Prepare(&x.fleet.Pool)
		x.entered = true
	}
	x.cycle.Pool.State.Expire(now)
	operation := request.operation()
	if failure := x.closed(request, operation); failure != nil {
		return result.fail(failure)
	}
	if len(request.Body) == 0 || request.method() != http.MethodPost {
		operation.Kind = openai.KindOther
	}
	x.begin(request, operation, now)
	if operation.ReadsBody() {
		if failure := x.read(request, operation.API); failure != nil {
			return result.fail(failure)
		}
	}
	if !x.cycle.Request.Unjudged {
		x.cycle.Tracer = result
	}
	endpoints, failure := x.plan.Decide(x.cycle)
	result.Model = x.cycle.Request.Model
	for _, p := range x.cycle.Predictions() {
		if result.Predicted == nil {
			result.Predicted = map[string]Predicted{}
		}
		result.Predicted[p.Endpoint.Name] = Predicted{math.Round(p.TTFT * 1e3), math.Round(p.TPOT*1e4) / 10}
	}
	if failure != nil {
		return result.fail(failure)
	}
	x.tell(result, endpoints)
	if !operation.Computes() {
		return result
	}
	primary := x.plan.Primary(x.cycle)
	result.Primary = x.plan.ProfileName(primary)
	x.record(now)
	x.plan.Respond(&scoring.Outcome{Served: endpoints[0], Prefill: x.cycle.Prefill(), Profile: primary}, result)
	return result
}

// tell says where the request goes, and with which headers.
func (x *Explainer) tell(result *Explanation, endpoints []*scoring.Endpoint) {
	for _, e := range endpoints {
		result.Destination = append(result.Destination, string(e.AppendAddress(nil, x.cycle.PrimaryPort())))
	}
	for _, h := range x.cycle.RequestHeaders() {
		var addresses []string
		for _, e := range h.Endpoints {
			addresses = append(addresses, e.Address)
		}
		result.RequestHeaders[h.Name] = strings.Join(addresses, ",")
	}
}

// closed says why the request is refused before anything is decided, nil if it is not.
func (x *Explainer) closed(request Request, operation openai.Operation) *scoring.Failure {
	if failure := x.config.Closed(request.method(), operation, request.encoded()); failure != nil {
		return failure
	}
	if path := request.Headers[":path"]; path != "" && len(request.Body) > 0 && !x.plan.Claims(cleanPath(path)) {
		return scoring.NoParser
	}
	return nil
}

// begin readies the workplace for a request. A header that is the plug-ins' own counts for nothing when a client sends
// it.
func (x *Explainer) begin(request Request, operation openai.Operation, now int64) {
	x.cycle.Tracer = nil
	x.cycle.Request = scoring.Request{Now: now, PathModel: operation.Model, Unjudged: !operation.Computes()}
	r := &x.cycle.Request
	for _, name := range x.plan.RequestHeaders() {
		value := request.Headers[name]
		if slices.Contains(x.plan.OwnedHeaders(), name) {
			value = ""
		}
		r.Headers = append(r.Headers, value)
	}
	if x.config.Subset != pluginconfig.SubsetIgnore {
		r.Subset, r.Restricted = request.Headers[headerSubset]
	}
}

// read reads the request's body. One that is encoded and no JSON goes unread.
func (x *Explainer) read(request Request, api openai.API) *scoring.Failure {
	x.scan.Want(x.plan.BodyKeys())
	x.scan.KeepBilling(x.fleet.KeepsBilling())
	r := &x.cycle.Request
	if failure := r.Read(&x.scan, api, request.Body); failure != nil {
		if request.encoded() {
			return nil
		}
		return failure
	}
	x.plan.Salt(x.cycle)
	r.Precise = x.fleet.precise(x.plan, r.Model)
	return nil
}

// record applies the decision just made to the state. Its time is a little after now, and after the last one's, so that
// it was made after every sample.
func (x *Explainer) record(now int64) {
	lease := x.event.Lease + 1
	x.plan.Record(x.cycle, &x.event)
	x.event.Instance, x.event.Lease, x.event.Time = 2, lease, now+int64(lease)
	x.cycle.Pool.State.Apply(&x.event)
	// Its user counts as served what the request is expected to take.
	if users := x.cycle.Pool.State.Tokens; users != nil {
		users.Serve(x.event.User, x.event.Time, x.event.InputTokens, x.event.OutputTokens)
		users.Take(x.event.User, x.event.Time, x.event.InputTokens, x.event.OutputTokens)
	}
}

func (x *Explanation) fail(f *scoring.Failure) *Explanation {
	x.Error = &Error{Status: f.Status, Reason: f.Reason, Message: f.Message}
	return x
}

func (x *Explanation) profile(name string) *Profile {
	p := x.Profiles[name]
	if p == nil {
		p = &Profile{FilteredOut: map[string]string{}, Scores: map[string]map[string]float64{},
			Totals: map[string]float64{}, Picked: []string{}}
		x.Profiles[name] = p
	}
	return p
}

// SetHeader implements scoring.HeaderSetter on the response.
func (x *Explanation) SetHeader(name string, value []byte) { x.ResponseHeaders[name] = string(value) }

// FilteredOut implements scoring.Tracer.
func (x *Explanation) FilteredOut(profile string, e *scoring.Endpoint, filter string) {
	x.profile(profile).FilteredOut[e.Name] = filter
}

// Scored implements scoring.Tracer.
func (x *Explanation) Scored(profile, scorer string, candidates []*scoring.Endpoint, scores []float64) {
	of := x.profile(profile).Scores
	if of[scorer] == nil {
		of[scorer] = map[string]float64{}
	}
	for i, e := range candidates {
		of[scorer][e.Name] = scores[i]
	}
}

// Total implements scoring.Tracer.
func (x *Explanation) Total(profile string, candidates []*scoring.Endpoint, totals []float64) {
	of := x.profile(profile).Totals
	for i, e := range candidates {
		of[e.Name] = totals[i]
	}
}

// Picked implements scoring.Tracer.
func (x *Explanation) Picked(profile string, e *scoring.Endpoint) {
	p := x.profile(profile)
	p.Picked = append(p.Picked, e.Name)
}

// HeaderFlag parses a header given as "name: value".
func HeaderFlag(text string) (name, value string, ok bool) {
	// A pseudo header's name starts with the colon that would otherwise end it.
	prefix := ""
	if strings.HasPrefix(text, ":") {
		prefix, text = ":", text[1:]
	}
	name, value, ok = strings.Cut(text, ":")
	name = strings.ToLower(strings.TrimSpace(name))
	return prefix + name, strings.TrimSpace(value), ok && name != ""
}
