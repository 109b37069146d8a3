package filters

import (
	"strings"

	"github.com/pintle-dev/pintle/scoring"
)

// headerBasedTestingFilter keeps the endpoints that a request header names, in its order: test-epp-endpoint-selection
// lists addresses, each ip or ip:port, separated by commas. An ip alone stands for the first endpoint that has it. It
// is for conformance tests, not for production: it lets clients choose their server.
//
// Missing data: without the header, or where it names none of the candidates, no endpoint is left.
//
// Source: Gateway API Inference Extension and llm-d, header-based-testing-filter.
type headerBasedTestingFilter struct{ header scoring.HeaderKey }

// headerSelection lists the addresses.
const headerSelection = "test-epp-endpoint-selection"

// NewHeaderBasedTestingFilter builds a header-based-testing-filter. It has no parameters.
func NewHeaderBasedTestingFilter(b *scoring.Builder) scoring.Plugin {
	b.Warn("lets clients choose their server by the header " + headerSelection + "; it is for tests")
	return headerBasedTestingFilter{b.RequestHeader(headerSelection)}
}

// Select implements scoring.GroupFilter.
func (f headerBasedTestingFilter) Select(c *scoring.Cycle, candidates []*scoring.Endpoint) int {
	n := 0
	for rest := c.Request.Header(f.header); rest != ""; {
		var entry string
		entry, rest, _ = strings.Cut(rest, ",")
		entry = strings.TrimSpace(entry)
		for i := n; i < len(candidates); i++ {
			if e := candidates[i]; entry != "" && (e.Address == entry || e.Host() == entry) {
				copy(candidates[n+1:i+1], candidates[n:i])
				candidates[n] = e
				n++
				break
			}
		}
	}
	return n
}
