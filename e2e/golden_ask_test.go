package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/pintle-dev/pintle/internal/explain"
	"github.com/pintle-dev/pintle/internal/harness"
)

// ask sends a request, and says what is not as it should be.
func (c goldenCase) ask(ctx context.Context, t *testing.T, g *goldens, q explain.Request,
	want *explain.Explanation) string {
	t.Helper()
	request := goldenRequest(t, g, c.Name, q).WithContext(ctx)
	response, err := harness.Client(t, false).Do(request)
	if err != nil {
		return err.Error()
	}
	if want.Error != nil {
		body, _ := io.ReadAll(response.Body)
		if reason := response.Header.Get("x-pintle-reason"); response.StatusCode != want.Error.Status ||
			reason != want.Error.Reason {
			return fmt.Sprintf("got %d %s %s, want %+v", response.StatusCode, reason, body, *want.Error)
		}
		return ""
	}
	if reason := response.Header.Get("x-pintle-reason"); response.StatusCode != http.StatusOK {
		return fmt.Sprintf("got %d %s, want 200", response.StatusCode, reason)
	}
	upstream := <-g.arrived
	var all []string
	if want.Primary != "" {
		all = c.steps(response.Header.Get("x-pintle-explain"), want)
	}
	if !c.byChance(want) {
		all = append(all, goldenHeaders(upstream, response.Header, want)...)
	}
	body, _ := io.ReadAll(upstream.Body)
	if model := gjson.GetBytes(body, "model").String(); want.Model != "" && model != "" && model != want.Model {
		all = append(all, fmt.Sprintf("got model %q, want %q", model, want.Model))
	}
	return strings.Join(all, "\n")
}

// goldenRequest is a request as explain takes it: without a path the body tells the API.
func goldenRequest(t *testing.T, g *goldens, listener string, q explain.Request) *http.Request {
	t.Helper()
	path, method := "/v1/chat/completions", http.MethodPost
	for _, guess := range [][2]string{{"messages", path}, {"prompt", "/v1/completions"}, {"input", "/v1/responses"},
		{"documents", "/v1/rerank"}} {
		if gjson.GetBytes(q.Body, guess[0]).Exists() {
			path = guess[1]
			break
		}
	}
	if given := q.Headers[":path"]; given != "" {
		path = given
	}
	if given := q.Headers[":method"]; given != "" {
		method = given
	}
	request := harness.Request(t, method, g.URL(listener, path), string(q.Body), false)
	for name, value := range q.Headers {
		if !strings.HasPrefix(name, ":") {
			request.Header.Set(name, g.addresses.Replace(value))
		}
	}
	return request
}

// steps are what is not the same in the steps of a decision.
func (c goldenCase) steps(header string, want *explain.Explanation) (wrong []string) {
	var e explanation
	if err := json.Unmarshal([]byte(header), &e); err != nil {
		return []string{fmt.Sprintf("x-pintle-explain is %q: %v", header, err)}
	}
	got, wanted := &verdict{steps: map[string]float64{}}, &verdict{steps: map[string]float64{}}
	for _, step := range append(e.Scores, e.FilteredOut...) {
		score := -1.0
		if len(step) == 4 {
			score, _ = step[3].(float64)
		}
		name, _ := step[1].(string)
		got.steps[fmt.Sprint(step[0], " ", strings.TrimPrefix(name, c.prefix()), " ", step[2])] = score
	}
	for name, p := range want.Profiles {
		wanted.profile(name, p)
	}
	within := digits
	if c.computes() {
		within = 0.1 // of what is in flight less is left with time
	}
	if difference := got.differs(wanted, within); difference != "" {
		wrong = append(wrong, difference)
	}
	return wrong
}

// chance is what chooses by chance.
var chance = regexp.MustCompile(`type: (random|power-of-two|weighted-random)`)

// byChance reports whether the case goes another way than explain's seed has it go.
func (c goldenCase) byChance(want *explain.Explanation) bool {
	if chance.MatchString(c.Config) || want.Primary == "" {
		return true
	}
	for _, p := range want.Profiles {
		totals := slices.Sorted(maps.Values(p.Totals))
		for i := 1; i < len(totals); i++ {
			if math.Abs(totals[i]-totals[i-1]) < 1e-9 {
				return true
			}
		}
	}
	return false
}

// goldenHeaders are the headers that are not as they should be.
func goldenHeaders(upstream *http.Request, response http.Header, want *explain.Explanation) (wrong []string) {
	differ := func(name, got, want string) {
		if got != want {
			wrong = append(wrong, fmt.Sprintf("got %s: %q, want %q", name, got, want))
		}
	}
	differ("destination", upstream.Header.Get("x-gateway-destination-endpoint"), strings.Join(want.Destination, ","))
	for name, value := range want.RequestHeaders {
		differ(name, upstream.Header.Get(name), value)
	}
	for name, value := range want.ResponseHeaders {
		differ(name, response.Get(name), value)
	}
	return wrong
}
