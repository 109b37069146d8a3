package main_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/explain"
	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/pluginconfig/documents"
)

// TestDocuments: the module says of random configurations what this program says of them, and takes the same.
func TestDocuments(t *testing.T) {
	host := newHost(t, modes[0].options(wazerohost.NewClock(startTime)))
	accepted := 0
	for seed := range uint64(600) {
		text := documents.Mixed(seed, 8)
		c, err := pluginconfig.Parse(text)
		if err == nil && c.Ingest.TokenEnv != "" {
			continue // the environment has no token
		}
		want := saidNatively(text)
		if err == nil && c.ShadowError != nil {
			want = append(want, "the shadow is left out: "+c.ShadowError.Error())
		}
		worker, startError := host.Worker()
		if startError != nil {
			t.Fatal(startError)
		}
		before := len(host.Logs(wazerohost.Warn))
		_, startError = worker.Start(wazerohost.PluginConfig{Configuration: string(text), Listener: requestListener})
		got := saidByModule(host, before)
		slices.Sort(got)
		slices.Sort(want)
		if (startError == nil) != (err == nil) || !slices.Equal(got, want) {
			t.Fatalf("seed %d: %s\nStart: %v\ngot  %q\nwant %q", seed, text, startError, got, want)
		}
		if err == nil {
			accepted++
		}
	}
	if accepted < 100 {
		t.Errorf("%d documents are accepted, want a hundred and more", accepted)
	}
}

// TestDocumentsDecideAlike: explain decides by random configurations what the module decides by them.
func TestDocumentsDecideAlike(t *testing.T) {
	decided := 0
	for seed := range uint64(500) {
		configuration := drawnConfiguration(documents.New(seed, 0))
		config, err := pluginconfig.Parse([]byte(configuration))
		if err != nil || config.Plan.PreciseIndex() != nil || config.Subset == pluginconfig.SubsetMetadata {
			continue // there is no sidecar to ask, and no other filter that says where a request may go
		}
		decided++
		g, r := newGateway(t, modes[3], 1, configuration), rand.New(rand.NewPCG(seed, 7))
		for round := range 3 {
			g.sameRound(r, config, round)
		}
		if t.Failed() {
			t.Fatalf("seed %d: %s", seed, configuration)
		}
	}
	if decided < 50 {
		t.Errorf("%d documents decided, want fifty and more", decided)
	}
}

// drawnConfiguration is a random document, with those of the keys around it by which it decides.
func drawnConfiguration(g *documents.Generator) string {
	var drawn map[string]json.RawMessage
	text := g.Next()
	if err := json.Unmarshal(text, &drawn); err != nil {
		return ""
	}
	extra := `"debug":true,`
	if document, ok := drawn["config"]; ok {
		text = document
	}
	for _, key := range []string{"stale", "failing", "dialect", "load", "subset", "management", "unreadable", "strip"} {
		if value, ok := drawn[key]; ok {
			extra += fmt.Sprintf("%q:%s,", key, value)
		}
	}
	return modes[3].configuration(string(text), extra)
}

// sameRound has the module and explain decide some requests to a fleet of their own.
func (g *gateway) sameRound(r *rand.Rand, config *pluginconfig.Config, round int) {
	p, document := randomFleet(r, round)
	g.publish(p)
	fleet, err := explain.ReadEndpoints([]byte(document), g.clock.Now().UnixNano())
	if err != nil {
		g.t.Fatal(err)
	}
	x := explain.New(config, fleet, 1)
	var open []*wazerohost.Stream
	for range 1 + r.IntN(6) {
		g.clock.Advance(time.Millisecond)
		q := randomRequest(r)
		s, result := g.both(x, q)
		open = append(open, s)
		if !g.sameDecision(s, result) {
			g.t.Errorf("%v %.300s\nof %s", q.headers, q.body, document)
			return
		}
		if result.Primary != "" && byChance(result) {
			break // from here on the two know of different pasts
		}
	}
	for _, s := range open {
		s.Finish()
	}
}
