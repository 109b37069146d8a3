package shipped_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	goyaml "go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/explain"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/shipped"
	"github.com/pintle-dev/pintle/journal"
)

const root = "../.."

// copies are the files that hold the configuration.
var copies = []string{
	"envoy.override-host.yaml", "envoy.yaml", "istio/base/wasmplugin.yaml", "istio/chart/config.yaml",
	"istio/components/pause/envoyfilter.yaml", "istio/components/plugins/kustomization.yaml",
	"istio/envoy-gateway.yaml",
}

// TestCopies: every EndpointPickerConfig in what is shipped is the one of this package, with three endpoints ranked for
// what fails over.
func TestCopies(t *testing.T) {
	var want any
	if err := json.Unmarshal([]byte(shipped.JSON()), &want); err != nil {
		t.Fatal(err)
	}
	rank(want)
	var holders []string
	for _, file := range shippedFiles(t) {
		for _, got := range documents(t, file) {
			if !slices.Contains(holders, file) {
				holders = append(holders, file)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s:\n%v\nwant\n%v", file, got, want)
			}
		}
	}
	if slices.Sort(holders); !slices.Equal(holders, copies) {
		t.Errorf("an EndpointPickerConfig is in\n%v\nwant\n%v", holders, copies)
	}
}

// rank has the picker name three endpoints.
func rank(document any) {
	plugins, _ := document.(map[string]any)["plugins"].([]any)
	for _, plugin := range plugins {
		if p, _ := plugin.(map[string]any); p["type"] == "max-score-picker" {
			p["parameters"] = map[string]any{"maxNumOfEndpoints": 3.0}
		}
	}
}

// shippedFiles are the YAML files that users apply. Templates of the chart are filled from its values.
func shippedFiles(t *testing.T) (files []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != "." && (!strings.HasPrefix(path, "istio") || path == "istio/chart/templates") {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".yaml") {
			files = append(files, path)
		}
		return nil
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	return files
}

// documents are the EndpointPickerConfigs in a file, also those in JSON or YAML within strings.
func documents(t *testing.T, file string) (found []any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	for decoder := goyaml.NewDecoder(bytes.NewReader(text)); ; {
		var document any
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		find(document, &found)
	}
}

func find(node any, found *[]any) {
	switch node := node.(type) {
	case map[string]any:
		if _, ok := node["schedulingProfiles"]; ok || node["kind"] == "EndpointPickerConfig" {
			// Numbers and maps as encoding/json has them.
			text, _ := json.Marshal(node)
			var document any
			_ = json.Unmarshal(text, &document)
			*found = append(*found, document)
			return
		}
		for _, child := range node {
			find(child, found)
		}
	case []any:
		for _, child := range node {
			find(child, found)
		}
	case string:
		var document map[string]any
		if json.Unmarshal([]byte(node), &document) == nil || goyaml.Unmarshal([]byte(node), &document) == nil {
			find(document, found)
		}
	}
}

// TestPrefixAgainstLoad: with every copy a long prompt goes where it went before while that server is about as busy as
// the others, and elsewhere when 16 requests more are there.
func TestPrefixAgainstLoad(t *testing.T) {
	for _, file := range copies {
		for _, servers := range []int{2, 8} {
			t.Run(fmt.Sprint(file, " ", servers), func(t *testing.T) {
				for _, document := range documents(t, file) {
					text, err := json.Marshal(document)
					if err != nil {
						t.Fatal(err)
					}
					checkAgainstLoad(t, string(text), servers)
				}
			})
		}
	}
}

func checkAgainstLoad(t *testing.T, document string, servers int) {
	const now = int64(1_700_000_000_000_000_000)
	long := explain.Request{Body: []byte(`{"model":"m","prompt":"` +
		strings.Repeat("a prompt of 4,000 tokens ", 16000/25) + `"}`)}
	for seed := range uint64(4) {
		fleet := idle(t, servers, now)
		x := explainer(t, document, fleet, seed)
		first := x.Explain(long, now).Destination[0]
		if again := x.Explain(long, now).Destination[0]; again != first {
			t.Fatalf("seed %d: the prompt went to %s, and again while it is in flight there to %s", seed, first, again)
		}
		sent := 2
		for ; sent < 16 && x.Explain(long, now).Destination[0] == first; sent++ {
		}
		if sent == 16 {
			t.Errorf("seed %d: 16 requests in a row went to %s", seed, first)
		}
		// The same as the next sample shows it, some of it sent since.
		for sampled := 0; sampled <= 16; sampled += 8 {
			fleet := idle(t, servers, now)
			x := explainer(t, document, fleet, seed)
			first := x.Explain(long, now).Destination[0]
			for i := range fleet.Endpoints {
				if e := &fleet.Endpoints[i]; e.Address == first {
					e.Metrics.RunningRequests = sampled
					for lease := range uint32(15) {
						fleet.State.Apply(&journal.Event{Kind: journal.Decision, Time: now + 1, Instance: 3,
							Lease: lease + 1, Primary: fleet.ID(e)})
					}
				}
			}
			if again := x.Explain(long, now).Destination[0]; again == first {
				t.Fatalf("seed %d: with 16 requests in flight at %s, %d of them sampled, and none elsewhere it is "+
					"chosen again", seed, first, sampled)
			}
		}
	}
}

// idle is a fleet of servers that do nothing.
func idle(t *testing.T, servers int, now int64) *explain.Fleet {
	t.Helper()
	list := "endpoints:\n"
	for i := range servers {
		list += fmt.Sprintf(
			"- {name: s%d, address: \"10.0.0.%d:8000\", metrics: {waiting: 0, running: 0, kvCacheUsage: 0}}\n", i, i+1)
	}
	fleet, err := explain.ReadEndpoints([]byte(list), now)
	if err != nil {
		t.Fatal(err)
	}
	return fleet
}

func explainer(t *testing.T, document string, fleet *explain.Fleet, seed uint64) *explain.Explainer {
	t.Helper()
	config, err := pluginconfig.Parse([]byte(`{"config":` + document + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return explain.New(config, fleet, seed)
}
