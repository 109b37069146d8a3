package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
)

func TestParseFlags(t *testing.T) {
	o, err := parseFlags(strings.Fields("-peers pintle,smg -sizes 2,16 -rates 10,20.5 -seconds 2"))
	if err != nil || len(o.peers) != 2 || o.sizes[1] != 16 || o.rates[1] != 20.5 || o.duration != 2*time.Second {
		t.Errorf("got %+v, %v", o, err)
	}
	if o, err = parseFlags(nil); err != nil || len(o.peers) != len(peers) {
		t.Errorf("got %+v, %v, want all peers", o, err)
	}
	o, err = parseFlags(strings.Fields("-workload synthetic -fleet half"))
	if err != nil || o.rates[0] != 5 || o.fleet.name != "half" || len(o.peers) >= len(peers) {
		t.Errorf("got %+v, %v, want the workload's rate, and the peers that choose", o, err)
	}
	for _, args := range []string{"-simulate 2 -workload shared -traces x", "-report raw -plots x",
		"-peers pintle -workload turns -fleet half -runs 2 -speed 2 -rates 3 -raw raw",
		"-peers pintle -servers 2 -page 50 -alone -rounds 2 -seconds 1 -connections 4 -stream 10 -sizes 2"} {
		if _, err := parseFlags(strings.Fields(args)); err != nil {
			t.Errorf("%s: got %v, want that it is right", args, err)
		}
	}
	for _, test := range []struct{ name, args, want string }{
		{"unknown peer", "-peers pintel", `"pintel": want some of pintle, pintle-buffer`},
		{"size", "-sizes 2,0", `"0": want a number above 0`},
		{"rate", "-rates x", `"x": want a number above 0`},
		{"workload", "-workload all", `"all": want one of shared, mixed, burst, conversation`},
		{"fleet", "-workload shared -fleet x", `"x": want one of equal, slow, half, fails, dies`},
		{"rates of a trace", "-workload synthetic -rates 1,2", "-rates [1 2]: want one"},
		{"new prompts at a rate", "-new -rates 10", "-new: want neither -rates"},
		{"new prompts of a workload", "-workload shared -new", "nor -workload"},
		{"rounds of a workload", "-workload shared -rounds 5", "-rounds: has no effect with -workload"},
		{"a fleet without a workload", "-fleet half", "-fleet: has no effect without -workload"},
		{"a fleet in virtual time", "-simulate 2 -workload shared -fleet half",
			"-fleet: has no effect with -simulate, which takes -traces and -workload alone"},
		{"rounds", "-rounds 0", "want no arguments"},
		{"a part of a second", "-seconds 1.5", "-seconds 1.5: want whole seconds"},
		{"argument", "x", "want no arguments"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := parseFlags(strings.Fields(test.args))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want ...%s...", err, test.want)
			}
		})
	}
}

func TestEnvoyBeforeAPicker(t *testing.T) {
	for _, health := range []bool{false, true} {
		var text bytes.Buffer
		err := extprocTemplate.Execute(&text, processing{AdminPort: 1, Port: 2, PickerPort: 3, Request: "BUFFERED",
			Response: "STREAMED", Trailers: "SKIP", Header: "target-pod", Health: health})
		if err != nil {
			t.Fatal(err)
		}
		var any map[string]any
		if err := yaml.UnmarshalStrict(text.Bytes(), &any); err != nil {
			t.Errorf("%v\n%s", err, text.String())
		}
		if got := strings.Contains(text.String(), "grpc_health_check"); got != health {
			t.Errorf("asks the picker's health: %v, want %v", got, health)
		}
	}
}

func TestDocuments(t *testing.T) {
	for _, d := range []document{llmdDefault, llmdBaseline} {
		var read struct {
			Plugins   []struct{ Type string }
			DataLayer struct{ Discovery struct{ PluginRef string } }
		}
		if err := yaml.Unmarshal([]byte(d.text("/servers.yaml")), &read); err != nil || len(read.Plugins) != 7 ||
			read.DataLayer.Discovery.PluginRef != "file-discovery" {
			t.Errorf("got %+v, %v", read, err)
		}
	}
	if _, err := pluginconfig.Parse([]byte(`{"config": ` + predicted + `}`)); err != nil {
		t.Error(err)
	}
}

// some is raw data of Pintle and of llm-d.
func some() []record {
	at := func(run, peer string, perSecond, cpu float64) record {
		where := setting{Servers: 4, KB: 16, Connections: 8}
		return record{Go: run, Peer: peer,
			Cost: &cost{setting: where, PerSecond: perSecond, P50: 0.5, P99: 1.5, CPU: cpu}}
	}
	chose := func(peer string, rate, p90, hits float64, failed int) record {
		return record{Peer: peer, Choice: &choice{occasion: occasion{Workload: "shared", Fleet: "equal", Rate: rate,
			Speed: defaultSpeed},
			TTFT: quantiles{0.2, p90, 1}, Hits: hits, Failed: failed}}
	}
	return []record{at("a", "pintle", 100, 1), at("a", "llm-d", 50, 12.345), at("b", "pintle", 200, 3),
		at("b", "llm-d", 50, 12.345), {Peer: "pintle", Idle: &idle{Servers: 4, Cores: 0.05, MB: 150}},
		at("llm-d alone", "llm-d", 50, 12.345),
		chose("pintle", 10, 0.1, 0.9, 0), chose("pintle", 20, 0.25, 0.5, 3), chose("llm-d", 20, 0.1, 0.52, 0),
		{Peer: "pintle", Cost: &cost{setting: setting{Servers: 4, KB: 16, Connections: 8, New: true}, CPU: 7.5}}}
}

func TestReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "raw")
	for _, r := range some() { // one go after another
		if err := appendRaw(path, []record{r}); err != nil {
			t.Fatal(err)
		}
	}
	records, err := readRaw(path)
	if err != nil || len(records) != len(some()) {
		t.Fatalf("got %d records, %v", len(records), err)
	}
	var out bytes.Buffer
	if err := report(&out, records, ""); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"### 16 KB, 4 servers, 8 connections, each one request after the other",
		"| Pintle, hold by pause | 150 (100-200) | 0.50 ms | 1.50 ms | 2.000 ms (1.000-3.000) | 1.00 | 1.00 | 0 |",
		"| llm-d, today's default | 50 | 0.50 ms | 1.50 ms | 12.345 ms | 0.38 (0.25-0.50) | 8.23 (4.12-12.35) | 0 |",
		"### 16 KB, 4 servers, 8 connections, each one request after the other, prompts all new", "7.500 ms",
		"| 0.050 | 150 MB |", "### shared at 20/s, servers: equal",
		"- llm-d, today's default is ahead: p90 0.100 s beside 0.250 s, found cached 52.0 % beside 50.0 %, " +
			"failed 0 beside 3.",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readRaw(path); err == nil || !strings.Contains(err.Error(), "record 1") {
		t.Errorf("got %v, want which record cannot be read", err)
	}
}

// TestUnanswered: a peer that answers nothing in a round is a row of the table, and not the end of the run.
func TestUnanswered(t *testing.T) {
	r := (&options{duration: 2 * time.Second}).unanswered(3)
	if r.PerSecond() != 0 || r.P50Millis() != 2000 || r.P99Millis() != 2000 || r.Failures != 3 {
		t.Errorf("got %+v, want 0 requests/s, 2000 ms and 3 failures", r)
	}
}

// TestPlots reads the plots as XML: each has all names, and all values.
func TestPlots(t *testing.T) {
	all := pictures(append(some(), record{Peer: "envoy", Choice: &choice{TTFT: quantiles{P90: 150},
		occasion: occasion{Workload: "agents", Fleet: "slow"}}},
		record{Peer: "pintle-failover", Choice: &choice{TTFT: quantiles{P90: 7},
			occasion: occasion{Workload: "agents", Fleet: "slow"}}},
		record{Peer: "envoy", Cost: &cost{setting: setting{KB: 2, Events: 100}, CPU: 1.75}}))
	if text := all["peers-workloads.svg"]; strings.Contains(text, "failing over") {
		t.Errorf("the workloads have Pintle failing over, which chooses as Pintle does: %s", text)
	}
	all["not measured"] = plot([]string{"a"}, []panel{{values: []float64{-1}}})
	for name, want := range map[string][]string{
		"peers-overhead.svg": {peers[0].what, "16 KB", ">12.3<", "16 KB, prompts all new", ">7.5<",
			"2 KB, answers of 100 events", ">1.75<"},
		"peers-ladder.svg":    {"at 20 requests/s", ">0.25<", ">50.0<", ">52.0<"},
		"peers-workloads.svg": {"agents, servers: slow", ">150<"},
		"not measured":        {"not measured"},
	} {
		decoder := xml.NewDecoder(strings.NewReader(all[name]))
		for {
			_, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for _, text := range want {
			if !strings.Contains(all[name], text) {
				t.Errorf("%s: %q is missing", name, text)
			}
		}
	}
}

func TestWorkloads(t *testing.T) {
	few := sessions{atOnce: 10, shared: 10, own: spread{50, 0, 50, 50, false}, turns: conversations.turns,
		input: spread{20, 10, 1, 100, true}, output: spread{10, 0, 10, 10, false}, pause: conversations.pause}
	for _, w := range []workload{workloads[0], {rates: []float64{5}, asks: traced(120)},
		{rates: []float64{3}, asks: few.asks}} {
		testParts(t, &w)
	}
	all := bursts(60, 0)
	for i := range all {
		if equal := string(all[i].Body) == string(all[i/burst*burst].Body); !equal {
			t.Errorf("request %d is another than the first of its burst", i)
		}
	}
	if string(all[0].Body) == string(all[burst].Body) {
		t.Error("two bursts ask the same")
	}
}

func testParts(t *testing.T, w *workload) {
	parts, _, err := w.parts(&options{rates: w.rates, speed: 2})
	if err != nil {
		t.Fatal(err)
	}
	if w.asks == nil {
		others, _, err := w.parts(&options{rates: w.rates, speed: 2, seed: 1})
		if err != nil || others[1].load.Seed == parts[1].load.Seed || parts[0].load.Seed == parts[1].load.Seed {
			t.Errorf("got %v; requests of another run, or part, come at the same times: seeds %d, %d and %d", err,
				others[1].load.Seed, parts[1].load.Seed, parts[0].load.Seed)
		}
		if len(parts) != 1+len(w.rates) || !parts[0].warmsUp || len(parts[1].load.Requests) != stageRequests {
			t.Errorf("got %d parts, want the warm-up and one for each rate", len(parts))
		}
		return
	}
	c := parts[0].load
	n, last := len(c.Requests), c.Due[len(c.Due)-1]
	if n < 100 || len(c.Due) != n || parts[0].counted < last/4 || parts[0].counted > last/2 {
		t.Errorf("%d requests at %d times, from %v on", n, len(c.Due), parts[0].counted)
	}
	if rate := float64(n) / last.Seconds(); rate < 1.95*w.rates[0] || rate > 2.05*w.rates[0] {
		t.Errorf("got %g requests/s, want twice %g", rate, w.rates[0])
	}
}

// TestSessions: each turn begins as the one before it ended, and tools are called and answer.
func TestSessions(t *testing.T) {
	s := sessions{atOnce: 1, shared: 400, own: spread{50, 0, 50, 50, false}, turns: spread{8, 0, 8, 8, false},
		input: spread{20, 10, 1, 100, true}, output: spread{10, 0, 10, 10, false}, pause: spread{1, 0, 1, 1, false},
		tools: true}
	r := rand.New(rand.NewPCG(1, 1))
	asks, end := s.session(r, "system", someTools(r, 30), "u", 0)
	if len(asks) != 8 || end < 8 || end > 10 {
		t.Fatalf("%d turns that end at %g", len(asks), end)
	}
	var before []message
	for i, a := range asks {
		var body struct {
			Messages []message
			Tools    []tool
		}
		if err := json.Unmarshal(a.request.Body, &body); err != nil {
			t.Fatal(err)
		}
		last := body.Messages[len(body.Messages)-1]
		if called := i%4 != 0; called != (last.Role == "tool") || len(body.Tools) != toolCount ||
			called && body.Messages[len(body.Messages)-2].ToolCalls[0].ID != last.ToolCallID {
			t.Errorf("turn %d: %+v", i, last)
		}
		for k, m := range before {
			if body.Messages[k].Content != m.Content {
				t.Errorf("turn %d: message %d is another", i, k)
			}
		}
		before = body.Messages
	}
}

func TestTraces(t *testing.T) {
	folder := t.TempDir()
	const rows = `{"timestamp": 3000, "input_length": 600, "output_length": 5, "hash_ids": [1, 3]}
{"timestamp": 1000, "input_length": 600, "output_length": 0, "hash_ids": [1, 2]}
`
	if err := os.WriteFile(filepath.Join(folder, "Mooncake_Conversation.jsonl"), []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	all, madeUp, err := traced(5, "mooncake", "conversation")(&options{traces: folder})
	if err != nil || madeUp || len(all) != 2 || all[0].at != 0 || all[1].at != 2 {
		t.Errorf("got %d requests, made up %v, %v", len(all), madeUp, err)
	}
	if _, _, err := traced(5, "azure")(&options{traces: folder}); !errors.Is(err, errNoTrace) {
		t.Errorf("got %v, want that it is not there", err)
	}
	if all, madeUp, err = traced(5, "azure")(&options{}); err != nil || !madeUp || len(all) != 5 {
		t.Errorf("got %d requests, made up %v, %v", len(all), madeUp, err)
	}
}

// TestSpreadOut: requests of one moment come evenly until the next one, the last ones as those before them.
func TestSpreadOut(t *testing.T) {
	at := func(times ...float64) (all []ask) {
		for _, at := range times {
			all = append(all, ask{at: at})
		}
		return all
	}
	for _, test := range []struct {
		name       string
		asks, want []ask
	}{
		{"none", nil, nil},
		{"one each", at(0, 3, 5), at(0, 3, 5)},
		{"several", at(0, 0, 0, 3, 3, 6), at(0, 1, 2, 3, 4.5, 6)},
		{"several at the end", at(0, 2, 2), at(0, 2, 3)},
		{"all at once", at(0, 0), at(0, 0)},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, _, err := spreadOut(func(*options) ([]ask, bool, error) { return test.asks, false, nil })(nil)
			same := slices.EqualFunc(got, test.want, func(a, b ask) bool { return a.at == b.at })
			if err != nil || !same {
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			}
		})
	}
}
