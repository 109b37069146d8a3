package main

import (
	"strconv"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
)

// headerExplain carries the decision in a response header, with debug on.
const headerExplain = "x-pintle-explain"

// mostExplained bounds how many scores the header lists, as proxies bound the size of headers.
const mostExplained = 64

// explainer writes the steps of a decision as one line of JSON.
type explainer struct {
	scores, filtered []byte
	// mix is what several profiles came to together, empty when one decided.
	mix []byte
	// selection is how the model was chosen, empty when the request's model is not a virtual one.
	selection []byte
	listed    int
}

// FilteredOut implements scoring.Tracer.
func (x *explainer) FilteredOut(profile string, e *scoring.Endpoint, filter string) {
	x.list(&x.filtered, profile, e, filter, -1)
}

// Scored implements scoring.Tracer.
func (x *explainer) Scored(profile, scorer string, candidates []*scoring.Endpoint, scores []float64) {
	for i, e := range candidates {
		x.list(&x.scores, profile, e, scorer, scores[i])
	}
}

// Mixed implements scoring.Tracer. It writes [[endpoint, total], ...].
func (x *explainer) Mixed(m *scoring.Mixture) {
	for _, ranked := range m.Totals {
		if x.listed++; x.listed > mostExplained {
			continue
		}
		if len(x.mix) > 0 {
			x.mix = append(x.mix, ',')
		}
		x.mix = append(openai.AppendQuoted(append(x.mix, '['), ranked.Endpoint.Name), ',')
		x.mix = append(strconv.AppendFloat(x.mix, ranked.Total, 'g', 4, 64), ']')
	}
}

// Total implements scoring.Tracer. Totals follow from the scores.
func (x *explainer) Total(string, []*scoring.Endpoint, []float64) {}

// Picked implements scoring.Tracer. The header gets what was picked from the decision itself.
func (x *explainer) Picked(string, *scoring.Endpoint) {}

// ModelSelected implements scoring.Tracer. It writes [decision, model, reason, [[model, score or what removed it],
// ...]].
func (x *explainer) ModelSelected(s *scoring.Selection) {
	x.selection = append(x.selection, '[')
	for _, text := range []string{s.Decision, s.Model, s.Reason} {
		x.selection = append(openai.AppendQuoted(x.selection, text), ',')
	}
	x.selection = append(x.selection, '[')
	for i := range s.Models {
		if x.listed++; x.listed > mostExplained {
			continue
		}
		if i > 0 {
			x.selection = append(x.selection, ',')
		}
		o := &s.Models[i]
		x.selection = append(openai.AppendQuoted(append(x.selection, '['), o.Model), ',')
		if o.Removed != "" {
			x.selection = openai.AppendQuoted(x.selection, o.Removed)
		} else {
			x.selection = strconv.AppendFloat(x.selection, o.Score, 'g', 4, 64)
		}
		x.selection = append(x.selection, ']')
	}
	x.selection = append(x.selection, ']', ']')
}

// list appends [profile, endpoint, plug-in] or [profile, endpoint, plug-in, score].
func (x *explainer) list(dst *[]byte, profile string, e *scoring.Endpoint, plugin string, score float64) {
	if x.listed++; x.listed > mostExplained {
		return
	}
	if len(*dst) > 0 {
		*dst = append(*dst, ',')
	}
	*dst = append(*dst, '[')
	*dst = openai.AppendQuoted(*dst, profile)
	*dst = append(*dst, ',')
	*dst = openai.AppendQuoted(*dst, e.Name)
	*dst = append(*dst, ',')
	*dst = openai.AppendQuoted(*dst, plugin)
	if score >= 0 {
		*dst = append(*dst, ',')
		*dst = strconv.AppendFloat(*dst, score, 'g', 4, 64)
	}
	*dst = append(*dst, ']')
}

// appendPredictions appends what was predicted for each endpoint, [endpoint, milliseconds to the first token,
// milliseconds for each further one].
func appendPredictions(dst []byte, predictions []scoring.Prediction) []byte {
	if len(predictions) == 0 {
		return dst
	}
	dst = append(dst, `,"predicted":[`...)
	for i := range predictions[:min(len(predictions), mostExplained)] {
		p := &predictions[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(openai.AppendQuoted(append(dst, '['), p.Endpoint.Name), ',')
		dst = append(strconv.AppendInt(dst, int64(p.TTFT*1e3+0.5), 10), ',')
		dst = append(strconv.AppendInt(dst, int64(p.TPOT*1e3+0.5), 10), ']')
	}
	return append(dst, ']')
}

// trace has the next decision explained, with debug on.
func (s *stream) trace() {
	if s.config.Debug {
		s.cycle.Tracer = &explainer{}
	}
}

// endTrace keeps the explanation for the response.
func (s *stream) endTrace(picked []*scoring.Endpoint) {
	x, ok := s.cycle.Tracer.(*explainer)
	if !ok {
		return
	}
	s.cycle.Tracer = nil
	line := []byte(`{"picked":[`)
	for i, e := range picked {
		if i > 0 {
			line = append(line, ',')
		}
		line = openai.AppendQuoted(line, e.Name)
	}
	if line = append(line, ']'); len(x.selection) > 0 {
		line = append(append(line, `,"selection":`...), x.selection...)
	}
	if len(x.mix) > 0 {
		line = append(append(append(line, `,"mix":[`...), x.mix...), ']')
	}
	line = append(append(line, `,"scores":[`...), x.scores...)
	line = append(append(line, `],"filteredOut":[`...), x.filtered...)
	line = append(line, `],"omitted":`...)
	line = strconv.AppendInt(line, int64(max(x.listed-mostExplained, 0)), 10)
	line = s.appendPrefix(appendPredictions(line, s.cycle.Predictions()))
	s.explain = string(append(line, '}'))
}
