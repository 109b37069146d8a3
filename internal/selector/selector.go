// Package selector reads how configurations name metrics: as PromQL's instant selectors, which compare labels by =
// only. The filter's document and the sidecar read them here, so that what one takes the other takes, too.
package selector

import "strings"

// Match is a label and the value that it has to have.
type Match struct{ Name, Value string }

// Parse reads a metric's name, or name{label="value",other=value}; problem says what is wrong, empty for nothing.
func Parse(text string) (metric string, matches []Match, problem string) {
	metric, rest, braces := strings.Cut(strings.TrimSpace(text), "{")
	metric = strings.TrimSpace(metric)
	if !isName(metric) {
		return "", nil, "names no metric"
	}
	if !braces {
		return metric, nil, ""
	}
	rest, closed := strings.CutSuffix(strings.TrimSpace(rest), "}")
	if !closed {
		return "", nil, "has no closing brace"
	}
	for pair := range strings.SplitSeq(rest, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, equal := strings.Cut(pair, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !equal || !isName(name) || strings.HasPrefix(value, "~") {
			return "", nil, "has a matcher other than label=value"
		}
		value, sound := unquote(value)
		if !sound {
			return "", nil, "has a value with a quote, comma, brace or backslash"
		}
		matches = append(matches, Match{name, value})
	}
	return metric, matches, ""
}

// unquote takes off a value's quotes, of which PromQL knows three kinds, if it has any.
func unquote(value string) (inner string, sound bool) {
	const quotes = "\"'`"
	if value == "" || strings.IndexByte(quotes, value[0]) < 0 {
		return value, !strings.ContainsAny(value, quotes+`\{}`)
	}
	quote := value[:1]
	inner, closed := strings.CutSuffix(value[1:], quote)
	return inner, closed && !strings.ContainsAny(inner, quote+`"\{}`)
}

func isName(name string) bool {
	for i := range len(name) {
		if c := name[i]; !IsNameByte(c) && c != ':' || i == 0 && c >= '0' && c <= '9' {
			return false
		}
	}
	return name != ""
}

// IsNameByte reports whether c may stand in a label's name, and but for colons in a metric's.
func IsNameByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
