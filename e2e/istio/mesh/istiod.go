package mesh

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/harness"
)

//go:embed mesh.yaml
var meshConfig []byte

// Mesh is a control plane.
type Mesh struct {
	*Kube
	dir     string
	istiod  *harness.Child
	ports   []int // of istiod: xDS, HTTP, monitoring, introspection
	secure  bool  // xDS with certificates, which istiod signs
	ambient bool  // requests to pods of the ambient mode go through tunnels

	madeAgentData bool
}

// Start starts a control plane with Istio's resources known to the API. It ends with Stop, also when there was an
// error.
func Start(dir string) (*Mesh, error) {
	m := &Mesh{dir: dir}
	var err error
	if m.Kube, err = StartKube(dir); err != nil {
		return m, err
	}
	return m, m.startIstio(istioCRDs, gatewayCRDs, injector)
}

// Secure adds istiod to a program that RunAlone has started, with all that makes certificates: it signs them for
// whoever shows the token of a service account, and workloads that have one speak mTLS with each other.
func (m *Mesh) Secure() error {
	m.secure = true
	return m.startIstio(istioCRDs)
}

// startIstio starts istiod with resources that the API has to know first.
func (m *Mesh) startIstio(resources ...func() ([]Object, error)) error {
	if err := m.Apply(Namespace("istio-system")); err != nil {
		return err
	}
	for _, prepared := range resources {
		objects, err := prepared()
		if err == nil {
			err = m.Apply(objects...)
		}
		if err != nil {
			return err
		}
	}
	config := meshConfig
	if m.secure {
		config = bytes.Replace(config, []byte("enableAutoMtls: false"), []byte("enableAutoMtls: true"), 1)
	}
	err := os.WriteFile(filepath.Join(m.dir, "mesh.yaml"), config, 0o600)
	if err != nil {
		return err
	}
	if m.ports, err = harness.FreePorts(4); err != nil {
		return err
	}
	return m.StartIstiod()
}

// Namespace is an object of that kind.
func Namespace(name string) Object {
	return Object{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}
}

// istioCRDs are the definitions of the Istio that istiod was built from.
func istioCRDs() ([]Object, error) {
	return ModuleObjects("istio", "istio.io/istio", "manifests/charts/base/files/crd-all.gen.yaml")
}

// gatewayCRDs are the definitions of the Gateway API's standard channel, of the version that istiod was built with.
func gatewayCRDs() ([]Object, error) {
	const crds = "config/crd/standard/gateway.networking.k8s.io_"
	return ModuleObjects("istio", "sigs.k8s.io/gateway-api", crds+"gateway*.yaml", crds+"listenersets.yaml",
		crds+"*routes.yaml", crds+"*policies.yaml", crds+"referencegrants.yaml")
}

// injector is the ConfigMap that has the templates for pods, with istiod's own for a Gateway of the Gateway API.
func injector() ([]Object, error) {
	dir, err := moduleDir("istio", "istio.io/istio")
	if err != nil {
		return nil, err
	}
	out, err := Run(dir, "helm", "template", "istiod", "manifests/charts/istio-control/istio-discovery", "--namespace",
		"istio-system", "--set", "global.tag=1.31.0", "--show-only", "templates/istiod-injector-configmap.yaml")
	if err != nil {
		return nil, err
	}
	return Parse([]byte(out))
}

// ModuleObjects are the objects in files of a Go module, which build/FOLDER pins. Names of files may have wildcards.
func ModuleObjects(folder, module string, files ...string) ([]Object, error) {
	dir, err := moduleDir(folder, module)
	if err != nil {
		return nil, err
	}
	var objects []Object
	for _, file := range files {
		paths, err := filepath.Glob(filepath.Join(dir, file))
		if err != nil || len(paths) == 0 {
			return nil, fmt.Errorf("%s has no %s: %w", module, file, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			more, err := Parse(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			objects = append(objects, more...)
		}
	}
	return objects, nil
}

// moduleDir is where the files of a Go module are, which build/FOLDER pins.
func moduleDir(folder, module string) (string, error) {
	download := exec.Command("go", "mod", "download", "-json", module)
	download.Dir = filepath.Join(harness.Root(), "build", folder)
	out, err := download.Output()
	if err != nil {
		return "", fmt.Errorf("the Go module %s: %w", module, err)
	}
	var downloaded struct{ Dir string }
	err = json.Unmarshal(out, &downloaded)
	return downloaded.Dir, err
}

// istiodSettings keep out of the configuration what a stock Envoy does not have.
var istiodSettings = []string{
	"POD_NAME=istiod", "POD_NAMESPACE=istio-system",
	"INJECTION_WEBHOOK_CONFIG_NAME=", "VALIDATION_WEBHOOK_CONFIG_NAME=",
	"PILOT_ENABLE_ALPN_FILTER=false", "PILOT_ENABLE_METADATA_EXCHANGE=false",
}

// StartIstiod starts istiod where it was before.
func (m *Mesh) StartIstiod() error {
	path, err := tool("pilot-discovery")
	if err != nil {
		return err
	}
	settings, plain, secured := istiodSettings, "", m.address(0)
	if m.ambient {
		settings = append(slices.Clip(settings), "PILOT_ENABLE_AMBIENT=true")
	}
	if !m.secure {
		settings = append(slices.Clip(settings), "ENABLE_CA_SERVER=false", "PILOT_CERT_PROVIDER=none")
		plain, secured = secured, plain
	}
	m.istiod, err = harness.StartChild("istiod", m.dir, path, settings, "discovery",
		"--kubeconfig", m.kubeconfig(), "--meshConfig", filepath.Join(m.dir, "mesh.yaml"),
		"--networksConfig", filepath.Join(m.dir, "no-networks.yaml"),
		"--grpcAddr", plain, "--httpAddr", m.address(1), "--monitoringAddr", m.address(2), "--secureGRPCAddr", secured,
		"--httpsAddr=",
		"--ctrlz_address", "127.0.0.1", "--ctrlz_port", fmt.Sprint(m.ports[3]))
	if err != nil {
		return err
	}
	return waitReady(m.istiod, http.DefaultClient, "http://"+m.address(1)+"/ready")
}

// Ambient starts istiod anew, with what ambient mode needs.
func (m *Mesh) Ambient() error {
	m.istiod.Stop()
	m.ambient = true
	return m.StartIstiod()
}

// KillIstiod ends istiod without a chance to say goodbye.
func (m *Mesh) KillIstiod() { m.istiod.Kill() }

func (m *Mesh) address(i int) string { return fmt.Sprintf("127.0.0.1:%d", m.ports[i]) }

// IstiodLog returns the end of istiod's log.
func (m *Mesh) IstiodLog() string {
	if m.istiod == nil {
		return ""
	}
	return m.istiod.Log()
}

// Stop ends the control plane.
func (m *Mesh) Stop() {
	if m != nil {
		m.istiod.Stop()
		m.Kube.StopKube()
		if m.madeAgentData {
			_ = os.RemoveAll(agentData) // the next run does without
		}
	}
}

// Run runs one of the tools to its end and returns what it wrote; the error holds what it wrote to stderr.
func Run(dir, name string, args ...string) (string, error) {
	out, _, err := run(dir, name, args)
	return out, err
}

// Warnings is Run, but returns what the tool wrote to stderr though nothing failed.
func Warnings(dir, name string, args ...string) (string, error) {
	_, warnings, err := run(dir, name, args)
	return warnings, err
}

func run(dir, name string, args []string) (out, warnings string, err error) {
	path, err := tool(name)
	if err != nil {
		return "", "", err
	}
	var stdout, stderr strings.Builder
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), stderr.String(), err
}
