package main

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
)

// What access logs and traces can tell of a request, as %CEL(filter_state['wasm.pintle'].NAME)%: one message, a
// google.protobuf.Struct whose fields have these names. docs/operations.md explains them.
const (
	propertyReport = "pintle"

	reportModel     = "model"
	reportServed    = "served_model"
	reportEndpoint  = "endpoint"
	reportProfile   = "profile"
	reportStrategy  = "strategy"
	reportPredicted = "predicted_cached_tokens"
	reportRank      = "rank"
	reportRefused   = "refused"
	reportInput     = "input_tokens"
	reportOutput    = "output_tokens"
	reportCached    = "cached_tokens"
	reportTTFT      = "ttft_ms"
	reportShadow    = "shadow_endpoint"
)

// report is the message of a stream as far as it is known.
type report struct {
	message []byte
	// ranked are the first endpoints of the decision, for the rank of the one that answers.
	ranked [4]*scoring.Endpoint
	// ended is set when the last fields are told.
	ended bool
}

// declareReport is called once in each plug-in's start.
func declareReport() { _ = hostcalls.DeclareMessage(propertyReport, "google.protobuf.Struct") }

// text adds a field {key, {string_value}} of Struct.fields. What is not UTF-8 in it is left out: Envoy would not read
// any field of the message.
func (t *report) text(name, value string) {
	// Such are names that were cut within a letter, and those of a path.
	value = strings.ToValidUTF8(value[:min(len(value), mostReportBytes)], "")
	if value == "" {
		return
	}
	inner := 1 + varintBytes(len(value)) + len(value)
	t.open(name, inner)
	t.message = binary.AppendUvarint(append(t.message, 3<<3|2), uint64(len(value)))
	t.message = append(t.message, value...)
}

// number adds a field {key, {number_value}}.
func (t *report) number(name string, value float64) {
	const inner = 9
	t.open(name, inner)
	t.message = binary.LittleEndian.AppendUint64(append(t.message, 2<<3|1), math.Float64bits(value))
}

// open begins an entry whose value has so many bytes.
func (t *report) open(name string, inner int) {
	entry := 2 + len(name) + 1 + varintBytes(inner) + inner
	t.message = binary.AppendUvarint(append(t.message, 1<<3|2), uint64(entry))
	t.message = append(append(t.message, 1<<3|2, byte(len(name))), name...)
	t.message = binary.AppendUvarint(append(t.message, 2<<3|2), uint64(inner))
}

// mostReportBytes bounds a text: names are the clients'.
const mostReportBytes = 256

func varintBytes(n int) int {
	bytes := 1
	for ; n >= 0x80; n >>= 7 {
		bytes++
	}
	return bytes
}

// reportDecision tells where the request goes.
func (s *stream) reportDecision(picked []*scoring.Endpoint) {
	t := &s.report
	copy(t.ranked[:], picked)
	s.reportModels()
	t.text(reportEndpoint, picked[0].Name)
	if !s.cycle.Request.Unjudged {
		t.text(reportProfile, s.config.Plan.ProfileName(s.config.Plan.Primary(s.cycle)))
		t.text(reportStrategy, s.cycle.Strategy())
		t.number(reportPredicted, float64(s.cycle.CachedTokens(picked[0])))
	}
	s.publishReport()
}

func (s *stream) reportModels() {
	asked := s.cycle.Request.PathModel
	if s.cycle.Request.Body != nil {
		asked = s.request.Model
	}
	s.report.text(reportModel, asked)
	s.report.text(reportServed, s.cycle.Request.Model)
}

// reportRefusal tells why the request goes nowhere.
func (s *stream) reportRefusal(reason string) {
	s.report.text(reportRefused, reason)
	s.publishReport()
}

// reportEnd tells what became of the request, once: when its answer has ended, or when the exchange has.
func (s *stream) reportEnd() {
	t, seen := &s.report, &s.seen
	if t.ended || !s.watched() {
		return
	}
	t.ended = true
	if rank := s.rank(); rank > 0 {
		t.number(reportRank, float64(rank))
		if rank > 1 {
			t.text(reportEndpoint, t.ranked[rank-1].Name)
		}
	}
	if usage, reported := seen.usage.Usage(); reported {
		t.number(reportInput, float64(usage.PromptTokens))
		t.number(reportOutput, float64(usage.CompletionTokens))
		if seen.usage.CachedReported() {
			t.number(reportCached, float64(usage.CachedTokens))
		}
		s.reportUsage(usage)
	}
	if seen.firstByteAt != 0 {
		t.number(reportTTFT, float64(micros(seen.firstByteAt-s.decision.at))/1000)
	}
	s.publishReport()
}

// reportUsage tells what the plan's reporters make of the tokens that were used.
func (s *stream) reportUsage(usage openai.Usage) {
	reporters := s.config.Plan.Reporters()
	if len(reporters) == 0 {
		return
	}
	// Only here may it be moved to where it can be pointed to.
	all := usage
	for _, reporter := range reporters {
		if name, value := reporter.Report(&all, s.seen.usage.CachedReported()); value != 0 {
			s.report.number(name, value)
		}
	}
}

// rank is the place of the endpoint that answered among those that were chosen, from 1 on; 0 when none did.
func (s *stream) rank() int {
	switch {
	case s.seen.status == 0 || s.seen.ended != 0:
		return 0
	case s.seen.servedID == 0:
		return 1
	}
	for i, e := range s.report.ranked {
		if e != nil && s.pool.ID(e) == s.seen.servedID {
			return i + 1
		}
	}
	return 0
}

// publishReport gives Envoy the message. Nothing of the request depends on it.
func (s *stream) publishReport() { _ = hostcalls.SetProperty(propertyReport, s.report.message) }
