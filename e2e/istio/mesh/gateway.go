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
	ports, err := harness.FreePorts(1)
	if err != nil {
		return nil, err
	}
	labels, err := json.Marshal(deployment.At("spec", "template", "metadata", "labels"))
	if err != nil {
		return nil, err
	}
	values := map[string]any{
		"Name": deployment.Name(), "Namespace": deployment.namespace(), "Labels": string(labels), "AdminPort": ports[0],
		"Port": m.ports[0], "Socket": "",
	}
	if agent != nil {
		values["Socket"] = agent.socket
	}
	var text strings.Builder
	if err := bootstrap.Execute(&text, values); err != nil {
		return nil, err
	}
	envoy, err := harness.StartText(text.String(), ports[0])
	if err != nil {
		err = fmt.Errorf("%w\nlast lines of istiod:\n%s", err, m.IstiodLog())
	}
	return envoy, err
}
