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

// StartGateway starts a stock Envoy as the pod of a Deployment, with further arguments. With an agent it is configured
// through that, else by istiod itself.
func (m *Mesh) StartGateway(deployment Object, agent *Agent, args ...string) (*harness.Envoy, error) {
	text, adminPort, err := m.bootstrap(deployment, agent)
	if err != nil {
		return nil, err
	}
	envoy, err := harness.StartText(text, adminPort, args...)
	return envoy, m.explained(err)
}

// bootstrap is the configuration that the deployment's Envoy starts with.
func (m *Mesh) bootstrap(deployment Object, agent *Agent) (text string, adminPort int, err error) {
	ports, err := harness.FreePorts(1)
	if err != nil {
		return "", 0, err
	}
	labels, err := json.Marshal(deployment.At("spec", "template", "metadata", "labels"))
	if err != nil {
		return "", 0, err
	}
	values := map[string]any{
		"Name": deployment.Name(), "Namespace": deployment.namespace(), "Labels": string(labels), "AdminPort": ports[0],
		"Port": m.ports[0], "Socket": "",
	}
	if agent != nil {
		values["Socket"] = agent.socket
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
