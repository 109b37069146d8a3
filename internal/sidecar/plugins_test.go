package sidecar

import (
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// documentYAML is a configuration of the filter with all that its data layer can say. Servers have their metrics at
// port, behind TLS.
func documentYAML(file, port, gpuPort string) string {
	return `config:
  apiVersion: llm-d.ai/v1alpha1
  kind: EndpointPickerConfig
  plugins:
  - {type: file-discovery, parameters: {path: ` + file + `, watchFile: true}}
  - {name: pages, type: metrics-data-source, parameters: {scheme: https, path: /page, port: ` + port +
		`, interval: 60ms}}
  - {name: lists, type: models-data-source, parameters: {scheme: https, path: /lists, interval: 1s}}
  - {type: models-data-extractor}
  - {name: gpus, type: dcgm-data-source, parameters: {port: ` + gpuPort + `, path: /gpus, interval: 60ms}}
  - {type: dcgm-extractor}
  - name: core
    type: core-metrics-extractor
    parameters:
      engineLabelKey: engine
      defaultEngine: mine
      engineConfigs:
      - name: mine
        queuedRequestsSpec: my_requests{state=queued}
        runningRequestsSpec: 'my_requests{state="running"}'
        kvUsageSpec: my_cache_usage
        cacheInfoSpec: my_cache_info
        cacheBlockSizeLabelName: size
        cacheNumBlocksLabelName: number
        customMetrics:
        - {attributeKey: Temperature, metricSpec: 'my_temperature{where=core}'}
        - {attributeKey: Missing, metricSpec: my_missing}
  - type: queue-scorer
  dataLayer:
    injectDefaults: false
    discovery: {pluginRef: file-discovery}
    sources:
    - {pluginRef: pages, extractors: [{pluginRef: core}]}
    - {pluginRef: lists, extractors: [{pluginRef: models-data-extractor}]}
    - {pluginRef: gpus, extractors: [{pluginRef: dcgm-extractor}]}
`
}

const ownPage = `my_requests{state="queued"} 7
my_requests{state="running"} 3
my_cache_usage 0.25
my_cache_info{size="32",number="500"} 1
my_temperature{where="core"} 71.5
my_temperature{where="edge"} 20
vllm:num_requests_waiting 99
`

const gpuPage = `# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).
DCGM_FI_DEV_GPU_UTIL{gpu="0",pod="a",namespace="ns"} 40
DCGM_FI_DEV_GPU_UTIL{gpu="1",pod="a",namespace="ns"} 73
DCGM_FI_DEV_GPU_UTIL{gpu="2",pod="c",namespace="ns"} 99
DCGM_FI_DEV_MEM_COPY_UTIL{gpu="1",pod="a",namespace="ns"} 100
`

// TestPlugins runs the sidecar with a document, and has it do all that the document says.
func TestPlugins(t *testing.T) {
	onePage := func(path, page string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != path {
				http.NotFound(w, r)
				return
			}
			_, _ = io.WriteString(w, page)
		}
	}
	server := httptest.NewTLSServer(onePage("/lists", `{"data":[{"id":"m7"}]}`))
	t.Cleanup(server.Close)
	metrics := httptest.NewTLSServer(onePage("/page", ownPage))
	t.Cleanup(metrics.Close)
	exporter := httptest.NewServer(onePage("/gpus", gpuPage))
	t.Cleanup(exporter.Close)
	folder := t.TempDir()
	file, document := filepath.Join(folder, "endpoints.yaml"), filepath.Join(folder, "filter.yaml")
	const named, detected = "labels: {engine: mine}", "labels: {}"
	list := func(labels ...string) {
		text := "endpoints:\n"
		for i, of := range labels {
			text += fmt.Sprintf("- {name: %c, namespace: ns, address: 127.0.0.1, port: %q, %s}\n", 'a'+i,
				portOf(t, server), of)
		}
		writeFile(t, file, text)
	}
	list(named)
	writeFile(t, document, documentYAML("endpoints.yaml", portOf(t, metrics), portOf(t, exporter)))
	in, url := newIngest(t)
	r := startWith(t, func(admin string) string {
		return configYAML(admin, url, "{static: "+staticYAML("gone", "127.0.0.1:1")+"}")
	}, "-plugins", document)
	got := in.await("a sample, the GPUs, and the models", func(r *received) bool {
		return r.waiting("ns/a") == 7 && !math.IsNaN(r.load.Endpoints[0].Attributes[0]) &&
			len(r.topology.Endpoints[0].Models) > 0
	})
	e := got.load.Endpoints[0]
	if len(got.topology.Endpoints) != 1 || e.RunningRequests != 3 || e.KVCacheUsage != 0.25 || e.KVBlockTokens != 32 ||
		e.KVBlocks != 500 {
		t.Errorf("got the endpoints %+v with %+v", got.topology.Endpoints, e)
	}
	if got.topology.Endpoints[0].Models[0] != "m7" {
		t.Errorf("got the models %v, want m7", got.topology.Endpoints[0].Models)
	}
	names := strings.Join(got.load.Attributes, " ")
	const want = "GPUUtilization/dcgm-extractor Temperature/core-metrics-extractor Missing/core-metrics-extractor"
	if names != want || e.Attributes[0] != 0.73 || e.Attributes[1] != 71.5 || !math.IsNaN(e.Attributes[2]) {
		t.Errorf("got the attributes %s: %v, want %s: 0.73, 71.5, NaN", names, e.Attributes, want)
	}
	list(named, detected)
	got = in.await("the file's second server", func(r *received) bool { return r.waiting("ns/b") == 7 })
	if gpu := got.load.Endpoints[1].Attributes[0]; !math.IsNaN(gpu) {
		t.Errorf("got %v for the GPUs of a pod that the exporter does not name, want NaN", gpu)
	}
	if r.stop() != 0 {
		t.Errorf("the sidecar did not end cleanly")
	}
}

func portOf(t *testing.T, server *httptest.Server) string {
	t.Helper()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// dataYAML is a document with data sources of these parameters for metrics and for models.
func dataYAML(metrics, models string) string {
	return `config:
  plugins:
  - {name: pages, type: metrics-data-source, parameters: {` + metrics + `}}
  - {type: core-metrics-extractor}
  - {name: lists, type: models-data-source, parameters: {` + models + `}}
  - {type: models-data-extractor}
  - {type: queue-scorer}
  dataLayer:
    sources:
    - {pluginRef: pages, extractors: [{pluginRef: core-metrics-extractor}]}
    - {pluginRef: lists, extractors: [{pluginRef: models-data-extractor}]}
`
}

// TestPluginsMistakes: the sidecar does not start with a document, or a list of servers, that is wrong.
func TestPluginsMistakes(t *testing.T) {
	tests := []struct{ name, document, list, want string }{
		{"a wrong document", "config: {plugins: [{type: queue}]}", "endpoints: []", `"queue" is not a known plug-in`},
		{"a wrong port", documentYAML("list.yaml", "1", "1"), "endpoints: [{name: a, address: 10.0.0.1, port: x}]",
			`"x" is no port`},
		{"no address", documentYAML("list.yaml", "1", "1"), "endpoints: [{name: a, address: host, port: '1'}]",
			`is no address`},
		{"no list", documentYAML("none.yaml", "1", "1"), "endpoints: []", "filter.yaml: file-discovery: path: open "},
		{"no authority for metrics", dataYAML("scheme: https, caCertPath: none.pem", ""), "endpoints: []",
			"filter.yaml: metrics-data-source: caCertPath: open "},
		{"no authority for models", dataYAML("", "scheme: https, caCertPath: none.pem"), "endpoints: []",
			"filter.yaml: models-data-source: caCertPath: open "},
		{"no certificate", dataYAML("scheme: https, clientCertPath: none.pem, clientKeyPath: none.key", ""),
			"endpoints: []", "filter.yaml: metrics-data-source: clientCertPath: "},
		{"one twice", documentYAML("list.yaml", "1", "1"),
			"endpoints: [{name: a, address: 10.0.0.1, port: 1}, {name: a, address: 10.0.0.1, port: 2}]", `"default/a"`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			folder := t.TempDir()
			path, document := filepath.Join(folder, "sidecar.yaml"), filepath.Join(folder, "filter.yaml")
			writeFile(t, path, configYAML("127.0.0.1:0", "'http://127.0.0.1:1'", "{static: []}"))
			writeFile(t, document, tc.document)
			writeFile(t, filepath.Join(folder, "list.yaml"), tc.list)
			log := &harness.Log{}
			code := Command(t.Context(), []string{"-c", path, "-plugins", document, "-check"}, io.Discard, log)
			if code != 2 || !strings.Contains(log.String(), tc.want) {
				t.Errorf("got %d and %s, want 2 and %s", code, log, tc.want)
			}
		})
	}
}
