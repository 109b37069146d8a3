package mesh

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// Agent is Istio's agent, which stands between istiod and a gateway's Envoy and fetches modules for it.
type Agent struct {
	*harness.Child
	socket string
	taken  net.Listener
}

// agentData is where the agent keeps modules; the place is fixed in its source.
const agentData = "/var/lib/istio/data"

// StartAgent starts an agent that may read modules from a registry without TLS.
func (m *Mesh) StartAgent(registry string) (*Agent, error) {
	path, err := tool("pilot-agent")
	if err != nil {
		return nil, err
	}
	if err := m.makeAgentData(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(m.dir, "agent-")
	if err != nil {
		return nil, err
	}
	// The agent would offer its status to the whole network. That it finds the port taken does not stop it.
	a := &Agent{socket: filepath.Join(dir, "proxy", "XDS")}
	if a.taken, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	config := fmt.Sprintf("{discoveryAddress: %q, controlPlaneAuthPolicy: NONE, configPath: %q, statusPort: %d}",
		m.address(0), filepath.Dir(a.socket), port(a.taken))
	a.Child, err = harness.StartChild("pilot-agent", dir, path, append(agentVariables(config), "DISABLE_ENVOY=true",
		"WASM_INSECURE_REGISTRIES="+registry), "proxy", "router", "--log_output_level=wasm:debug,xdsproxy:info")
	if err != nil {
		return a, err
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

// agentVariables are the environment of an agent without certificates.
func agentVariables(config string) []string {
	return []string{"POD_NAME=pintle-gateway", "POD_NAMESPACE=default", "INSTANCE_IP=192.0.2.1",
		"FILE_MOUNTED_CERTS=true", "PILOT_CERT_PROVIDER=none", "GRPC_XDS_BOOTSTRAP=", "PROXY_CONFIG=" + config}
}

func port(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

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
		_ = a.taken.Close()
	}
}
