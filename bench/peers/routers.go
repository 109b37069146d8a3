package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/pintle-dev/pintle/bench/peers/router"
	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/stack"
)

// python starts a program with the packages that a requirements file pins, at two threads as Envoy has two workers.
func (b *bench) python(name string, args ...string) (*stack.Process, error) {
	packages, err := harness.PythonPackages("bench/peers/requirements/" + name + ".txt")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMissing, err)
	}
	return b.stack.Start(name, "/usr/bin/env", append([]string{"PYTHONPATH=" + packages, "TOKIO_WORKER_THREADS=2",
		"RAYON_NUM_THREADS=1", "LITELLM_MASTER_KEY=" + litellmKey, "LITELLM_LOCAL_MODEL_COST_MAP=True",
		"LITELLM_MODE=PRODUCTION", "python3"}, args...)...)
}

// startRouter starts one of the routers in Rust.
func startRouter(name, policy string, args ...string) func(context.Context, *bench, int) ([]*stack.Process, error) {
	return func(_ context.Context, b *bench, port int) ([]*stack.Process, error) {
		metrics, err := stack.FreePorts(1)
		if err != nil {
			return nil, err
		}
		p, err := b.python(name, slices.Concat(args, router.Flags(port, metrics, policy, b.addresses()))...)
		return []*stack.Process{p}, err
	}
}

// litellmKey is what LiteLLM takes for a strong key. It is of no use elsewhere.
const litellmKey = "sk-0123456789abcdef0123456789abcdef"

// startLiteLLM starts LiteLLM's proxy, which has one worker.
func startLiteLLM(_ context.Context, b *bench, port int) ([]*stack.Process, error) {
	var models []any
	for _, address := range b.addresses() {
		models = append(models, map[string]any{"model_name": "sim-model", "litellm_params": map[string]any{
			"model": "openai/sim-model", "api_base": "http://" + address + "/v1", "api_key": "none"}})
	}
	config, err := json.Marshal(map[string]any{"model_list": models,
		"router_settings": map[string]any{"routing_strategy": "least-busy"}})
	if err != nil {
		return nil, err
	}
	path := filepath.Join(b.stack.Dir, "litellm.yaml")
	if err := os.WriteFile(path, config, 0o600); err != nil {
		return nil, err
	}
	p, err := b.python("litellm", "-m", "litellm.proxy.proxy_cli", "--config", path, "--host", "127.0.0.1", "--port",
		fmt.Sprint(port), "--num_workers", "1", "--telemetry", "False")
	return []*stack.Process{p}, err
}
