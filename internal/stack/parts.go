package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// startLimit is how long a process may take to be ready on a busy machine.
const startLimit = 60 * time.Second

// Sims starts simulated servers on count consecutive ports, with further flags of pintle sim, and waits until they
// answer. They are called PREFIX-0 and so on, and a single one PREFIX.
func (s *Stack) Sims(ctx context.Context, name, prefix string, firstPort, count int,
	flags ...string) (*Process, error) {
	args := append([]string{"sim", "-name", prefix, "-address", Address(firstPort), "-count", strconv.Itoa(count)},
		flags...)
	p, err := s.Start(name, filepath.Join(s.Root, "bin", "pintle"), args...)
	if err != nil {
		return nil, err
	}
	last := "http://" + Address(firstPort+count-1) + "/health"
	return p, p.waitUntil(ctx, func() bool { return Get(last, nil) == nil })
}

// Envoy starts an Envoy with two workers and waits until it is ready at its admin port, which stands in the
// configuration.
func (s *Stack) Envoy(ctx context.Context, name, config string, adminPort int) (*Process, error) {
	path := filepath.Join(s.Dir, name+".yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return nil, err
	}
	p, err := s.Start(name, filepath.Join(s.Root, "bin", "envoy"), "-c", path, "--concurrency", "2",
		"--use-dynamic-base-id", "--log-level", "warning")
	if err != nil {
		return nil, err
	}
	ready := "http://" + Address(adminPort) + "/ready"
	return p, p.waitUntil(ctx, func() bool { return Get(ready, nil) == nil })
}

// Sidecar is the configuration of a sidecar.
type Sidecar struct {
	// IngestPorts are where the Envoys take snapshots, with Token.
	IngestPorts []int
	Token       string
	AdminPort   int
	Endpoints   []Endpoint
	// Unfollowed leaves the Envoys' journals alone.
	Unfollowed bool
	// StorePort is where it keeps conversations, 0 for nowhere: in Redis at the URL Redis, in memory without one.
	StorePort int
	Redis     string
	// PrefixPort is where it is asked for exact prefix caches, 0 for nowhere, which Plugins configures, an
	// EndpointPickerConfig as JSON.
	PrefixPort int
	Plugins    string
	// Replicated is the address of a Redis by which it shares what it knows; empty for not at all.
	Replicated string
}

// Endpoint is a model server by name and ip:port.
type Endpoint struct {
	Name    string `json:"name"`
	Address string `json:"address"`
}

// Endpoints names the servers that Sims starts.
func Endpoints(prefix string, firstPort, count int) []Endpoint {
	endpoints := make([]Endpoint, count)
	for i := range endpoints {
		endpoints[i] = Endpoint{prefix + "-" + strconv.Itoa(i), Address(firstPort + i)}
	}
	return endpoints
}

// file is the configuration as JSON, which is YAML too.
func (c Sidecar) file() ([]byte, error) {
	ingest := make([]string, len(c.IngestPorts))
	for i, port := range c.IngestPorts {
		ingest[i] = "http://" + Address(port) + "/pintle/v1/snapshot"
	}
	sections := map[string]any{
		"envoy":     map[string]any{"ingest": ingest, "token": c.Token},
		"admin":     map[string]any{"address": Address(c.AdminPort), "pprof": true},
		"scrape":    map[string]any{"interval": "50ms"},
		"follow":    map[string]any{"enabled": !c.Unfollowed},
		"discovery": map[string]any{"static": c.Endpoints},
	}
	if c.StorePort > 0 {
		backend := map[string]any{"inMemoryConfig": map[string]any{"ttl": "1h"}}
		if c.Redis != "" {
			backend = map[string]any{"tieredConfig": map[string]any{"redis": map[string]any{"address": c.Redis}}}
		}
		sections["responses"] = map[string]any{"address": Address(c.StorePort), "storeConfig": backend}
	}
	if c.PrefixPort > 0 {
		sections["prefix"] = map[string]any{"address": Address(c.PrefixPort)}
	}
	if c.Replicated != "" {
		sections["replicate"] = map[string]any{"redis": "redis://" + c.Replicated, "gateway": "measured"}
	}
	return json.MarshalIndent(sections, "", "  ")
}

// Sidecar starts a sidecar and waits until it has sampled every endpoint and every Envoy has taken a snapshot.
func (s *Stack) Sidecar(ctx context.Context, name string, c Sidecar) (*Process, error) {
	content, err := c.file()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.Dir, name+".yaml")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return nil, err
	}
	args := []string{"sidecar", "-c", path}
	if c.Plugins != "" {
		plugins := filepath.Join(s.Dir, name+"-plugins.yaml")
		if err := os.WriteFile(plugins, []byte(c.Plugins), 0o600); err != nil {
			return nil, err
		}
		args = append(args, "-plugins", plugins)
	}
	p, err := s.Start(name, filepath.Join(s.Root, "bin", "pintle"), args...)
	if err != nil {
		return nil, err
	}
	return p, p.waitUntil(ctx, func() bool { return sidecarReady("http://" + Address(c.AdminPort)) })
}

func sidecarReady(admin string) bool {
	var list struct {
		Endpoints []struct {
			Metrics *struct{} `json:"metrics"`
		} `json:"endpoints"`
	}
	if Get(admin+"/healthz", nil) != nil || Get(admin+"/endpoints", &list) != nil {
		return false
	}
	for _, e := range list.Endpoints {
		if e.Metrics == nil {
			return false
		}
	}
	return true
}

// waitUntil waits for a process to be ready. The error says what became of it instead.
func (p *Process) waitUntil(ctx context.Context, ready func() bool) error {
	deadline := time.After(startLimit)
	for {
		if ready() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.done:
			return p.fail("ended at its start")
		case <-deadline:
			return p.fail(fmt.Sprintf("is not ready after %v", startLimit))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Counters are what an Envoy has counted since its start under names with a prefix and a point, by what comes behind
// these.
func Counters(adminPort int, prefix string) (map[string]int64, error) {
	var page struct {
		Stats []struct {
			Name  string
			Value any
		}
	}
	address := "http://" + Address(adminPort) + "/stats?usedonly&format=json&filter=" + prefix
	if err := Get(address, &page); err != nil {
		return nil, err
	}
	counters := map[string]int64{}
	for _, s := range page.Stats {
		_, name, found := strings.Cut(s.Name, prefix+".")
		if n, ok := s.Value.(float64); ok && found {
			counters[name] += int64(n)
		}
	}
	return counters, nil
}

// Get is GetWithin two seconds.
func Get(url string, into any) error { return GetWithin(2*time.Second, url, into) }

// GetWithin asks for a page, which must be 200 and there within a time, and reads it as JSON unless into is nil.
func GetWithin(limit time.Duration, url string, into any) error {
	client := http.Client{Timeout: limit}
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(into)
}
