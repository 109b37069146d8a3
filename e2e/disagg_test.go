package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
)

const roleLabel = "mif.moreh.io/role"

// roles is a pool in which the servers have roles in their order. All have equal queues.
func (f *fixture) roles(roles ...string) []harness.Endpoint {
	var endpoints []harness.Endpoint
	for i, role := range roles {
		s := f.servers[i]
		endpoints = append(endpoints,
			harness.Endpoint{Name: s.Name, Address: s.Address, Labels: map[string]string{roleLabel: role}})
	}
	return endpoints
}

// addressesOf are the addresses of endpoints with a role.
func addressesOf(endpoints []harness.Endpoint, role string) []string {
	var addresses []string
	for _, e := range endpoints {
		if e.Labels[roleLabel] == role {
			addresses = append(addresses, e.Address)
		}
	}
	return addresses
}

// completion is a request whose prompt has so many characters, which is four for a token.
func completion(characters int) string {
	return fmt.Sprintf(`{"model":%q,"max_tokens":2,"prompt":%q}`, textModel, strings.Repeat("x", characters))
}

// textModel gets texts alone, of which 4 bytes are a token. How many tokens a byte makes is learnt by model, for all
// configurations, and with the templates of short chats it is more of them.
const textModel = "text-model"

// sendTo sends one request with headers, each a name and a value, and returns the answer and what the server received.
func (f *fixture) sendTo(t *testing.T, listener, path, body string, http2 bool,
	headers ...string) (harness.Answer, sim.Received) {
	t.Helper()
	request := harness.Request(t, http.MethodPost, f.URL(listener, path), body, false)
	for i := 0; i < len(headers); i += 2 {
		request.Header[http.CanonicalHeaderKey(headers[i])] = append(request.Header.Values(headers[i]), headers[i+1])
	}
	got := harness.Send(t, harness.Client(t, http2), request)
	if got.Status != http.StatusOK {
		t.Fatalf("%s at %s: got %d from %q: %s", path, listener, got.Status, got.Server(), got.Body)
	}
	received := f.received(got.Server())
	return got, received[len(received)-1]
}

// wantStage checks the header that names the servers of a stage: n of the addresses, each once, and no header when n is
// 0.
func wantStage(t testing.TB, what string, r sim.Received, header string, addresses []string, n int) {
	t.Helper()
	values, there := r.Headers[header]
	if n == 0 {
		if there {
			t.Errorf("%s: server received %s: %q, want no such header", what, header, values)
		}
		return
	}
	if len(values) != 1 {
		t.Fatalf("%s: server received %s: %q, want one header", what, header, values)
	}
	named := strings.Split(values[0], ",")
	slices.Sort(named)
	if len(named) != n || len(slices.Compact(named)) != n {
		t.Errorf("%s: server received %s: %q, want %d different addresses", what, header, values[0], n)
	}
	for _, address := range named {
		if !slices.Contains(addresses, address) {
			t.Errorf("%s: server received %s: %q, want of %q only", what, header, values[0], addresses)
		}
	}
}

// TestCanonicalDisaggregation: prompts of 16 tokens and more get a prefill server, which the decode server is told;
// shorter ones get none.
func TestCanonicalDisaggregation(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		pool := f.roles("prefill", "prefill", "decode", "decode")
		f.Publish(t, pool...)
		prefills, decoders := map[string]bool{}, map[string]bool{}
		for i := range 24 {
			for _, characters := range []int{1, 63, 64, 5000} {
				what, n := fmt.Sprintf("%d characters", characters), 0
				if characters/4 >= 16 {
					n = 1
				}
				got, r := f.sendTo(t, "canonical", "/v1/completions", completion(characters), i%2 == 1)
				if !slices.Contains([]string{"sim-2", "sim-3"}, got.Server()) {
					t.Fatalf("%s: got an answer of %s, want one of a decode server", what, got.Server())
				}
				decoders[got.Server()] = true
				wantStage(t, what, r, stageHeaders[0], addressesOf(pool, "prefill"), n)
				wantStage(t, what, r, stageHeaders[1], nil, 0)
				prefills[strings.Join(r.Headers[stageHeaders[0]], " ")] = true
			}
		}
		if len(decoders) != 2 || len(prefills) != 3 {
			t.Errorf("decode servers %v, prefill servers %v; want both of each, and none", decoders, prefills)
		}
		f.Publish(t, pool[2:]...)
		_, r := f.sendTo(t, "canonical", "/v1/completions", completion(100), false)
		wantStage(t, "no prefill server", r, stageHeaders[0], nil, 0)
	})
}

// withImage is a chat request with an image and so much text.
func withImage(characters int) string {
	return fmt.Sprintf(
		`{"model":"sim-model","max_tokens":2,"messages":[{"role":"user","content":[{"type":"text","text":%q},
		{"type":"image_url","image_url":{"url":"https://example.com/cat.png"}}]}]}`, strings.Repeat("x", characters))
}

// TestMultimodalDisaggregation: requests with an image get encode servers too, under the usual and under other names.
func TestMultimodalDisaggregation(t *testing.T) {
	chat := strings.Replace(chatBody, "hello", strings.Repeat("x", 64), 1)
	tests := []struct {
		name, body      string
		prefill, encode int
	}{
		{"short text", chatBody, 0, 0}, {"long text", chat, 1, 0}, {"image", withImage(10), 0, 2},
		{"image and long text", withImage(64), 1, 2},
		{"short again", chatBody, 0, 0},
	}
	inCells(t, func(t *testing.T, f *fixture) {
		pool := f.roles("prefill", "both", "decode")
		for _, address := range f.dead {
			pool = append(pool,
				harness.Endpoint{Name: address, Address: address, Labels: map[string]string{roleLabel: "encode"}})
		}
		f.Publish(t, pool...)
		for listener, names := range map[string][]string{"multimodal": stageHeaders, "custom": customHeaders} {
			for _, test := range tests {
				for _, http2 := range []bool{false, true} {
					what := listener + ", " + test.name
					got, r := f.sendTo(t, listener, chatPath, test.body, http2, names[0], forgedStage, names[1],
						forgedStage)
					wantStage(t, what, r, names[0], addressesOf(pool, "prefill"), test.prefill)
					wantStage(t, what, r, names[1], addressesOf(pool, "encode"), test.encode)
					if sha(test.body) != r.BodySHA256 {
						t.Errorf("%s: the server received another body", what)
					}
					f.wantResponseHeaders(t, what, got, f.address(got.Server()), strings.Join(r.Headers[names[0]], " "))
				}
			}
		}
	})
}

// address is that of a named server.
func (f *fixture) address(name string) string {
	for _, s := range f.servers {
		if s.Name == name {
			return s.Address
		}
	}
	return ""
}

// wantResponseHeaders checks what response-header-handler tells the client. An empty prefiller is no header.
func (f *fixture) wantResponseHeaders(t testing.TB, what string, got harness.Answer, decoder, prefiller string) {
	t.Helper()
	if values := got.Header.Values("X-Decoder-Host-Port"); !slices.Equal(values, []string{decoder}) {
		t.Errorf("%s: got x-decoder-host-port %q, want %q", what, values, decoder)
	}
	values := got.Header.Values("X-Prefiller-Host-Port")
	if prefiller == "" && len(values) != 0 || prefiller != "" && !slices.Equal(values, []string{prefiller}) {
		t.Errorf("%s: got x-prefiller-host-port %q, want %q", what, values, prefiller)
	}
}

// TestForgedStages: a client cannot tell a server of a stage, with whatever request.
func TestForgedStages(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		f.Publish(t, f.roles("prefill", "encode", "decode", "decode")...)
		for listener, names := range map[string][]string{
			"canonical": stageHeaders, "multimodal": stageHeaders, "custom": customHeaders,
			"ranks": slices.Concat(rankHeaders, bootstrapHeaders, stageHeaders),
		} {
			var lines strings.Builder
			for _, name := range names {
				for _, spelling := range []string{name, strings.ToUpper(name), http.CanonicalHeaderKey(name)} {
					fmt.Fprintf(&lines, "%s: %s\r\n", spelling, forgedStage)
				}
			}
			f.wantNotForged(t, listener, lines.String(), names)
			f.wantNotForged(t, listener, lines.String()+"connection: "+strings.Join(names, ", ")+"\r\n", names)
		}
	})
}

// forgedStage is the address in forged headers of stages.
const forgedStage = "6.6.6.6:6"

// wantNotForged sends requests of all kinds with the lines and checks that servers receive none of them.
func (f *fixture) wantNotForged(t *testing.T, listener, lines string, names []string) {
	t.Helper()
	served := 0
	for _, request := range append(slices.Clone(forgedRequests), forgedLong...) {
		f.forget(t)
		c := harness.Dial(t, f.Address(listener))
		c.Say(t, strings.ReplaceAll(request.text, "HEADERS", lines))
		c.Hear(t, request.method)
		for _, r := range f.received("") {
			served++
			for _, name := range names {
				if values, there := r.Headers[name]; there &&
					(len(values) != 1 || strings.Contains(values[0], forgedStage)) {
					t.Errorf("%s, %s: server received %s: %q", listener, request.name, name, values)
				}
			}
		}
	}
	if served < 8 {
		t.Errorf("%s: servers received %d of %d requests; most must reach one", listener, served,
			len(forgedRequests)+len(forgedLong))
	}
}

// forgedLong is a request that gets a prefill stage.
var forgedLong = []struct{ name, method, text string }{
	{"prefill", "POST", strings.Replace(post("/v1/completions", completion(100)), "content-length",
		"HEADERScontent-length", 1)},
}

// TestForgedStagesHTTP2 is the same with HTTP/2, where header names have one case.
func TestForgedStagesHTTP2(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		pool := f.roles("prefill", "encode", "decode", "decode")
		f.Publish(t, pool...)
		client := harness.Client(t, true)
		for listener, names := range map[string][]string{"canonical": stageHeaders, "custom": customHeaders} {
			for _, test := range []struct {
				method, path, body string
				prefill            int
			}{
				{http.MethodPost, "/v1/completions", completion(10), 0},
				{http.MethodPost, "/v1/completions", completion(100), 1},
				{http.MethodGet, "/v1/models/sim-model", "", 0}, {http.MethodPost, "/v2/what", "{}", 0},
			} {
				f.forget(t)
				request := harness.Request(t, test.method, f.URL(listener, test.path), test.body, false)
				for _, name := range names {
					request.Header[http.CanonicalHeaderKey(name)] = []string{forgedStage, "", forgedStage + "7"}
				}
				got := harness.Send(t, client, request)
				wantAnyServer(t, got)
				what := fmt.Sprintf("%s, %s %s", listener, test.method, test.path)
				wantStage(t, what, f.only(t, got.Server()), names[0], addressesOf(pool, "prefill"), test.prefill)
				wantStage(t, what, f.only(t, got.Server()), names[1], nil, 0)
			}
		}
	})
}
