package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/pintle-dev/pintle/internal/replay"
	"github.com/pintle-dev/pintle/internal/replay/live"
	"github.com/pintle-dev/pintle/internal/shipped"
	"github.com/pintle-dev/pintle/internal/stack"
)

const (
	model  = "sim-model"
	prefix = "sim"
	token  = "bench-truth"
)

// start runs servers, Envoy and sidecar, and returns where requests go.
func (o *options) start(ctx context.Context, st *stack.Stack) (url string, err error) {
	s := &o.servers
	first, err := stack.FreePorts(s.Count + 4)
	if err != nil {
		return "", err
	}
	admin, ingest, sidecarAdmin, requests, servers := first, first+1, first+2, first+3, first+4
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	if _, err := st.Sims(ctx, "servers", prefix, servers, s.Count, "-speed", number(o.speed), "-max-num-seqs",
		strconv.Itoa(s.MaxRunning),
		"-num-blocks", strconv.Itoa(s.Blocks), "-block-size", strconv.Itoa(s.BlockTokens), "-prefill-tokens-per-second",
		number(s.PrefillTokensPerSecond), "-time-per-output-token", s.TimePerOutputToken.String(), "-batch-slowdown",
		number(s.BatchSlowdown),
		"-stream-interval", "50"); err != nil {
		return "", err
	}
	plugin := fmt.Sprintf(`{"ingest": {"port": %d, "token": %q}, "hold": "pause", "config": %s}`, ingest, token,
		shipped.JSON())
	text, err := stack.EnvoyConfig{
		AdminPort: admin, Hold: "pause", Module: "bin/pintle.wasm", Listeners: []stack.EnvoyListener{
			{Name: "requests", Port: requests, Plugin: plugin},
			{Name: "ingest", Port: ingest, Ingest: true, Plugin: plugin},
		},
	}.Text()
	if err != nil {
		return "", err
	}
	if _, err := st.Envoy(ctx, "envoy", text, admin); err != nil {
		return "", err
	}
	_, err = st.Sidecar(ctx, "sidecar", stack.Sidecar{
		IngestPorts: []int{ingest}, Token: token, AdminPort: sidecarAdmin,
		Endpoints: stack.Endpoints(prefix, servers, s.Count),
	})
	return "http://" + stack.Address(requests), err
}

// body is a request with a text that is equal to others' where the trace says that the prompts are.
func body(r *replay.Request) []byte {
	b := fmt.Appendf(nil,
		`{"model":%q,"max_tokens":%d,"stream":true,"stream_options":{"include_usage":true},"prompt":"`, model, r.Output)
	return append(append(b, live.Text(&r.Prompt)...), `"}`...)
}
