package mesh

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/harness"
)

// pod is what a Deployment says to Istio's agent in its pods.
type pod struct {
	deployment Object
	config     map[string]any // of the proxy
	variables  []string
	dir        string // where the agent runs
	role       string // router by default

	namespace, account string // whose certificate it gets in a mesh that is secure
}

// StartPod is StartGateway with Istio's agent as the program that starts and ends the Envoy, as in a pod of the
// Deployment, which says how. Envoy is configured by istiod itself, or in a mesh that is secure through the agent.
func (m *Mesh) StartPod(deployment Object) (*harness.Envoy, error) {
	p, err := m.newPod(deployment)
	if err != nil {
		return nil, err
	}
	p.namespace = deployment.namespace()
	p.account, _ = deployment.At("spec", "template", "spec", "serviceAccountName").(string)
	return m.startPod(p, gatewayNode(deployment))
}

// StartSidecar starts Istio's agent with an Envoy as the sidecar of a pod, in a mesh that is secure.
func (m *Mesh) StartSidecar(of Object) (*harness.Envoy, error) {
	p := &pod{role: "sidecar", config: map[string]any{"concurrency": 1}, namespace: of.namespace()}
	p.account, _ = of.At("spec", "serviceAccountName").(string)
	address, _ := of.At("status", "podIP").(string)
	var err error
	if p.dir, err = os.MkdirTemp(m.dir, "agent-"); err != nil {
		return nil, err
	}
	return m.startPod(p, node{Proxy: "sidecar~" + address, Name: of.Name(), Namespace: p.namespace,
		Labels: of.At("metadata", "labels")})
}

func (m *Mesh) startPod(p *pod, n node) (*harness.Envoy, error) {
	socket, certificates := "", ""
	if m.secure {
		socket, certificates = filepath.Join(p.dir, "proxy", "XDS"), filepath.Join(p.dir, certificatesSocket)
		// These pods end at once: nobody is asked to close connections first.
		p.variables = append(p.variables, "EXIT_ON_ZERO_ACTIVE_CONNECTIONS=false")
		p.config["terminationDrainDuration"] = "0s"
	}
	text, adminPort, err := m.bootstrap(n, socket, certificates)
	if err != nil {
		return nil, err
	}
	envoy, err := harness.Built("envoy")
	if err != nil {
		return nil, err
	}
	started, err := harness.StartTextBy(func(file string) (*harness.Child, error) {
		maps.Copy(p.config, map[string]any{"binaryPath": envoy, "customConfigFile": file, "proxyAdminPort": adminPort})
		return m.startAgentOf(p)
	}, text, adminPort)
	return started, m.explained(err)
}

// Bootstrap is what Istio's agent starts the Envoy of a Deployment's pods with: the configuration, by Istio's own
// template, and the arguments.
func (m *Mesh) Bootstrap(deployment Object) (config, arguments string, err error) {
	p, err := m.newPod(deployment)
	if err != nil {
		return "", "", err
	}
	istio, err := moduleDir("istio", "istio.io/istio")
	if err != nil {
		return "", "", err
	}
	// The agent removes the file behind its Envoy.
	kept, told := filepath.Join(p.dir, "bootstrap.json"), filepath.Join(p.dir, "arguments")
	binary := filepath.Join(p.dir, "envoy")
	script := fmt.Appendf(nil, "#!/bin/sh\ncp \"$2\" %q\necho \"$@\" > %q\n", kept, told)
	if err := os.WriteFile(binary, script, 0o700); err != nil {
		return "", "", err
	}
	p.config["binaryPath"] = binary
	template := filepath.Join(istio, "tools", "packaging", "common", "envoy_bootstrap.json")
	agent, err := m.startAgentOf(p, "--templateFile", template)
	if err != nil {
		return "", "", err
	}
	<-agent.Done()
	content, err := os.ReadFile(kept)
	if err != nil {
		return "", "", fmt.Errorf("%w; the agent says:\n%s", err, agent.Log())
	}
	line, err := os.ReadFile(told)
	return string(content), string(line), err
}

// newPod reads a Deployment, one that Istio's injector is to complete or one that istiod has made.
func (m *Mesh) newPod(deployment Object) (*pod, error) {
	p := &pod{deployment: deployment, config: map[string]any{}}
	var err error
	if p.dir, err = os.MkdirTemp(m.dir, "agent-"); err != nil {
		return nil, err
	}
	if err := p.writeAnnotations(); err != nil {
		return nil, err
	}
	if p.proxy("image") == "auto" {
		return p, p.inject()
	}
	return p, m.readVariables(p)
}

// proxy is what is at a path of the proxy's container, the first of the pod.
func (p *pod) proxy(path ...any) any {
	return p.deployment.At(append([]any{"spec", "template", "spec", "containers", 0}, path...)...)
}

func (p *pod) annotations() map[string]any {
	switch annotations := p.deployment.At("spec", "template", "metadata", "annotations").(type) {
	case map[string]any:
		return annotations
	case Object:
		return annotations
	}
	return nil
}

// writeAnnotations writes the annotations where the agent looks for them, as the kubelet does.
func (p *pod) writeAnnotations() error {
	folder := filepath.Join(p.dir, "etc", "istio", "pod")
	var lines strings.Builder
	for name, value := range p.annotations() {
		fmt.Fprintf(&lines, "%s=%q\n", name, value)
	}
	return errors.Join(os.MkdirAll(folder, 0o755),
		os.WriteFile(filepath.Join(folder, "annotations"), []byte(lines.String()), 0o600))
}

// inject makes variables as the injector does.
func (p *pod) inject() error {
	annotation, _ := p.annotations()["proxy.istio.io/config"].(string)
	if err := json.Unmarshal([]byte(annotation), &p.config); err != nil {
		return fmt.Errorf("annotation proxy.istio.io/config: %w", err)
	}
	metadata, _ := p.config["proxyMetadata"].(map[string]any)
	for name, value := range metadata {
		p.variables = append(p.variables, fmt.Sprint(name, "=", value))
	}
	list, _ := p.proxy("env").([]any)
	for i := range list {
		if value, ok := p.proxy("env", i, "value").(string); ok {
			p.variables = append(p.variables, fmt.Sprint(p.proxy("env", i, "name"), "=", value))
		}
	}
	return nil
}

// readVariables takes the variables that are there, with the files they name.
func (m *Mesh) readVariables(p *pod) error {
	list, _ := p.proxy("env").([]any)
	for i := range list {
		name, _ := p.proxy("env", i, "name").(string)
		value, _ := p.proxy("env", i, "value").(string)
		var err error
		switch name {
		case "PROXY_CONFIG":
			err = yaml.Unmarshal([]byte(value), &p.config)
		case "ISTIO_BOOTSTRAP_OVERRIDE":
			value, err = m.mounted(p, value)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if value != "" {
			p.variables = append(p.variables, name+"="+value)
		}
	}
	return nil
}

// mounted writes the file of a mounted ConfigMap and says where.
func (m *Mesh) mounted(p *pod, path string) (string, error) {
	mounts, _ := p.proxy("volumeMounts").([]any)
	volumes, _ := p.deployment.At("spec", "template", "spec", "volumes").([]any)
	for i := range mounts {
		if p.proxy("volumeMounts", i, "mountPath") != filepath.Dir(path) {
			continue
		}
		for v := range volumes {
			volume := func(path ...any) any {
				return p.deployment.At(append([]any{"spec", "template", "spec", "volumes", v}, path...)...)
			}
			if volume("name") != p.proxy("volumeMounts", i, "name") {
				continue
			}
			configMap, err := m.Get(Object{"apiVersion": "v1", "kind": "ConfigMap",
				"metadata": map[string]any{"name": volume("configMap", "name"), "namespace": p.deployment.namespace()}})
			if err != nil {
				return "", err
			}
			text, _ := configMap.At("data", filepath.Base(path)).(string)
			file := filepath.Join(p.dir, filepath.Base(path))
			return file, os.WriteFile(file, []byte(text), 0o600)
		}
	}
	return "", fmt.Errorf("%s is mounted from no ConfigMap", path)
}

// startAgentOf starts the agent of a pod, with certificates in a mesh that is secure. Unless the pod's variables say
// otherwise it starts the Envoy of its configuration, and ends it when it ends itself.
func (m *Mesh) startAgentOf(p *pod, args ...string) (*harness.Child, error) {
	path, err := tool("pilot-agent")
	if err != nil {
		return nil, err
	}
	if err := m.makeAgentData(); err != nil {
		return nil, err
	}
	// The agent would offer its status to the whole network. That it finds the port taken does not stop it.
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	policy := "NONE"
	certificates := []string{"POD_NAMESPACE=default", "FILE_MOUNTED_CERTS=true", "PILOT_CERT_PROVIDER=none"}
	if m.secure {
		policy = "MUTUAL_TLS"
		if certificates, err = m.identify(p); err != nil {
			return nil, errors.Join(err, taken.Close())
		}
	}
	maps.Copy(p.config, map[string]any{"discoveryAddress": m.address(0), "controlPlaneAuthPolicy": policy,
		"configPath": filepath.Join(p.dir, "proxy"), "statusPort": taken.Addr().(*net.TCPAddr).Port})
	text, err := json.Marshal(p.config)
	if err != nil {
		return nil, errors.Join(err, taken.Close())
	}
	child, err := harness.StartChild("pilot-agent", p.dir, path, slices.Concat(p.variables, certificates, []string{
		"POD_NAME=pintle-gateway", "INSTANCE_IP=192.0.2.1", "GRPC_XDS_BOOTSTRAP=", "PROXY_CONFIG=" + string(text)}),
		append([]string{"proxy", cmp.Or(p.role, "router")}, args...)...)
	if err != nil {
		return nil, errors.Join(err, taken.Close())
	}
	go func() {
		<-child.Done()
		_ = taken.Close()
	}()
	return child, nil
}
