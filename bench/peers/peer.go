package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/bench/peers/router"
	"github.com/pintle-dev/pintle/internal/stack"
)

// peer is one of what is compared.
type peer struct {
	// name is the one of the command line, what says it to people.
	name, what string
	// headers are what requests have to carry.
	headers map[string]string
	// chooses is set for those whose choices are compared where nothing else is said.
	chooses bool
	// start starts its processes, which are to listen at port, before servers.
	start func(ctx context.Context, b *bench, port int) ([]*stack.Process, error)
}

// peers are all that can be compared; the first is what the others are compared with.
var peers = []peer{
	{name: "pintle", what: "Pintle, hold by pause", chooses: true, start: startPintle(pintle{hold: "pause"})},
	{name: "pintle-buffer", what: "Pintle, hold by buffer", start: startPintle(pintle{hold: "buffer"})},
	{name: "pintle-failover", what: "Pintle, failing over", start: startPintle(pintle{hold: "pause", failsOver: true})},
	{name: "pintle-predicted", what: "Pintle, predicted latency", chooses: true,
		start: startPintle(pintle{hold: "pause", config: predicted})},
	{name: "noop", what: "Envoy, a module that does nothing", start: startNoop},
	{name: "envoy", what: "Envoy alone, round robin", chooses: true, start: startEnvoy},
	{name: "llm-d", what: "llm-d, today's default", chooses: true, start: startLLMD(llmdDefault)},
	{name: "llm-d-baseline", what: "llm-d, the guide's baseline", chooses: true, start: startLLMD(llmdBaseline)},
	{name: "aibrix", what: "AIBrix, prefix-cache", chooses: true,
		headers: map[string]string{"routing-strategy": "prefix-cache"}, start: startAIBrix},
	{name: "sglang", what: "SGLang, cache aware", chooses: true,
		start: startRouter("sglang", "cache_aware", "-m", "sglang_router.launch_router")},
	{name: "sglang-rr", what: "SGLang, round robin",
		start: startRouter("sglang", "round_robin", "-m", "sglang_router.launch_router")},
	{name: "vllm", what: "vLLM, cache aware", chooses: true,
		start: startRouter("vllm", "cache_aware", "-m", "vllm_router.launch_router")},
	{name: "vllm-rr", what: "vLLM, round robin",
		start: startRouter("vllm", "round_robin", "-m", "vllm_router.launch_router")},
	{name: "smg", what: "smg, cache aware", chooses: true, start: startRouter("smg", "cache_aware", "-c", router.SMG)},
	{name: "litellm", what: "LiteLLM, least busy",
		headers: map[string]string{"authorization": "Bearer " + litellmKey}, start: startLiteLLM},
}

// errMissing is what is not installed and cannot be now.
var errMissing = errors.New("is missing")

// bench is what peers are started with.
type bench struct {
	stack *stack.Stack
	// first is the port of the first server, of several in a row.
	first, servers int
}

// ports are those of the servers.
func (b *bench) ports() (all []int) {
	for i := range b.servers {
		all = append(all, b.first+i)
	}
	return all
}

// addresses are those of the servers.
func (b *bench) addresses() (all []string) {
	for _, port := range b.ports() {
		all = append(all, stack.Address(port))
	}
	return all
}

// running is a peer that answers.
type running struct {
	*peer
	port      int
	processes []*stack.Process
}

// readyLimit is how long a peer may take until it answers; llm-d's Envoy needs some 12 s to trust its picker.
const readyLimit = time.Minute

// launch starts a peer and waits until it answers.
func (b *bench) launch(ctx context.Context, p *peer) (*running, error) {
	port, err := stack.FreePorts(1)
	if err != nil {
		return nil, err
	}
	processes, err := p.start(ctx, b, port)
	if err != nil {
		return nil, err
	}
	r := &running{peer: p, port: port, processes: processes}
	return r, r.wait(ctx)
}

// wait waits until the peer answers requests.
func (r *running) wait(ctx context.Context) error {
	const body = `{"model":"sim-model","messages":[{"role":"user","content":"hello"}],"max_tokens":2}`
	client := http.Client{Timeout: 5 * time.Second}
	var last error
	for deadline := time.Now().Add(readyLimit); time.Now().Before(deadline) && ctx.Err() == nil; {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost,
			"http://"+stack.Address(r.port)+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", "application/json")
		for key, value := range r.headers {
			request.Header.Set(key, value)
		}
		response, err := client.Do(request)
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("answers %s", response.Status)
		}
		last = err
		for _, p := range r.processes {
			if p.Ended() {
				return fmt.Errorf("%s has ended:\n%s", r.name, p.Log())
			}
		}
		time.Sleep(200 * time.Millisecond)
	}
	return fmt.Errorf("%s does not answer within %v: %w\n%s", r.name, readyLimit, last, r.processes[0].Log())
}

// stop ends the peer.
func (r *running) stop() {
	for _, p := range r.processes {
		p.Stop()
	}
}

// usage is the processor time of the peer's processes so far, and the memory that they have.
func (r *running) usage() (cpu time.Duration, bytes int64, err error) {
	for _, p := range r.processes {
		c, m, err := p.Group()
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w", r.name, err)
		}
		cpu, bytes = cpu+c, bytes+m
	}
	return cpu, bytes, nil
}
