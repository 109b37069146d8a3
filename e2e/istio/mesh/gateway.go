package mesh

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"

	"github.com/pintle-dev/pintle/internal/harness"
)

//go:embed bootstrap.yaml.tmpl
var bootstrapText string

var bootstrap = template.Must(template.New("bootstrap.yaml").Parse(bootstrapText))

// StartGateway starts a stock Envoy as the pod of a Deployment. With an agent it is configured through that, else by
// istiod itself.
func (m *Mesh) StartGateway(deployment Object, agent *Agent) (*harness.Envoy, error) {
	socket := ""
	if agent != nil {
		socket = agent.socket
	}
	text, adminPort, err := m.bootstrap(gatewayNode(deployment), socket, "")
	if err != nil {
		return nil, err
	}
	envoy, err := harness.StartText(text, adminPort)
	return envoy, m.explained(err)
}

// node is what a proxy says of itself.
type node struct {
	Proxy           string // type~ip
	Name, Namespace string
	Labels          any
}

// gatewayNode is that of a Deployment's proxy. No endpoint may have its address, or istiod would take that one's labels
// for the gateway's.
func gatewayNode(deployment Object) node {
	return node{Proxy: "router~192.0.2.1", Name: deployment.Name(), Namespace: deployment.namespace(),
		Labels: deployment.At("spec", "template", "metadata", "labels")}
}

// bootstrap is the configuration that an Envoy starts with. Where an agent's sockets are named it gets everything
// through that, and certificates, else from istiod itself.
func (m *Mesh) bootstrap(n node, socket, certificates string) (text string, adminPort int, err error) {
	ports, err := harness.FreePorts(1)
	if err != nil {
		return "", 0, err
	}
	labels, err := json.Marshal(n.Labels)
	if err != nil {
		return "", 0, err
	}
	values := map[string]any{
		"Proxy": n.Proxy, "Name": n.Name, "Namespace": n.Namespace, "Labels": string(labels), "AdminPort": ports[0],
		"Port": m.ports[0], "Socket": socket, "Certificates": certificates,
	}
	var b strings.Builder
	err = bootstrap.Execute(&b, values)
	return b.String(), ports[0], err
}

// explained adds istiod's word to why a gateway does not start.
func (m *Mesh) explained(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w\nlast lines of istiod:\n%s", err, m.IstiodLog())
}
