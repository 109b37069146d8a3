package mesh

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// certificatesSocket is where an agent has its certificates for Envoy, below the folder that it runs in.
const certificatesSocket = "var/run/secrets/workload-spiffe-uds/socket"

// identify writes what the kubelet mounts into a pod of the mesh: a token of its service account for istiod, and
// istiod's root certificate. It returns the variables by which the agent goes.
func (m *Mesh) identify(p *pod) (variables []string, err error) {
	token, err := m.accountToken(p.namespace, p.account)
	if err != nil {
		return nil, err
	}
	root, err := m.rootCertificate(p.namespace)
	if err != nil {
		return nil, err
	}
	for path, text := range map[string]string{"tokens/istio-token": token, "istio/root-cert.pem": root} {
		path = filepath.Join(p.dir, "var/run/secrets", path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return nil, err
		}
	}
	return []string{"POD_NAMESPACE=" + p.namespace, "SERVICE_ACCOUNT=" + p.account,
		"ISTIOD_SAN=istiod.istio-system.svc"}, nil
}

// accountToken is a token by which a service account shows itself to istiod.
func (k *Kube) accountToken(namespace, account string) (string, error) {
	path := "/api/v1/namespaces/" + namespace + "/serviceaccounts/" + account + "/token"
	answer, err := k.request(http.MethodPost, path, "application/json", []byte(`{"apiVersion": "authentication.k8s.io/v1",
		"kind": "TokenRequest", "spec": {"audiences": ["istio-ca"], "expirationSeconds": 3600}}`))
	if err != nil {
		return "", fmt.Errorf("a token of %s in %s: %w", account, namespace, err)
	}
	var request struct{ Status struct{ Token string } }
	err = json.Unmarshal(answer, &request)
	return request.Status.Token, err
}

// rootCertificate waits for the ConfigMap by which istiod gives its root certificate to a namespace.
func (m *Mesh) rootCertificate(namespace string) (string, error) {
	for deadline := time.Now().Add(startLimit); ; time.Sleep(20 * time.Millisecond) {
		got, err := m.Get(Object{"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": "istio-ca-root-cert", "namespace": namespace}})
		if root, _ := got.At("data", "root-cert.pem").(string); err == nil && root != "" {
			return root, nil
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("istiod gave %s no root certificate: %w\n%s", namespace, err, m.IstiodLog())
		}
	}
}
