package mesh

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// Agent is Istio's agent, which stands between istiod and a gateway's Envoy and fetches modules for it.
type Agent struct {
	*harness.Child
	socket string
}

// agentData is where the agent keeps modules; the place is fixed in its source.
const agentData = "/var/lib/istio/data"

// StartAgent starts an agent that may read modules from a registry without TLS.
func (m *Mesh) StartAgent(registry string) (*Agent, error) {
	dir, err := os.MkdirTemp(m.dir, "agent-")
	if err != nil {
		return nil, err
	}
	p := &pod{dir: dir, config: map[string]any{}, variables: []string{"DISABLE_ENVOY=true",
		"WASM_INSECURE_REGISTRIES=" + registry}}
	a := &Agent{socket: filepath.Join(dir, "proxy", "XDS")}
	if a.Child, err = m.startAgentOf(p, "--log_output_level=wasm:debug,xdsproxy:info"); err != nil {
		return nil, err
	}
	return a, waitFile(a.Child, a.socket)
}

// StartCertificates starts an agent that keeps the certificate of a service account in a folder, in a mesh that is
// secure: cert-chain.pem, key.pem and root-cert.pem.
func (m *Mesh) StartCertificates(namespace, account, folder string) (*harness.Child, error) {
	dir, err := os.MkdirTemp(m.dir, "agent-")
	if err != nil {
		return nil, err
	}
	agent, err := m.startAgentOf(&pod{dir: dir, namespace: namespace, account: account, config: map[string]any{},
		variables: []string{"DISABLE_ENVOY=true", "OUTPUT_CERTS=" + folder}})
	if err != nil {
		return nil, err
	}
	return agent, waitFile(agent, filepath.Join(folder, "root-cert.pem")) // the last that it writes
}

// waitFile waits until an agent has made a file.
func waitFile(agent *harness.Child, path string) error {
	for deadline := time.Now().Add(startLimit); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		if agent.Ended() {
			break
		}
	}
	return fmt.Errorf("the agent made no %s:\n%s", path, agent.Log())
}

// makeAgentData makes the place where agents keep modules; Stop removes what was not there before.
func (m *Mesh) makeAgentData() error {
	if _, err := os.Stat(agentData); err == nil {
		return nil
	}
	if err := os.MkdirAll(agentData, 0o755); err != nil {
		return fmt.Errorf("a place for Istio's agent to keep modules: %w", err)
	}
	m.madeAgentData = true
	return nil
}

// Stop ends the agent.
func (a *Agent) Stop() {
	if a != nil {
		a.Child.Stop()
	}
}
