package mesh

import (
	"errors"
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
	for deadline := time.Now().Add(startLimit); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(a.socket); err == nil {
			return a, nil
		}
		if a.Ended() {
			break
		}
	}
	return a, errors.New("the agent opened no socket:\n" + a.Log())
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
