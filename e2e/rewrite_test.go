package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/snapshot"
)

const rewriteHeader = "X-Gateway-Model-Name-Rewrite"

var rewrites = []snapshot.Rewrite{
	{Models: []string{"m"}, Targets: []snapshot.RewriteTarget{{Model: "m-v1", Weight: 90},
		{Model: "m-v2", Weight: 10}}},
	{Models: []string{"longer", "l\"o\"nger"}, Targets: []snapshot.RewriteTarget{{Model: longModel, Weight: 1}}},
	{Models: []string{"odd"}, Targets: []snapshot.RewriteTarget{{Model: oddModel, Weight: 1}}},
	{Models: []string{"a-model-that-becomes-shorter"}, Targets: []snapshot.RewriteTarget{{Model: "s", Weight: 1}}},
	{Models: []string{"same-"}, Targets: []snapshot.RewriteTarget{{Model: "same-", Weight: 1}}},
}

// publishRewrites makes sim-0 the best and publishes the rules.
func (f *fixture) publishRewrites(t *testing.T) {
	t.Helper()
	f.PublishWith(t, snapshot.Topology{Rewrites: rewrites}, f.pool("sim-0")...)
}

// TestRewriteShares: a rule's targets get their shares.
func TestRewriteShares(t *testing.T) {
	const requests = 300
	body := strings.Replace(chatBody, "sim-model", "m", 1)
	inCells(t, func(t *testing.T, f *fixture) {
		f.publishRewrites(t)
		clients := []*http.Client{harness.Client(t, false), harness.Client(t, true)}
		counts := map[string]int{}
		for i := range requests {
			got := harness.Send(t, clients[i%2],
				harness.Request(t, http.MethodPost, f.URL("requests", chatPath), body, false))
			wantServer(t, got, "sim-0")
			counts[modelOf(t, got.Body)]++
		}
		if n := counts["m-v2"]; n < 6 || n > 60 || counts["m-v1"] != requests-n {
			t.Errorf("got %v, want about 270 for m-v1 and 30 for m-v2", counts)
		}
	})
}

// modelOf is the model that a JSON text names.
func modelOf(t testing.TB, text string) string {
	t.Helper()
	var named struct{ Model string }
	if err := json.Unmarshal([]byte(text), &named); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return named.Model
}

// TestRewriteHeaderGivesWayToRules: a model that a rule rewrites stays rewritten, whatever header a client adds.
func TestRewriteHeaderGivesWayToRules(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		f.publishRewrites(t)
		body := strings.Replace(chatBody, "sim-model", "longer", 1)
		for _, header := range []string{"s", "odd", "sim-model"} {
			_, r := f.sendTo(t, "requests", chatPath, body, false, rewriteHeader, header)
			if got := modelOf(t, r.Body); got != longModel {
				t.Errorf("header %s: the server was asked for %s, want %s", header, got, longModel)
			}
		}
	})
}

// TestRewriteHeader: the header names the model to ask for; a rule for that name still applies.
func TestRewriteHeader(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		f.publishRewrites(t)
		for name, want := range map[string]string{"m-v2": "m-v2", "longer": longModel, "sim-model": "sim-model",
			"s": "s"} {
			for _, http2 := range []bool{false, true} {
				_, r := f.sendTo(t, "requests", chatPath, chatBody, http2, rewriteHeader, name)
				if got := strings.Replace(chatBody, "sim-model", want, 1); r.Body != got {
					t.Errorf("%s: server received %s, want %s", name, r.Body, got)
				}
			}
		}
	})
}

// shapes are bodies of all kinds. MODEL stands for the model as JSON, TEXT for the prompt.
var shapes = []struct{ name, body string }{
	{"first", `{"model":MODEL,"max_tokens":2,"messages":[{"role":"user","content":"TEXT"}]}`},
	{"last", `{"messages":[{"role":"user","content":"TEXT"}],"max_tokens":2,"model":MODEL}`},
	{"spaces", " {\r\n\t\"model\" :\n  MODEL  ,\"max_tokens\": 2,\n" +
		"\"seed\": 9007199254740993, \"messages\":[{\"role\":\"user\",\"content\":\"TEXT\"}] } \n"},
	{"escaped key", `{"max_tokens":2,"\u006dod\u0065l":MODEL,"messages":[{"role":"user","content":"TEXT\u00e9\/é😀"}]}`},
	{"twice", `{"model":"sim-model","max_tokens":2,"messages":[{"role":"user","content":"TEXT"}],"model":MODEL}`},
	{"decoys", `{"metadata":{"model":"longer"},
		"messages":[{"role":"user","content":"\"model\":\"longer\" TEXT","model":"odd"}],"model":MODEL,"max_tokens":2}`},
}

// renames are models as JSON may write them, and what they become.
var renames = []struct{ from, to string }{
	{`"longer"`, longModel}, {`"a-model-that-becomes-shorter"`, "s"}, {`"odd"`, oddModel},
	{`"\u006c\u006Fnger"`, longModel}, {`"l\"o\u0022nger"`, longModel},
}

// passage is a way for a body to travel.
type passage struct {
	name                             string
	http2, chunked, trailers, expect bool
}

var passages = []passage{
	{name: "http1"}, {name: "http1 chunked", chunked: true}, {name: "http1 trailers", chunked: true, trailers: true},
	{name: "http1 expect", expect: true}, {name: "http2", http2: true},
	{name: "http2 chunked", http2: true, chunked: true},
	{name: "http2 trailers", http2: true, chunked: true, trailers: true},
}

// TestRewriteBody: a rewrite changes the bytes of the model's name and no others, and the length is that of what
// arrives.
func TestRewriteBody(t *testing.T) {
	inCellsAtOnce(t, func(t *testing.T, f *fixture) {
		f.publishRewrites(t)
		for _, passage := range passages {
			client := harness.Client(t, passage.http2)
			for i, shape := range shapes {
				for j, rename := range renames {
					sizes := []int{10, 300_000}
					if (i+j)%3 != 0 {
						sizes = sizes[:1] // a third of the long ones will do
					}
					for _, size := range sizes {
						text := strings.Replace(shape.body, "TEXT", strings.Repeat("all work ", size/9+1), 1)
						body := strings.Replace(text, "MODEL", rename.from, 1)
						want := strings.Replace(text, "MODEL", string(openai.AppendQuoted(nil, rename.to)), 1)
						what := fmt.Sprintf("%s, model %s as %s, %d bytes", passage.name, shape.name, rename.from,
							len(body))
						if got := modelOf(t, want); got != rename.to {
							t.Fatalf("%s: the test expects the model %q, not %q", what, got, rename.to)
						}
						f.wantArrival(t, what, passage, f.carry(t, client, passage, body), want)
					}
				}
			}
		}
	})
}

// TestNoRewrite: where rules exist but none is for the model, or the target is the same name, the body arrives as it
// was sent.
func TestNoRewrite(t *testing.T) {
	inCellsAtOnce(t, func(t *testing.T, f *fixture) {
		f.publishRewrites(t)
		for _, passage := range passages {
			client := harness.Client(t, passage.http2)
			for _, shape := range shapes {
				for _, model := range []string{`"sim-model"`, `"\u0073im-model"`} {
					for _, size := range []int{10, 300_000} {
						body := strings.Replace(shape.body, "TEXT", strings.Repeat("all work ", size/9+1), 1)
						body = strings.Replace(body, "MODEL", model, 1)
						what := fmt.Sprintf("%s, model %s as %s, %d bytes", passage.name, shape.name, model, len(body))
						f.wantArrival(t, what, passage, f.carry(t, client, passage, body), body)
					}
				}
			}
		}
	})
}

// carry sends a body in a passage and returns what sim-0 received.
func (f *fixture) carry(t *testing.T, client *http.Client, p passage, body string) sim.Received {
	t.Helper()
	return f.carryTo(t, "requests", "", client, p, body)
}

// carryTo is carry to another listener, of a team.
func (f *fixture) carryTo(t *testing.T, listener, team string, client *http.Client, p passage,
	body string) sim.Received {
	t.Helper()
	request := harness.Request(t, http.MethodPost, f.URL(listener, chatPath), body, p.chunked)
	if team != "" {
		request.Header.Set("X-Team", team)
	}
	if p.trailers {
		request.Trailer = http.Header{"X-Checksum": {"abc"}}
	}
	continued := false
	if p.expect {
		request.Header.Set("Expect", "100-continue")
		trace := &httptrace.ClientTrace{Got100Continue: func() { continued = true }}
		request = request.WithContext(httptrace.WithClientTrace(context.Background(), trace))
	}
	wantServer(t, harness.Send(t, client, request), "sim-0")
	if continued != p.expect {
		t.Errorf("%s: got 100 Continue: %v", p.name, continued)
	}
	received := f.received("sim-0")
	return received[len(received)-1]
}

// wantArrival checks the body that a server received and the length that it was told.
func (f *fixture) wantArrival(t *testing.T, what string, p passage, r sim.Received, want string) {
	t.Helper()
	if r.BodySHA256 != sha(want) {
		t.Fatalf("%s: server received %d bytes %.400q, want %d bytes %.400q", what, r.BodyBytes, r.Body, len(want),
			want)
	}
	lengths := []string{strconv.Itoa(len(want))}
	if p.chunked && !f.Cell.Buffer() {
		lengths = nil // Envoy's buffer filter states the length of what it holds
	}
	if got := r.Headers["content-length"]; !slices.Equal(got, lengths) {
		t.Errorf("%s: server received content-length %q, want %q", what, got, lengths)
	}
	if f.Cell.Buffer() && !p.http2 {
		return // HTTP/1.1 has no trailers beside a content-length
	}
	if got := r.Trailers["x-checksum"]; p.trailers && !slices.Equal(got, []string{"abc"}) {
		t.Errorf("%s: server received the trailer x-checksum %q, want abc", what, got)
	}
}
