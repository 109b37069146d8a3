package filters

import (
	"cmp"
	"slices"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
)

// disaggregatedsetRolloutScreener keeps all stages of a request at endpoints of one revision while a DisaggregatedSet
// is rolled out, because servers of two revisions may not understand each other's KV caches. It takes part by being
// declared and comes before all profiles.
//
// A revision that lacks one of the required roles serves nothing, nor does one in which every server of a role fails
// while another revision that may serve the request has sound ones. Among the others one is drawn by weight; requests
// with the same value of the header x-llm-d-revision-decision-id go to the same revision as long as the numbers of
// endpoints stay the same. A request that names a revision in revisionHeaderName goes to that one or nowhere; have the
// key strip remove the header where clients shall not choose. The answer has the header with the revision that served.
// A request for which no endpoint is left is answered with 503 no_endpoints.
//
// Formula: with mode max-role the weight of a revision is how many of its endpoints have the most frequent role. That
// is the role which most endpoints have in all revisions that have every role, and of equally frequent ones the first
// in requiredRoles. With sum the weight is how many endpoints have any of the roles. With disabled the header alone
// counts.
//
// Missing data: an endpoint without the label of a revision serves nothing unless mode is disabled.
//
// Source: llm-d, disaggregatedset-rollout-screener, in its forms of 0.10 and after. There pods are counted, here
// endpoints, of which a pod with ranks has several. There no revision is drawn for a request with any strict header.
type disaggregatedsetRolloutScreener struct {
	mode                 string
	scope                []requirement
	revisionKey, roleKey string
	roles                []string
	selectors            []labelHeader
	decision             scoring.HeaderKey

	revisions []revision // scratch
	value     []byte     // scratch
}

//lint:ignore U1000 it documents the parameters: they nest deeper than a struct is read
type disaggregatedsetRolloutScreenerParameters struct {
	// Scope holds labelSelector, which says which endpoints count towards weights: label=value, several with commas
	// between them. Required.
	Scope struct{}
	// RevisionGating holds mode (max-role, sum or disabled), which is required; requiredRoles, a list of the roles that
	// every revision needs, in llm-d's 0.10 values in requireRoles; revisionHeaderName (x-llm-d-disagg-revision, but
	// none in documents with headerSelectors); revisionLabelKey and roleLabelKey (disaggregatedset.x-k8s.io/revision
	// and /role). disableCoordination has no effect.
	RevisionGating struct{}
	// HeaderSelectors are further headers and labels, as in llm-d's 0.10: name, headerName, labelKey and mode. With
	// mode strict the label must have the header's value, if the request has the header; where that label is not the
	// revision's, a revision is drawn among those that have such an endpoint. With both strict and prefer the answer's
	// header has the label's value of the endpoint that served.
	HeaderSelectors []labelHeader
}

// labelHeader is a header that carries the value of a label.
type labelHeader struct {
	name, label string
	key         scoring.HeaderKey
	strict      bool
}

// The modes.
const (
	modeMaxRole  = "max-role"
	modeSum      = "sum"
	modeDisabled = "disabled"
)

var (
	noWholeRevision = &scoring.Failure{Status: 503, Reason: scoring.NoEndpoints.Reason,
		Message: "no revision of the model servers has servers of every role"}
	noSuchRevision = &scoring.Failure{Status: 503, Reason: scoring.NoEndpoints.Reason,
		Message: "no model server that may serve the request has the labels that its headers ask for"}
)

// NewDisaggregatedsetRolloutScreener builds a disaggregatedset-rollout-screener.
func NewDisaggregatedsetRolloutScreener(b *scoring.Builder) scoring.Plugin {
	s := &disaggregatedsetRolloutScreener{decision: b.RequestHeader("x-llm-d-revision-decision-id")}
	scope := b.Object.Object("scope")
	if s.scope = readSelectorText(scope, "labelSelector"); scope.Text("labelSelector") == "" {
		scope.Missing("labelSelector", "say which endpoints belong to the set, such as "+
			"disaggregatedset.x-k8s.io/name=NAME")
	}
	scope.Close()
	for _, o := range b.Objects("headerSelectors") {
		s.selectors = append(s.selectors, readLabelHeader(b, o))
	}
	s.readGating(b, b.Object.Object("revisionGating"))
	return s
}

func readLabelHeader(b *scoring.Builder, o *strictjson.Object) labelHeader {
	name, mode, h := "", "", labelHeader{}
	o.LabelBy("name")
	o.String("name", &name)
	o.HeaderName("headerName", &h.name)
	o.String("labelKey", &h.label)
	o.OneOf("mode", &mode, "strict", "prefer")
	o.Close()
	for _, given := range [][2]string{{"headerName", h.name}, {"labelKey", h.label}, {"mode", mode}} {
		if given[1] == "" {
			o.Missing(given[0], "a header selector has a headerName, a labelKey and a mode")
		}
	}
	h.key, h.strict = b.RequestHeader(h.name), mode == "strict"
	return h
}

func (s *disaggregatedsetRolloutScreener) readGating(b *scoring.Builder, o *strictjson.Object) {
	const set = "disaggregatedset.x-k8s.io/"
	revisionKey, roleKey, usual := set+"revision", set+"role", ""
	if len(s.selectors) == 0 {
		usual = "x-llm-d-disagg-revision"
	}
	s.revisionKey, s.roleKey = revisionKey, roleKey
	header, alone := usual, false
	o.OneOf("mode", &s.mode, modeMaxRole, modeSum, modeDisabled)
	o.Strings("requiredRoles", &s.roles)
	former := o.Object("requireRoles")
	former.Strings("values", &s.roles)
	former.Close()
	o.HeaderName("revisionHeaderName", &header)
	o.String("revisionLabelKey", &s.revisionKey)
	o.String("roleLabelKey", &s.roleKey)
	// Empty names are the usual ones, as in llm-d.
	s.revisionKey, s.roleKey = cmp.Or(s.revisionKey, revisionKey), cmp.Or(s.roleKey, roleKey)
	header = cmp.Or(header, usual)
	o.Bool("disableCoordination", &alone)
	if o.Has("disableCoordination") {
		b.Warn("revisionGating.disableCoordination has no effect: nothing is asked of others for a revision")
	}
	o.Close()
	switch {
	case s.mode == "":
		o.Missing("mode", "it is one of max-role, sum, disabled")
	case s.mode == modeDisabled:
		s.roles = nil
	case len(s.roles) == 0:
		o.Missing("requiredRoles", "name the roles that every revision needs, such as prefill and decode")
	case len(s.roles) > mostRoles || slices.Contains(s.roles, "") || twice(s.roles):
		o.Mistake("requiredRoles", "are not one to eight different roles with names")
	}
	if header != "" {
		s.selectors = append(s.selectors,
			labelHeader{name: header, label: s.revisionKey, key: b.RequestHeader(header), strict: true})
	}
}

// twice reports whether one of the names is there more than once: no endpoint would have the second one.
func twice(names []string) bool {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return true
		}
	}
	return false
}

// Screen implements scoring.Screener.
func (s *disaggregatedsetRolloutScreener) Screen(c *scoring.Cycle) *scoring.Failure {
	narrowed, named := s.names(c)
	if s.mode != modeDisabled {
		if s.weigh(c, named); !named && !s.anyWhole() {
			s.weigh(c, true)
		}
		chosen := ""
		if !named {
			chosen = s.choose(c)
		}
		if !s.keep(c, chosen) {
			return noWholeRevision
		}
	}
	if narrowed && !s.obey(c) {
		return noSuchRevision
	}
	return nil
}

// names reports whether the request names what its endpoints have to have, and whether that is a revision.
func (s *disaggregatedsetRolloutScreener) names(c *scoring.Cycle) (anything, revision bool) {
	for i := range s.selectors {
		if h := &s.selectors[i]; h.strict && c.Request.Header(h.key) != "" {
			anything, revision = true, revision || h.label == s.revisionKey
		}
	}
	return anything, revision
}

// keep excludes the endpoints of revisions that lack a role and, if one was chosen, of the others. It reports whether
// any is left.
func (s *disaggregatedsetRolloutScreener) keep(c *scoring.Cycle, chosen string) (left bool) {
	for i := range c.Pool.Endpoints {
		e := &c.Pool.Endpoints[i]
		if !c.Serves(e) {
			continue
		}
		name, _ := e.Label(s.revisionKey)
		at, known := s.find(name)
		if !known || s.revisions[at].weight == 0 || chosen != "" && name != chosen {
			c.Exclude(e)
			continue
		}
		left = true
	}
	return left
}

// obey excludes the endpoints whose labels are not those that the request's headers ask for, and reports whether any is
// left.
func (s *disaggregatedsetRolloutScreener) obey(c *scoring.Cycle) (left bool) {
	for i := range c.Pool.Endpoints {
		e := &c.Pool.Endpoints[i]
		if !c.Serves(e) {
			continue
		}
		if s.asked(c, e) {
			left = true
		} else {
			c.Exclude(e)
		}
	}
	return left
}

func (s *disaggregatedsetRolloutScreener) asked(c *scoring.Cycle, e *scoring.Endpoint) bool {
	for i := range s.selectors {
		h := &s.selectors[i]
		value := c.Request.Header(h.key)
		if label, _ := e.Label(h.label); h.strict && value != "" && label != value {
			return false
		}
	}
	return true
}

// OnResponse implements scoring.ResponseHook.
func (s *disaggregatedsetRolloutScreener) OnResponse(o *scoring.Outcome, headers scoring.HeaderSetter) {
	for i := range s.selectors {
		if label, _ := o.Served.Label(s.selectors[i].label); label != "" {
			s.value = append(s.value[:0], label...)
			headers.SetHeader(s.selectors[i].name, s.value)
		}
	}
}
