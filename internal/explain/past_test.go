package explain_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/explain"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/journal"
)

// readFleet reads a document of endpoints.
func readFleet(t *testing.T, text string, now int64) *explain.Fleet {
	t.Helper()
	fleet, err := explain.ReadEndpoints([]byte(text), now)
	if err != nil {
		t.Fatal(err)
	}
	return fleet
}

// TestPast: what the document says of earlier requests leaves the events that would have left it.
func TestPast(t *testing.T) {
	const now = int64(1_700_000_000_000_000_000)
	sampled, a := now-int64(time.Second), journal.EndpointID("a")
	const endpoint = `endpoints: [{name: a, address: "10.0.0.1:80", `
	load := func(at int64, lease, tokens uint32, streamed bool) journal.Event {
		return journal.Event{Kind: journal.Decision, Time: at, Instance: 1, Lease: lease, Primary: a,
			PrimaryLoad: tokens, InputTokens: tokens, Streamed: streamed}
	}
	done := func(at int64, lease, ttft, whole uint32) journal.Event {
		return journal.Event{Kind: journal.Completion, Time: at, Instance: 1, Lease: lease, Primary: a, Status: 200,
			OutputTokens: 2, TTFTMicros: ttft, DurationMicros: whole}
	}
	failed := journal.Event{Kind: journal.Completion, Time: now, Primary: a, Status: 503}
	model := journal.Event{Kind: journal.Decision, Time: now - 1, Instance: 1, Lease: 1, Model: journal.HashName("m")}
	modelDone := done(now-1, 2, 1000, 1000)
	modelDone.Primary, modelDone.Model = 0, model.Model
	for _, test := range []struct {
		name, text string
		want       []journal.Event
	}{
		{"nothing", endpoint + `}]`, nil},
		{"in flight before the sample", endpoint + `metrics: {age: 1s}, state: {inFlight: 2}}]`,
			[]journal.Event{load(sampled-1, 1, 0, false), load(sampled-1, 2, 0, false)}},
		{"in flight without a sample", endpoint + `state: {inFlight: 1}}]`, []journal.Event{load(now-1, 1, 0, false)}},
		{"tokens in flight, the rest with the first", endpoint + `state: {inFlight: 3, tokensInFlight: 8}}]`,
			[]journal.Event{load(now-1, 1, 4, false), load(now-1, 2, 2, false), load(now-1, 3, 2, false)}},
		{"how fast it is, of streams", endpoint + `state: {inFlight: 1, prefillTokensPerSecond: 1}}]`,
			[]journal.Event{load(now-1, 1, 0, true)}},
		{"failures", endpoint + `metrics: {age: 1s}, state: {failures: 2}}]`, []journal.Event{failed, failed}},
		{"the share of failures of the sidecar's answer", endpoint + `failureShare: 0.23}]`,
			[]journal.Event{failed, failed}},
		{"a share that is not there", endpoint + `failureShare: 0.05}]`, nil},
		{"failures beside a share", endpoint + `failureShare: 1, state: {failures: 1}}]`, []journal.Event{failed}},
		{"times", endpoint + `metrics: {age: 1s}, state: {ttft: 300ms, tpot: 20ms}}]`,
			[]journal.Event{done(sampled-1, 1, 300_000, 320_000)}},
		{"a time to the first token alone", endpoint + `state: {ttft: 1us}}]`, []journal.Event{done(now-1, 1, 1, 1)}},
		{"a model", `models: [{name: m, inFlight: 1, ttft: 1ms}]`, []journal.Event{model, modelDone}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []journal.Event
			readFleet(t, test.text, now).Past(false, now, func(e *journal.Event) { got = append(got, *e) })
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

// TestFailureShare: a server that the sidecar says to fail is left out here where Envoy leaves it out, though it looks
// idle.
func TestFailureShare(t *testing.T) {
	const now = int64(1_700_000_000_000_000_000)
	config, err := pluginconfig.Parse([]byte(`{"plugins": [{"type": "queue-scorer"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for share, want := range map[string]string{"0": "a", "0.46": "a", "0.49": "a", "0.53": "b", "0.55": "b",
		"0.97": "b", "1": "b"} {
		fleet := readFleet(t, `endpoints: [{name: b, address: "10.0.0.2:80", metrics: {waiting: 9}},
			{name: a, address: "10.0.0.1:80", metrics: {waiting: 0}, failureShare: `+share+`}]`, now)
		body := explain.Request{Body: []byte(`{"model": "m", "prompt": "hello"}`)}
		got := explain.New(config, fleet, 1).Explain(body, now).Destination[0]
		if address := map[string]string{"a": "10.0.0.1:80", "b": "10.0.0.2:80"}[want]; got != address {
			t.Errorf("with a share of %s at a: goes to %s, want %s", share, got, address)
		}
	}
}

// TestPastTeaches: where plug-ins go by how fast endpoints are, answers to prompts of many lengths have told it, each
// after the one before.
func TestPastTeaches(t *testing.T) {
	const now = int64(1_700_000_000_000_000_000)
	fleet := readFleet(t, `endpoints:
- {name: a, address: "10.0.0.1:80", state: {prefillTokensPerSecond: 8000, tpot: 20ms}}
- {name: b, address: "10.0.0.2:80"}`, now)
	var decided journal.Event
	last, answers, kinds := int64(0), 0, []journal.Kind{journal.Decision, journal.Began, journal.Completion}
	fleet.Past(true, now, func(e *journal.Event) {
		i := answers / len(kinds)
		if e.Kind != kinds[answers%len(kinds)] || e.Primary != journal.EndpointID("a") || e.Time < last ||
			e.Time >= now {
			t.Fatalf("got %+v after %d, want event %d of answers of a, in its turn and before %d", e, last, answers,
				now)
		}
		if e.Kind == journal.Decision {
			decided = *e
			last = e.Time
		}
		want := decided
		tokens := uint32(256 * (1 + i%16))
		want.Kind, want.Streamed, want.PrimaryLoad, want.InputTokens = e.Kind, true, tokens, tokens
		// 8,000 tokens take a second, and ten more than the first one 20 ms each.
		ttft := tokens * 125
		switch e.Kind {
		case journal.Began:
			want.Time, want.Status, want.TTFTMicros = decided.Time+int64(ttft)*1000, 200, ttft
		case journal.Completion:
			want.Time, want.Status, want.TTFTMicros = decided.Time+int64(ttft+200_000)*1000, 200, ttft
			want.DurationMicros, want.OutputTokens = ttft+200_000, 11
		}
		if !reflect.DeepEqual(*e, want) {
			t.Fatalf("got  %+v\nwant %+v", *e, want)
		}
		answers++
	})
	if answers != 3*256 {
		t.Errorf("got %d events, want those of 256 answers", answers)
	}
	fleet.Past(false, now, func(e *journal.Event) { t.Errorf("got %+v where nothing goes by it", e) })
}

// TestPastOfNobody: what cannot be so of earlier requests, or of the prompt, is a mistake.
func TestPastOfNobody(t *testing.T) {
	state := func(text string) string {
		return `endpoints: [{name: a, address: "10.0.0.1:80", state: {` + text + `}}]`
	}
	for _, test := range []struct{ name, text, want string }{
		{"the most in flight", state("inFlight: 10000"), ""},
		{"more", state("inFlight: 10001"), "inFlight: 10001 "},
		{"the most failures", state("failures: 10000"), ""},
		{"more failures", state("failures: 10001"), "failures: 10001 "},
		{"the shortest times", state("ttft: 1us, tpot: 1us"), ""},
		{"no time to the first token", state("ttft: 0s"), "ttft: "},
		{"a time to the first token below", state("ttft: 999ns"), "ttft: "},
		{"no time of further ones", state("ttft: 1s, tpot: 0s"), "tpot: "},
		{"a time of further ones alone", state("tpot: 1s"), "ttft: is missing; a request with a time per token has"},
		{"beside how fast it is", state("tpot: 1s, prefillTokensPerSecond: 1"), ""},
		{"slower than a token a second", state("prefillTokensPerSecond: 0.9"), "prefillTokensPerSecond: 0.9 "},
		{"the fastest", state("prefillTokensPerSecond: 1e9"), ""},
		{"faster", state("prefillTokensPerSecond: 1.1e9"), "prefillTokensPerSecond: 1100000000 "},
		{"tokens of nothing", state("tokensInFlight: 1"),
			"inFlight: is missing; tokens in flight are those of requests"},
		{"no tokens of nothing", state("tokensInFlight: 0"), ""},
		{"a score of nothing", "prompt: {tokens: 1}\n" + state("cachedScore: 0"),
			"cachedBlocks: is missing; a score is that of blocks"},
		{"blocks of no prompt", state("cachedBlocks: 1"),
			"prompt.tokens: is missing; cachedBlocks are those of a prompt that has some"},
		{"no blocks of no prompt", state("cachedBlocks: 0"), ""},
		{"blocks of a prompt", "prompt: {tokens: 1}\n" + state("cachedBlocks: 1, cachedScore: 0"), ""},
		{"a prompt of no tokens", "prompt: {tokens: 0}", "prompt.tokens: 0 "},
		{"an unknown key of a prompt", "prompt: {token: 5}", `prompt: unknown key "token"`},
		{"an unknown key of an attribute",
			`endpoints: [{name: a, address: "10.0.0.1:80", metrics: {attributes: [{nam: x}]}}]`, `unknown key "nam"`},
		{"a model without a name", "models: [{inFlight: 1}]", "name: is missing; name the model"},
		{"what the sidecar tells", `endpoints: [{name: a, address: "10.0.0.1:80", missingMetrics: [m], speed: {ttft: {}},
			prefixes: {}, failureShare: 0.5, silentFor: 1s, lastError: x}]`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := explain.ReadEndpoints([]byte(test.text), 1e18)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want a mistake with %q", err, test.want)
			}
		})
	}
}
