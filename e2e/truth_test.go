package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
)

const (
	truthRequests = 10_000
	truthClients  = 16
)

// truth is an Envoy that nothing else has touched, with servers of which one is dead, a sidecar that is restarted, and
// what a client counts itself. Counts are by name and labels, as in "requests sim-model 200".
type truth struct {
	*harness.Envoy
	servers []*harness.Server
	sidecar string // its configuration
	admin   string

	mu     sync.Mutex
	counts map[string]float64
}

func newTruth(t *testing.T) *truth {
	t.Helper()
	f := &truth{counts: map[string]float64{}}
	dead, err := harness.DeadAddress()
	if err != nil {
		t.Fatal(err)
	}
	hosts := []string{dead}
	for i := range 3 {
		server, err := harness.NewServer(sim.Config{
			Name: fmt.Sprint("sim-", i), Models: []string{"sim-model",
				"m-v1"}, TimePerOutputToken: time.Millisecond, MaxRunning: 256, Blocks: 1 << 18,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		f.servers, hosts = append(f.servers, server), append(hosts, server.Address)
	}
	listeners := []*harness.Listener{{Name: "requests"}, {Name: "ingest", Ingest: true}}
	if f.Envoy, err = harness.Start(harness.Cell{Hold: "pause", Destination: "override-host"}, hosts,
		listeners...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Stop)
	f.LogOnFailure(t)
	ports, err := harness.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	f.admin = fmt.Sprint("127.0.0.1:", ports[0])
	f.sidecar = fmt.Sprintf("envoy: {ingest: \"http://%s/pintle/v1/snapshot\", token: %q}\nadmin: {address: "+
		"%q}\ndiscovery:\n  static:\n"+
		"  - {name: dead, address: %q, engine: vllm}\n", f.Address("ingest"), harness.Token, f.admin, dead)
	for _, s := range f.servers {
		f.sidecar += fmt.Sprintf("  - {name: %q, address: %q, engine: vllm}\n", s.Name, s.Address)
	}
	return f
}

// add counts what the client saw.
func (f *truth) add(name string, n float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[name] += n
}

// send sends the n-th request: streams and whole answers for two models, some that the client gives up, some that are
// refused.
func (f *truth) send(client *http.Client, n int) error {
	name, tokens := []string{"sim-model", "m-v1"}[n%2], 1+n%5
	streamed, abort := n%3 == 0, n%10 == 9
	body := fmt.Sprintf(
		`{"model":%q,"max_tokens":%d,"stream":%v,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":%q}]}`,
		name, tokens, streamed, strings.Repeat(fmt.Sprintf("prompt %d of many ", n%40), 20))
	switch {
	case n%20 == 7:
		body = body[:len(body)/2]
	case n%20 == 17:
		body = `{"prompt":"no model"}`
	case abort:
		body = strings.Replace(strings.Replace(body, `"stream":false`, `"stream":true`, 1),
			fmt.Sprintf(`"max_tokens":%d`, tokens), `"max_tokens":4000`, 1)
	}
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.URL("requests", chatPath),
		strings.NewReader(body))
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if reason := response.Header.Get("X-Pintle-Reason"); reason != "" {
		_, _ = io.Copy(io.Discard, response.Body)
		f.add("refusals "+reason, 1)
		return nil
	}
	f.add(fmt.Sprintf("requests %s %d", name, response.StatusCode), 1)
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if abort {
			return nil // with the first bytes of its answer
		}
		f.count(name, strings.TrimPrefix(lines.Text(), "data: "))
	}
	if lines.Err() == nil && response.StatusCode == http.StatusOK {
		f.add("whole "+name, 1)
	}
	return lines.Err()
}

// count takes the usage that a line of an answer may hold.
func (f *truth) count(name, line string) {
	var answer struct {
		Usage *struct {
			Prompt  float64 `json:"prompt_tokens"`
			Output  float64 `json:"completion_tokens"`
			Details struct {
				Cached float64 `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		} `json:"usage"`
	}
	if json.Unmarshal([]byte(line), &answer) == nil && answer.Usage != nil {
		f.add("input "+name, answer.Usage.Prompt)
		f.add("output "+name, answer.Usage.Output)
		f.add("cached "+name, answer.Usage.Details.Cached)
	}
}

// read adds what a sidecar's metrics say to sums.
func (f *truth) read(t *testing.T, sums map[string]float64) {
	t.Helper()
	response, err := http.Get("http://" + f.admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{
		"pintle_requests_total": "requests", "pintle_refusals_total": "refusals", "pintle_input_tokens_total": "input",
		"pintle_output_tokens_total": "output", "pintle_cached_tokens_total": "cached",
		"pintle_sidecar_journal_missed_events_total": "missed",
		"pintle_request_duration_seconds":            "whole",
	}
	for family, short := range names {
		for _, m := range families[family].GetMetric() {
			key := short
			for _, l := range m.GetLabel() {
				if l.GetName() != "endpoint" && l.GetName() != "target" {
					key += " " + l.GetValue()
				}
			}
			sums[key] += value(m)
		}
	}
	inFlight := 0.0
	for _, m := range families["pintle_requests_in_flight"].GetMetric() {
		inFlight += value(m)
	}
	sums["in flight"] = inFlight
}

func value(m *dto.Metric) float64 {
	switch {
	case m.Counter != nil:
		return m.GetCounter().GetValue()
	case m.Histogram != nil:
		return float64(m.GetHistogram().GetSampleCount())
	}
	return m.GetGauge().GetValue()
}

// TestMetricsTellTheTruth: what the metrics of two sidecars, one after the other, add up to is what the client has
// counted itself, to the token: whole answers and streams, aborts, retries and refusals.
func TestMetricsTellTheTruth(t *testing.T) {
	harness.Long(t)
	f := newTruth(t)
	first := harness.StartSidecarWith(t, f.sidecar)
	client := harness.Client(t, false)
	harness.WaitFor(t, 20*time.Second, "the first answer", func() (bool, string) {
		err := f.send(client, 0)
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.counts["requests sim-model 200"] > 0, fmt.Sprint(err, f.counts)
	})
	b := newBegun(&ledger{})
	_, leave := followedBy(t, f.Envoy, harness.Token, b, 0)
	b.await(t, f.URL("requests", chatPath))
	leave()
	sums := map[string]float64{}
	before, beforeSums := maps.Clone(f.counts), map[string]float64{}
	f.settle(t, func() { clear(beforeSums); f.read(t, beforeSums) }, beforeSums)
	var next, failed atomic.Int64
	var clients sync.WaitGroup
	for range truthClients {
		clients.Go(func() {
			client := harness.Client(t, false)
			for n := next.Add(1); n <= truthRequests; n = next.Add(1) {
				if err := f.send(client, int(n)); err != nil && failed.Add(1) == 1 {
					t.Error(err)
				}
			}
		})
	}
	harness.WaitFor(t, time.Minute, "the middle", func() (bool, string) { return next.Load() > truthRequests/2, "" })
	f.read(t, sums)
	first.Stop()
	harness.StartSidecarWith(t, f.sidecar)
	clients.Wait()
	last := map[string]float64{}
	f.settle(t, func() { clear(last); f.read(t, last) }, last)
	delete(sums, "in flight") // a moment's
	for key, n := range last {
		sums[key] += n
	}
	for key, n := range beforeSums {
		sums[key] -= n
	}
	for key, n := range before {
		f.counts[key] -= n
	}
	f.compare(t, sums)
}

// settle reads until nothing is in flight and nothing changes any more.
func (f *truth) settle(t *testing.T, read func(), sums map[string]float64) {
	t.Helper()
	harness.WaitFor(t, 30*time.Second, "the metrics to settle", func() (bool, string) {
		read()
		was := maps.Clone(sums)
		time.Sleep(300 * time.Millisecond)
		read()
		return sums["in flight"] == 0 && maps.Equal(was, sums), fmt.Sprint(sums)
	})
}

func (f *truth) compare(t *testing.T, sums map[string]float64) {
	t.Helper()
	f.counts["missed"], f.counts["in flight"] = 0, 0
	keys := slices.Sorted(maps.Keys(f.counts))
	for _, key := range keys {
		if sums[key] != f.counts[key] {
			t.Errorf("%s: the metrics say %v, the client %v", key, sums[key], f.counts[key])
		}
	}
	for key, n := range sums {
		if _, known := f.counts[key]; !known && n != 0 {
			t.Errorf("%s: the metrics say %v, the client nothing", key, n)
		}
	}
	t.Logf("%d requests: %v", truthRequests, f.counts)
}
