package scoring

import "strconv"

// Dialect is whose reading of an EndpointPickerConfig holds where projects differ.
type Dialect uint8

// The dialects.
const (
	// DialectUnsaid leaves it to the document.
	DialectUnsaid Dialect = iota
	// DialectHeimdall is that of Heimdall and the Gateway API Inference Extension up to v1.4.
	DialectHeimdall
	// DialectLLMD is that of llm-d's router since 0.10.
	DialectLLMD
)

// The names of the dialects, as configurations and people call them.
const (
	NameHeimdall = "heimdall"
	NameLLMD     = "llm-d"
)

// String implements fmt.Stringer.
func (d Dialect) String() string {
	switch d {
	case DialectHeimdall:
		return NameHeimdall
	case DialectLLMD:
		return NameLLMD
	}
	return ""
}

// DialectNamed returns the dialect of a name, DialectUnsaid for any other text.
func DialectNamed(name string) Dialect {
	switch name {
	case NameHeimdall:
		return DialectHeimdall
	case NameLLMD:
		return DialectLLMD
	}
	return DialectUnsaid
}

// Defaults are what a dialect means: where documents say nothing, these values hold. A constructor takes from them what
// its plug-in needs, see Builder.Defaults; nothing asks for the dialect when it decides.
type Defaults struct {
	// Dialect is the one that these belong to.
	Dialect Dialect

	// RoleLabel is the label that tells what part of disaggregated inference a server does. The lists are its values
	// that each filter keeps.
	RoleLabel                              string
	DecodeRoles, PrefillRoles, EncodeRoles []string

	// PrefillHeader and EncodeHeader tell the decode server of the other stages.
	PrefillHeader, EncodeHeader string
	// StagesAnnounced is set when the handlers of disaggregated inference set these headers themselves.
	StagesAnnounced bool

	// ContextLabel and ContextFormula are context-length-aware's label and formula.
	ContextLabel, ContextFormula string

	// MissingMetrics says what endpoints without fresh metrics are worth, unless stale.policy does.
	MissingMetrics StalePolicy
	// AdapterRoom has a server that has reported no LoRA adapter yet count as one with room for one.
	AdapterRoom bool

	// PrefixProducers is set when prefixes are matched by producers, which scorers, deciders and handlers name and
	// which are added where none is declared; else by prefix scorers themselves.
	PrefixProducers bool
	// PromptIDs is set when a prompt's length is counted in ids of 4 bytes of its text, images and tools included.
	PromptIDs bool

	// Consumed are request headers for a picker alone, which no server sees.
	Consumed []string
	// FilteredOut is the answer to a request whose filters leave no endpoint.
	FilteredOut *Failure
	// DropHeader tells clients why a request was refused for lack of capacity, beside x-pintle-reason; empty for no
	// such header.
	DropHeader string
}

var heimdallDefaults = Defaults{
	Dialect:      DialectHeimdall,
	RoleLabel:    "mif.moreh.io/role",
	DecodeRoles:  []string{"decode", "both"},
	PrefillRoles: []string{"prefill"},
	EncodeRoles:  []string{"encode", "encode-prefill", "encode-prefill-decode"},

	PrefillHeader: "mif-prefill-endpoint", EncodeHeader: "mif-encode-endpoints",

	ContextLabel: "mif.moreh.io/context-length-range", ContextFormula: NameHeimdall,

	MissingMetrics: StaleNeutral, AdapterRoom: true,
	FilteredOut: FilteredOut,
}

var llmdDefaults = Defaults{
	Dialect:      DialectLLMD,
	RoleLabel:    "llm-d.ai/role",
	DecodeRoles:  []string{"decode", "prefill-decode", "both", "encode-prefill-decode"},
	PrefillRoles: []string{"prefill", "encode-prefill", "prefill-decode", "both", "encode-prefill-decode"},
	EncodeRoles:  []string{"encode", "encode-prefill", "encode-prefill-decode"},

	PrefillHeader: "x-prefiller-host-port", EncodeHeader: "x-encoder-hosts-ports", StagesAnnounced: true,

	ContextLabel: "llm-d.ai/context-length-range", ContextFormula: NameLLMD,

	MissingMetrics:  StaleZero,
	PrefixProducers: true, PromptIDs: true,
	Consumed: []string{
		"x-llm-d-inference-objective", "x-gateway-inference-objective",
		"x-llm-d-inference-fairness-id", "x-gateway-inference-fairness-id",
		"x-llm-d-model-name-rewrite", "x-gateway-model-name-rewrite",
		"x-llm-d-slo-ttft-ms", "x-llm-d-slo-tpot-ms", "x-slo-ttft-ms", "x-slo-tpot-ms",
		"x-llm-d-video-fps", "x-llm-d-video-duration-seconds", "x-llm-d-video-resolution",
	},
	FilteredOut: saturatedOut, DropHeader: "x-llm-d-request-dropped-reason",
}

// DefaultsOf returns what a dialect means; DialectUnsaid is Heimdall's.
func DefaultsOf(d Dialect) *Defaults {
	if d == DialectLLMD {
		return &llmdDefaults
	}
	return &heimdallDefaults
}

// Defaults returns what the document's dialect means.
func (b *Builder) Defaults() *Defaults { return b.compiler.defaults }

// Reading is how a document's dialect was found.
type Reading struct {
	Dialect Dialect
	// Because says by what it was chosen.
	Because string
	// Unsure is set when nothing in the document tells.
	Unsure bool
	// Shared is set when what tells stands in documents of llm-d's router before 0.10, too.
	Shared bool
}

// Reading returns the dialect that the document was read in, and why.
func (p *Plan) Reading() Reading { return p.reading }

// Hangs says what hangs on the document's dialect, for people, one line for each matter.
func (p *Plan) Hangs() []string {
	d := p.defaults
	header := "a disagg-headers-handler sets"
	if d.StagesAnnounced {
		header = "the profile handler sets"
	}
	missing := "as the middle of each score"
	if p.stale.Policy != StaleNeutral {
		missing = "by stale.policy: " + p.stale.Policy.String()
	}
	prefix := "prefix-cache-scorer matches prompts, in blocks of whole 16 tokens that are marked by role"
	if d.PrefixProducers {
		prefix = "approx-prefix-cache-producer matches prompts, tools first and without marks, the last block in part"
	}
	dropped := "x-pintle-reason"
	if d.DropHeader != "" {
		dropped += " and " + d.DropHeader
	}
	return []string{
		"roles: label " + d.RoleLabel,
		"headers: " + header + " " + d.PrefillHeader + " and " + d.EncodeHeader,
		"missing metrics: count " + missing,
		"prefixes: " + prefix,
		"context lengths: label " + d.ContextLabel + ", formula " + d.ContextFormula,
		"filters that leave no server: status " + strconv.Itoa(d.FilteredOut.Status) + ", reason in " + dropped,
	}
}
