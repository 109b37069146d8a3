package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/journal"
)

// ledger counts requests by what is told of them.
type ledger struct {
	mu sync.Mutex
	// lines are requests by model, endpoint, profile, rank and tokens, or why they were refused.
	lines map[string]int
	all   int
	// ttft is the sum of times to the first token, in milliseconds.
	ttft float64
}

// add leaves out what tests find out by whether workers know of followers: not all of it is told.
func (l *ledger) add(line string, ttft float64) {
	if line == "refused "+probed {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines == nil {
		l.lines = map[string]int{}
	}
	l.lines[line]++
	l.all++
	l.ttft += ttft
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

// Take implements follow.Sink.
func (l *ledger) Take(e *follow.Event) {
	switch e.Kind {
	case journal.Refused:
		l.add("refused "+e.Names.Of(journal.ReasonName, e.Reason), 0)
	case journal.Completion:
		line := fmt.Sprint(e.Names.Of(journal.ModelName, e.Asked), " at ", e.Names.Endpoint(e.Primary), " by ",
			e.Names.Of(journal.ProfileName, e.Profile))
		if e.UsageReported {
			line += fmt.Sprintf(", %d %d %d", e.InputTokens, e.OutputTokens, e.CachedTokens)
		}
		if e.Tried != 0 {
			line += ", second"
		}
		l.add(line, float64(e.TTFTMicros)/1000)
	}
}

// Caught implements follow.Sink.
func (l *ledger) Caught(string, journal.Position) {}

// addNamed adds what a log line or a span tells.
func (l *ledger) addNamed(of map[string]string) {
	if reason := of["error.type"]; reason != "" {
		l.add("refused "+reason, 0)
		return
	}
	line := fmt.Sprint(of["gen_ai.request.model"], " at ", of["pintle.endpoint"], " by ", of["pintle.profile"])
	if of["gen_ai.usage.input_tokens"] != "" {
		line += fmt.Sprintf(", %s %s %s", of["gen_ai.usage.input_tokens"], of["gen_ai.usage.output_tokens"],
			of["gen_ai.usage.cache_read.input_tokens"])
	}
	if rank, _ := strconv.Atoi(of["pintle.rank"]); rank > 1 {
		line += ", second"
	}
	ttft, _ := strconv.ParseFloat(of["pintle.ttft_ms"], 64)
	l.add(line, ttft)
}

// collector is an OTLP receiver over HTTP.
type collector struct {
	ledger
	names map[string]bool
}

// ServeHTTP implements http.Handler. The body is an ExportTraceServiceRequest, which is encoded as a TracesData.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var data tracev1.TracesData
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &data) != nil {
		http.Error(w, "no traces", http.StatusBadRequest)
		return
	}
	for _, resource := range data.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				c.span(span)
			}
		}
	}
}

func (c *collector) span(s *tracev1.Span) {
	of := map[string]string{}
	for _, a := range s.Attributes {
		if text, ok := a.Value.GetValue().(*commonv1.AnyValue_StringValue); ok {
			of[a.Key] = text.StringValue
			if text.StringValue == "-" || text.StringValue == "" {
				delete(of, a.Key)
			}
		}
	}
	if !strings.HasPrefix(of["http.url"], "http://gateway/") { // readiness and warm-up
		return
	}
	c.addNamed(of)
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range of {
		c.names[name] = true
	}
}

// sendMixed sends answers as a whole and as streams, and some that the client leaves, that are no JSON, or that no
// server takes.
func sendMixed(t *testing.T, url string, requests, clients int) {
	t.Helper()
	var running sync.WaitGroup
	for c := range clients {
		running.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for i := c; i < requests; i += clients {
				sendOne(client, url, i)
			}
		})
	}
	running.Wait()
}

func sendOne(client *http.Client, url string, i int) {
	body := fmt.Sprintf(`{"model":"m-v2","max_tokens":%d,"messages":[{"role":"user","content":%q}]`, 1+i%7,
		strings.Repeat(fmt.Sprint(i%5, " hello "), 10*(i%5)+1))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	switch i % 10 {
	case 0, 1, 2, 3:
		body += `}`
	case 4, 5, 6:
		body += `,"stream":true,"stream_options":{"include_usage":true}}`
	case 7: // left after its first event
		body = strings.Replace(body, `"max_tokens":`, `"stream":true,"max_tokens":9`, 1) + `}`
	case 8: // not JSON
	default: // the server does not take it
		body += `,"n":3}`
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return
	}
	request.Host = "gateway"
	response, err := client.Do(request)
	if err != nil {
		return
	}
	defer response.Body.Close()
	if i%10 == 7 {
		_, _ = bufio.NewReader(response.Body).ReadString('\n')
		return
	}
	_, _ = io.Copy(io.Discard, response.Body)
}
