package harness

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"path/filepath"

	"github.com/pintle-dev/pintle/internal/stack"
)

// Cell is one way to run Pintle.
type Cell struct {
	// Hold is pause or buffer.
	Hold string
	// Destination is original-dst or override-host.
	Destination string
}

// Cells are all ways to run Pintle.
func Cells() []Cell {
	return []Cell{
		{"pause", "original-dst"}, {"pause", "override-host"},
		{"buffer", "original-dst"}, {"buffer", "override-host"},
	}
}

// Buffer reports whether Envoy's buffer filter holds the requests.
func (c Cell) Buffer() bool { return c.Hold == "buffer" }

// OverrideHost reports whether Envoy fails over along a ranked list.
func (c Cell) OverrideHost() bool { return c.Destination == "override-host" }

func (c Cell) String() string { return c.Hold + "+" + c.Destination }

// Listener is one listener with Pintle on it.
type Listener struct {
	Name string
	// Plugin are the keys of the plug-in's configuration beside ingest, hold and destination.
	Plugin map[string]any
	// MaxBodyBytes is the longest body that may wait. Default 32 MiB.
	MaxBodyBytes int
	// Carry are headers that plug-ins add to requests. With hold buffer a header_mutation filter sets them.
	Carry []string
	// Ingest marks a listener that takes snapshots; one at a port and one at a socket may be there.
	Ingest bool
	// Environment is the VM's. Listeners share VMs, so all of an Envoy should have the same.
	Environment map[string]string
	// Subset is a subset hint that another filter gives, as JSON; empty for none.
	Subset string
	// Socket is the unix socket to listen on; empty is a free port.
	Socket string

	// Port is chosen by Start.
	Port int
	// PluginJSON is written by Start.
	PluginJSON string
	// bare has the plug-in get no configuration at all.
	bare bool
}

// Token is the bearer token of all ingest listeners.
const Token = "e2e-token"

// Document is an EndpointPickerConfig that prefers the fewest waiting requests; extra plug-ins of the profile come
// first.
func Document(maxEndpoints int, extra ...map[string]any) map[string]any {
	plugins := append(append([]map[string]any{}, extra...),
		map[string]any{"type": "queue-scorer"},
		map[string]any{"type": "max-score-picker", "parameters": map[string]any{"maxNumOfEndpoints": maxEndpoints}})
	var references []map[string]any
	for _, p := range plugins {
		references = append(references, map[string]any{"pluginRef": p["type"]})
	}
	return map[string]any{
		"apiVersion": "inference.networking.x-k8s.io/v1alpha1", "kind": "EndpointPickerConfig", "plugins": plugins,
		"schedulingProfiles": []map[string]any{{"name": "default", "plugins": references}},
	}
}

// render writes Envoy's configuration. The listeners' ports must be chosen.
func render(c Cell, module string, adminPort int, listeners []*Listener, hosts []string) ([]byte, error) {
	config := stack.EnvoyConfig{
		AdminPort: adminPort, Hold: c.Hold, OverrideHost: c.OverrideHost(), Module: filepath.ToSlash(module),
		BothVersions: true,
	}
	for _, host := range hosts {
		address, err := netip.ParseAddrPort(host)
		if err != nil {
			return nil, fmt.Errorf("host %q: %w", host, err)
		}
		config.Hosts = append(config.Hosts, address)
	}
	for _, l := range listeners {
		if err := l.configure(c, listeners); err != nil {
			return nil, err
		}
		config.Listeners = append(config.Listeners, stack.EnvoyListener{
			Name: l.Name, Port: l.Port, Socket: l.Socket, Plugin: l.PluginJSON, Ingest: l.Ingest,
			MaxBodyBytes: l.MaxBodyBytes, Carry: l.Carry, Environment: l.Environment, Subset: l.Subset,
		})
	}
	text, err := config.Text()
	return []byte(text), err
}

// configure writes the plug-in's configuration. Where snapshots are taken is told to every listener, as in envoy.yaml.
func (l *Listener) configure(c Cell, all []*Listener) error {
	if l.bare {
		return nil
	}
	plugin := map[string]any{"hold": c.Hold, "destination": c.Destination}
	for _, other := range all {
		if other.Ingest && other.Socket == "" {
			plugin["ingest"] = map[string]any{"port": other.Port, "token": Token}
		}
	}
	if l.Socket != "" {
		plugin["ingest"] = map[string]any{"socket": l.Socket, "token": Token}
	}
	for key, value := range l.Plugin {
		plugin[key] = value
	}
	text, err := json.Marshal(plugin)
	l.PluginJSON = string(text)
	return err
}
