package stack

import (
	_ "embed"
	"net/netip"
	"strings"
	"text/template"
)

// EnvoyConfig is what differs between the Envoys of benchmarks and tests.
type EnvoyConfig struct {
	AdminPort int
	// Hold is how Pintle holds requests: pause or buffer. Empty is an Envoy without Pintle.
	Hold string
	// OverrideHost has Envoy fail over along a ranked list of Hosts, as in envoy.override-host.yaml.
	OverrideHost bool
	// Module is the .wasm file.
	Module string
	// InTheWay is another one, which goes by nothing that it is told, empty for none.
	InTheWay string
	// Hosts are the servers, where Envoy has to know them: with OverrideHost and without Pintle.
	Hosts []netip.AddrPort
	// Balance is the policy by which an Envoy without Pintle chooses, such as ROUND_ROBIN.
	Balance string
	// StorePort is where the sidecar is asked: for conversations, or for exact prefix caches. 0 is nowhere.
	StorePort int
	// ExactBalance spreads connections over the workers evenly, instead of as the kernel happens to.
	ExactBalance bool
	// BothVersions has clients' HTTP/2 and trailers reach the servers as they come.
	BothVersions bool
	Listeners    []EnvoyListener
}

// EnvoyListener is one listener at a port or a unix socket.
type EnvoyListener struct {
	Name   string
	Port   int
	Socket string
	// Plugin is the plug-in's configuration as JSON.
	Plugin string
	// Ingest marks a listener that takes snapshots and forwards nothing.
	Ingest bool
	// MaxBodyBytes is the longest body that may wait. 0 is 32 MiB.
	MaxBodyBytes int
	// Carry are headers that plug-ins add to requests. With hold buffer a header_mutation filter sets them.
	Carry []string
	// Environment is the VM's. Listeners share VMs, so all of an Envoy should have the same.
	Environment map[string]string
	// Subset is a subset hint that another filter gives, as JSON; empty for none.
	Subset string
}

// BodyLimit is MaxBodyBytes or its default.
func (l EnvoyListener) BodyLimit() int {
	if l.MaxBodyBytes > 0 {
		return l.MaxBodyBytes
	}
	return 32 << 20
}

// Buffer reports whether Envoy's buffer filter holds the requests.
func (c EnvoyConfig) Buffer() bool { return c.Hold == "buffer" }

// Destinations are the servers that Envoy has to know.
func (c EnvoyConfig) Destinations() []netip.AddrPort {
	if c.OverrideHost || c.Hold == "" {
		return c.Hosts
	}
	return nil
}

//go:embed envoy.yaml.tmpl
var envoyText string

var envoyTemplate = template.Must(template.New("envoy.yaml").Parse(envoyText))

// Text is Envoy's configuration.
func (c EnvoyConfig) Text() (string, error) {
	var text strings.Builder
	err := envoyTemplate.Execute(&text, c)
	return text.String(), err
}
