package mesh

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pintle-dev/pintle/internal/harness"
)

const (
	// gatewayNamespace is where Envoy Gateway is, and its proxies.
	gatewayNamespace = "envoy-gateway-system"
	// gatewayCertificates is where it and its proxies have certificates, and gatewayData the folder of what it keeps:
	// both are fixed in its source.
	gatewayCertificates, gatewayData = "/certs", "/var/lib"
	// gatewayAdminPort is the proxies' own.
	gatewayAdminPort = 19000
)

// gatewayConfig is Envoy Gateway's. Its own port for administration would be that of the proxy, which has an address of
// its own in a cluster.
const gatewayConfig = `apiVersion: gateway.envoyproxy.io/v1alpha1
kind: EnvoyGateway
gateway: {controllerName: gateway.envoyproxy.io/gatewayclass-controller}
provider:
  type: Kubernetes
  kubernetes: {leaderElection: {disable: true}, proxyTopologyInjector: {disabled: true}}
extensionApis: {enableEnvoyPatchPolicy: true}
admin: {address: {host: 127.0.0.1, port: 19100}}
telemetry: {metrics: {prometheus: {disable: true}}}
`

// GatewayDefinitions are the custom resources of Envoy Gateway, and those of the Gateway API that it comes with.
func GatewayDefinitions() ([]Object, error) {
	const crds = "charts/gateway-helm/charts/crds/crds/"
	return ModuleObjects("envoy-gateway", "github.com/envoyproxy/gateway", crds+"gatewayapi-crds.yaml",
		crds+"generated/*.yaml")
}

// EnvoyGateway is that control plane, in a program that RunAlone has started.
type EnvoyGateway struct {
	*harness.Child
	kube *Kube
	dir  string
}

// StartEnvoyGateway starts it with resources that the API knows already. It ends with Stop.
func (m *Mesh) StartEnvoyGateway() (*EnvoyGateway, error) {
	e := &EnvoyGateway{kube: m.Kube}
	var err error
	if e.dir, err = os.MkdirTemp(m.dir, "envoy-gateway-"); err != nil {
		return nil, err
	}
	path, err := tool("envoy-gateway")
	if err != nil {
		return nil, err
	}
	variables := []string{"KUBECONFIG=" + m.kubeconfig(), "ENVOY_GATEWAY_NAMESPACE=" + gatewayNamespace}
	certificates := exec.Command(path, "certgen", "--disable-topology-injector")
	certificates.Env = append(os.Environ(), variables...)
	if out, err := certificates.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("envoy-gateway certgen: %w\n%s", err, out)
	}
	secret, err := e.mount("Secret", "envoy-gateway")
	if err != nil {
		return nil, err
	}
	data, config := filepath.Join(e.dir, "data"), filepath.Join(e.dir, "config.yaml")
	if err := errors.Join(os.Mkdir(data, 0o755), os.WriteFile(config, []byte(gatewayConfig), 0o600)); err != nil {
		return nil, err
	}
	e.Child, err = startMounted("envoy-gateway", e.dir, variables,
		[][2]string{{secret, gatewayCertificates}, {data, gatewayData}}, path, "server", "--config-path", config)
	return e, err
}

// StartProxy starts Envoy as the pod of a Deployment of Envoy Gateway's would: by its arguments, with what it mounts.
func (e *EnvoyGateway) StartProxy(deployment Object) (*harness.Envoy, error) {
	secret, err := e.mount("Secret", "envoy")
	if err != nil {
		return nil, err
	}
	sds, err := e.mount("ConfigMap", deployment.Name())
	if err != nil {
		return nil, err
	}
	hosts := filepath.Join(e.dir, "hosts")
	service := "envoy-gateway." + gatewayNamespace + ".svc.cluster.local"
	if err := os.WriteFile(hosts, []byte("127.0.0.1 localhost "+service+"\n"), 0o644); err != nil {
		return nil, err
	}
	envoy, err := harness.Built("envoy")
	if err != nil {
		return nil, err
	}
	var args []string
	var config string
	list, _ := Container(deployment, "envoy").At("args").([]any)
	for i := 0; i < len(list); i++ {
		argument := fmt.Sprint(list[i])
		if argument == "--config-yaml" && i+1 < len(list) {
			i++
			// Envoy finds no name with a dot at its end in a file.
			config = strings.NewReplacer("/sds/", sds+"/", service+".", service).Replace(fmt.Sprint(list[i]))
			continue
		}
		args = append(args, strings.ReplaceAll(argument, "$(ENVOY_POD_NAME)", deployment.Name()))
	}
	return harness.StartTextBy(func(file string) (*harness.Child, error) {
		mounts := [][2]string{{secret, gatewayCertificates}, {hosts, "/etc/hosts"}}
		return startMounted("envoy", e.dir, nil, mounts, envoy,
			append(args, "-c", file, "--use-dynamic-base-id")...)
	}, config, gatewayAdminPort)
}

// Container is that of a Deployment's pods that has a name, nil for none.
func Container(deployment Object, name string) Object {
	list, _ := deployment.At("spec", "template", "spec", "containers").([]any)
	for i := range list {
		if c, _ := list[i].(map[string]any); c["name"] == name {
			return c
		}
	}
	return nil
}

// mount writes an object of Envoy Gateway's namespace into a folder, as the kubelet does.
func (e *EnvoyGateway) mount(kind, name string) (folder string, err error) {
	o, err := e.kube.Get(Object{"apiVersion": "v1", "kind": kind,
		"metadata": map[string]any{"name": name, "namespace": gatewayNamespace}})
	if err != nil {
		return "", err
	}
	if folder, err = os.MkdirTemp(e.dir, strings.ToLower(kind)+"-"); err != nil {
		return "", err
	}
	files, _ := o["data"].(map[string]any)
	for file, value := range files {
		text := []byte(fmt.Sprint(value))
		if kind == "Secret" {
			if text, err = base64.StdEncoding.DecodeString(string(text)); err != nil {
				return "", fmt.Errorf("%s, %s: %w", o, file, err)
			}
		}
		if err := os.WriteFile(filepath.Join(folder, file), text, 0o600); err != nil {
			return "", err
		}
	}
	return folder, nil
}

// startMounted starts a program that has some files and folders at other places, too: [2]string{from, to}.
func startMounted(name, dir string, variables []string, mounts [][2]string, path string, args ...string) (
	*harness.Child, error) {
	script := "set -e; "
	for _, m := range mounts {
		script += fmt.Sprintf("mount --bind '%s' '%s'; ", m[0], m[1])
	}
	return harness.StartChild(name, dir, "unshare", variables,
		append([]string{"--mount", "sh", "-c", script + `exec "$0" "$@"`, path}, args...)...)
}
