package reporters

import (
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
)

// requestAttributeReporter gives Envoy a number that is computed from the usage that the server reports for a request,
// such as its cost. It is a field of the message that access logs, traces and rate limits read as
// %CEL(filter_state['wasm.pintle']['NAME'])% when the answer has ended, next to the other fields there.
//
// Formula: expression, cut to a whole number; 0 is not reported. The expression may contain usage.prompt_tokens,
// usage.completion_tokens, usage.total_tokens, usage.prompt_tokens_details.cached_tokens (also prompt_token_details),
// numbers, true and false, has(), int(), double(), the operators ?:, ||, &&, !, ==, !=, <, <=, >, >=, +, -, *, / and %,
// and parentheses. Numbers are not whole: 1 / 2 is 0.5. prompt_tokens are all tokens of the prompt, even where a server
// reports the cached ones separately, as in Anthropic's API.
//
// Missing data: without a report of usage, where condition is not true, and where the expression needs what is missing,
// nothing is reported.
//
// Source: llm-d, request-attribute-reporter, in the Common Expression Language. There the number is dynamic metadata of
// Envoy in a namespace; a module cannot set any, so that the namespace has no effect here. There prompt_tokens lack the
// cached ones in Anthropic's API.
type requestAttributeReporter struct {
	name                  string
	expression, condition *node
}

//lint:ignore U1000 it documents the parameters: they nest deeper than a struct is read
type requestAttributeReporterParameters struct {
	// Attributes is a list of one: key {namespace, name}, expression, and condition, which is optional. Required.
	Attributes []struct{}
}

// NewRequestAttributeReporter builds a request-attribute-reporter.
func NewRequestAttributeReporter(b *scoring.Builder) scoring.Plugin {
	r := &requestAttributeReporter{}
	attributes := b.Objects("attributes")
	if len(attributes) != 1 {
		b.Mistake("attributes", "has "+strconv.Itoa(len(attributes))+" entries; one is right")
	}
	for _, o := range attributes {
		r.read(b, o)
	}
	return r
}

// mostName bounds names: Envoy's messages have room for a length of one byte.
const mostName = 63

func (r *requestAttributeReporter) read(b *scoring.Builder, o *strictjson.Object) {
	namespace, expression, condition := "envoy.lb", "", ""
	key := o.Object("key")
	key.String("namespace", &namespace)
	key.String("name", &r.name)
	key.Close()
	o.String("expression", &expression)
	o.String("condition", &condition)
	o.Close()
	switch {
	case r.name == "":
		key.Missing("name", "name the field")
	case len(r.name) > mostName:
		key.Mistake("name", strconv.Quote(r.name)+" is longer than "+strconv.Itoa(mostName)+" characters")
	default:
		b.Reports(r.name, func(taken string) { key.Mistake("name", taken) })
	}
	r.expression = parseIn(o, "expression", expression)
	if strings.TrimSpace(expression) == "" {
		o.Missing("expression", "write what is told, such as usage.total_tokens")
	}
	if condition != "" {
		r.condition = parseIn(o, "condition", condition)
	}
	b.Warn("key.namespace has no effect: " + r.name + " is told as filter_state['wasm.pintle']['" + r.name + "']")
}

func parseIn(o *strictjson.Object, key, text string) *node {
	n, err := parse(text)
	if err != "" && strings.TrimSpace(text) != "" {
		o.Mistake(key, strconv.Quote(text)+" "+err)
	}
	return n
}

// Report implements scoring.Reporter.
func (r *requestAttributeReporter) Report(u *openai.Usage, cachedReported bool) (name string, value float64) {
	v := variables{u, cachedReported}
	if r.condition != nil {
		if is, ok := r.condition.eval(&v); !ok || !is.isBool || is.number == 0 {
			return r.name, 0
		}
	}
	result, ok := r.expression.eval(&v)
	if !ok || result.isBool || result.number != result.number {
		return r.name, 0
	}
	return r.name, float64(int64(min(max(result.number, -mostValue), mostValue)))
}

// mostValue is up to where whole numbers are exact.
const mostValue = 1 << 53
