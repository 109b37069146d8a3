package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/pintle-dev/pintle/internal/stack"
)

// processing is how Envoy asks a picker behind ext_proc, as its own guide has it.
type processing struct {
	AdminPort, Port, PickerPort int
	// Request and Response are the modes of the bodies, Trailers that of trailers.
	Request, Response, Trailers string
	// Header names the server that was chosen.
	Header string
	// Health has Envoy ask the picker's health.
	Health bool
}

//go:embed extproc.yaml.tmpl
var extprocText string

var extprocTemplate = template.Must(template.New("extproc.yaml").Parse(extprocText))

// startProcessing starts the Envoy before a picker.
func startProcessing(ctx context.Context, b *bench, name string, p processing) (*stack.Process, error) {
	var config strings.Builder
	if err := extprocTemplate.Execute(&config, p); err != nil {
		return nil, err
	}
	return b.stack.Envoy(ctx, "envoy-"+name, config.String(), p.AdminPort)
}

// document is what an EndpointPickerConfig has.
type document struct{ plugins, profile string }

// llmdDefault is what llm-d's chart has today, llmdBaseline the optimized baseline of its guides.
var (
	llmdDefault = document{
		plugins: `- {type: token-load-scorer}
- {type: inflight-load-producer}
- {type: approx-prefix-cache-producer}
- {type: prefix-cache-affinity-filter}
`,
		profile: `  - {pluginRef: prefix-cache-affinity-filter}
  - {pluginRef: token-load-scorer}
`,
	}
	llmdBaseline = document{
		plugins: `- {type: queue-scorer}
- {type: kv-cache-utilization-scorer}
- {type: prefix-cache-scorer}
- {type: no-hit-lru-scorer}
`,
		profile: `  - {pluginRef: queue-scorer, weight: 2}
  - {pluginRef: kv-cache-utilization-scorer, weight: 2}
  - {pluginRef: prefix-cache-scorer, weight: 3}
  - {pluginRef: no-hit-lru-scorer, weight: 2}
`,
	}
)

// head is the document without where servers are found.
func (d document) head() string {
	return `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
schedulingProfiles:
- name: default
  plugins:
` + d.profile + `plugins:
` + d.plugins
}

// text is the document for servers that stand in a file.
func (d document) text(servers string) string {
	return d.head() + `- {name: metrics-source, type: metrics-data-source}
- {name: metrics-extractor, type: core-metrics-extractor}
- {name: file-discovery, type: file-discovery, parameters: {path: ` + servers + `, watchFile: true}}
dataLayer:
  injectDefaults: false
  discovery: {pluginRef: file-discovery}
  sources:
  - pluginRef: metrics-source
    extractors: [{pluginRef: metrics-extractor}]
`
}

// installed is a program that install.sh made.
func (b *bench) installed(name string) (string, error) {
	path := filepath.Join(b.stack.Root, "build", ".cache", "peers", name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w; bench/peers/install.sh makes it", errMissing)
	}
	return path, nil
}

// startLLMD starts llm-d's picker, which finds the servers in a file, and its Envoy.
func startLLMD(d document) func(context.Context, *bench, int) ([]*stack.Process, error) {
	return func(ctx context.Context, b *bench, port int) ([]*stack.Process, error) {
		program, err := b.installed("llm-d-ebab6879")
		if err != nil {
			return nil, err
		}
		config, err := b.writeLLMD(d)
		if err != nil {
			return nil, err
		}
		more, err := stack.FreePorts(4)
		if err != nil {
			return nil, err
		}
		picker, err := b.stack.Start("llm-d", program, "--config-file="+config, "--pool-name=file-discovery",
			"--pool-namespace=default", fmt.Sprintf("--grpc-port=%d", more),
			fmt.Sprintf("--grpc-health-port=%d", more+1), fmt.Sprintf("--metrics-port=%d", more+2),
			"--metrics-endpoint-auth=false", "--secure-serving=false", "--v=1")
		if err != nil {
			return nil, err
		}
		const streamed = "FULL_DUPLEX_STREAMED"
		envoy, err := startProcessing(ctx, b, "llm-d", processing{AdminPort: more + 3, Port: port, PickerPort: more,
			Request: streamed, Response: streamed, Trailers: "SEND", Header: "x-gateway-destination-endpoint",
			Health: true})
		return []*stack.Process{picker, envoy}, err
	}
}

// writeLLMD writes the picker's document and the list of servers, and returns the path of the former.
func (b *bench) writeLLMD(d document) (string, error) {
	dir, err := os.MkdirTemp(b.stack.Dir, "llm-d-")
	if err != nil {
		return "", err
	}
	var list []map[string]any
	for i := range b.servers {
		list = append(list, map[string]any{"name": fmt.Sprint(serverPrefix, "-", i), "address": "127.0.0.1",
			"port": fmt.Sprint(b.first + i), "labels": map[string]string{"model": "sim-model"}})
	}
	endpoints, err := json.Marshal(map[string]any{"endpoints": list})
	if err != nil {
		return "", err
	}
	servers, config := filepath.Join(dir, "endpoints.yaml"), filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(servers, endpoints, 0o600); err != nil {
		return "", err
	}
	return config, os.WriteFile(config, []byte(d.text(servers)), 0o600)
}

// startAIBrix starts AIBrix's gateway plug-in in its local mode, and its Envoy.
func startAIBrix(ctx context.Context, b *bench, port int) ([]*stack.Process, error) {
	program, err := b.installed("aibrix-gateway-v0.7.0")
	if err != nil {
		return nil, err
	}
	endpoints, err := json.Marshal(map[string]any{"models": []any{map[string]any{"name": "sim-model", "engine": "vllm",
		"endpoints": b.addresses()}}})
	if err != nil {
		return nil, err
	}
	path := filepath.Join(b.stack.Dir, "aibrix-endpoints.yaml")
	if err := os.WriteFile(path, endpoints, 0o600); err != nil {
		return nil, err
	}
	more, err := stack.FreePorts(3)
	if err != nil {
		return nil, err
	}
	picker, err := b.stack.Start("aibrix", "/usr/bin/env", "ROUTING_ALGORITHM=prefix-cache", program, "--standalone",
		"--endpoints-config="+path, "--grpc-bind-address="+stack.Address(more),
		"--http-bind-address="+stack.Address(more+1))
	if err != nil {
		return nil, err
	}
	envoy, err := startProcessing(ctx, b, "aibrix", processing{AdminPort: more + 2, Port: port, PickerPort: more,
		Request: "BUFFERED", Response: "STREAMED", Trailers: "SKIP", Header: "target-pod"})
	return []*stack.Process{picker, envoy}, err
}
