package mesh

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// startLimit is how long a program may take to start on a busy machine.
const startLimit = 2 * time.Minute

// Kube is a Kubernetes API without anything that acts on what is written there.
type Kube struct {
	etcd, server *harness.Child
	dir, url     string
	ports        []int // of etcd: for clients and for peers; of the API
	client       *http.Client
	resources    map[string]resource // by apiVersion/kind
}

// resource is how the API calls a kind.
type resource struct {
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	Namespaced bool   `json:"namespaced"`
}

// token is the bearer token of the one user, who may do everything.
const token = "e2e"

// StartKube starts etcd and kube-apiserver with their files in dir. It ends with StopKube, also when there was an
// error.
func StartKube(dir string) (*Kube, error) {
	ports, err := harness.FreePorts(3)
	if err != nil {
		return nil, err
	}
	k := &Kube{dir: dir, ports: ports, url: fmt.Sprintf("https://127.0.0.1:%d", ports[2]),
		resources: map[string]resource{}}
	if err := k.startEtcd(ports[0], ports[1]); err != nil {
		return k, err
	}
	if err := k.StartServer(); err != nil {
		return k, err
	}
	return k, k.writeConfig()
}

// StopServer ends kube-apiserver. What it knew is in etcd.
func (k *Kube) StopServer() { k.server.Stop() }

// StartServer starts kube-apiserver, at first or again, where it was.
func (k *Kube) StartServer() error { return k.startServer(k.ports[0], k.ports[2]) }

func (k *Kube) startEtcd(port, peers int) error {
	path, err := tool("etcd")
	if err != nil {
		return err
	}
	url, peerURL := fmt.Sprintf("http://127.0.0.1:%d", port), fmt.Sprintf("http://127.0.0.1:%d", peers)
	k.etcd, err = harness.StartChild("etcd", k.dir, path, nil,
		"--data-dir", filepath.Join(k.dir, "etcd"), "--listen-client-urls", url, "--advertise-client-urls", url,
		"--listen-peer-urls", peerURL, "--initial-advertise-peer-urls", peerURL, "--initial-cluster",
		"default="+peerURL,
		"--unsafe-no-fsync", "--log-level", "warn")
	if err != nil {
		return err
	}
	return waitReady(k.etcd, http.DefaultClient, url+"/health")
}

func (k *Kube) startServer(etcdPort, port int) error {
	path, err := tool("kube-apiserver")
	if err != nil {
		return err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	keyFile, tokens := filepath.Join(k.dir, "sa.key"), filepath.Join(k.dir, "tokens.csv")
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if err := errors.Join(os.WriteFile(keyFile, text, 0o600),
		os.WriteFile(tokens, []byte(token+",admin,admin,system:masters\n"), 0o600)); err != nil {
		return err
	}
	k.server, err = harness.StartChild("kube-apiserver", k.dir, path, nil,
		"--etcd-servers", fmt.Sprintf("http://127.0.0.1:%d", etcdPort), "--bind-address", "127.0.0.1",
		"--advertise-address", "127.0.0.1", "--secure-port", fmt.Sprint(port), "--cert-dir", k.dir,
		"--token-auth-file", tokens, "--authorization-mode", "RBAC", "--anonymous-auth=false",
		"--service-account-issuer", "https://e2e.local", "--service-account-key-file", keyFile,
		"--service-account-signing-key-file", keyFile, "--service-cluster-ip-range", "10.0.0.0/24",
		// There is no controller that would create the accounts' tokens, and no node to advertise.
		"--disable-admission-plugins", "ServiceAccount", "--endpoint-reconciler-type", "none")
	if err != nil {
		return err
	}
	// The server signs a certificate for itself at its start.
	roots := x509.NewCertPool()
	for deadline := time.Now().Add(startLimit); ; time.Sleep(20 * time.Millisecond) {
		certificate, err := os.ReadFile(k.certificate())
		if err == nil && roots.AppendCertsFromPEM(certificate) {
			break
		}
		if k.server.Ended() || time.Now().After(deadline) {
			return fmt.Errorf("kube-apiserver wrote no certificate: %w\n%s", err, k.server.Log())
		}
	}
	k.client = newClient(roots)
	return waitReady(k.server, k.client, k.url+"/readyz")
}

func (k *Kube) certificate() string { return filepath.Join(k.dir, "apiserver.crt") }

// kubeconfig is the file by which others find the API.
func (k *Kube) kubeconfig() string { return filepath.Join(k.dir, "kubeconfig") }

// Kubeconfig writes a file by which user finds the API: system:serviceaccount:NAMESPACE:NAME is a service account.
func (k *Kube) Kubeconfig(user string) (path string, err error) {
	text, err := os.ReadFile(k.kubeconfig())
	if err != nil {
		return "", err
	}
	path = filepath.Join(k.dir, "kubeconfig-"+strings.ReplaceAll(user, ":", "-"))
	text = bytes.Replace(text, []byte("user: {token"), fmt.Appendf(nil, "user: {as: %q, token", user), 1)
	return path, os.WriteFile(path, text, 0o600)
}

func (k *Kube) writeConfig() error {
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: e2e, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: e2e, user: {token: %q}}]
contexts: [{name: e2e, context: {cluster: e2e, user: e2e}}]
current-context: e2e
`, k.url, k.certificate(), token)
	return os.WriteFile(k.kubeconfig(), []byte(text), 0o600)
}

// StopKube ends both.
func (k *Kube) StopKube() {
	if k != nil {
		k.server.Stop()
		k.etcd.Stop()
	}
}
