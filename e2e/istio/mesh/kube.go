package mesh

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
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
		"--secure-port", fmt.Sprint(port), "--cert-dir", k.dir, "--token-auth-file", tokens, "--authorization-mode",
		"RBAC",
		"--anonymous-auth=false", "--service-account-issuer", "https://e2e.local", "--service-account-key-file",
		keyFile,
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

// Apply writes objects as kubectl apply --server-side does, unknown fields refused.
func (k *Kube) Apply(objects ...Object) error { return k.apply("", objects) }

// Check has the API judge objects without keeping them.
func (k *Kube) Check(objects ...Object) error { return k.apply("&dryRun=All", objects) }

func (k *Kube) apply(options string, objects []Object) error {
	for _, o := range objects {
		path, err := k.path(o)
		if err != nil {
			return err
		}
		text, err := json.Marshal(o)
		if err != nil {
			return err
		}
		query := "?fieldManager=e2e&force=true&fieldValidation=Strict" + options
		if _, err := k.request(http.MethodPatch, path+query, "application/apply-patch+yaml", text); err != nil {
			return fmt.Errorf("apply %s: %w", o, err)
		}
	}
	return nil
}

// SetStatus writes the status of an object as a kubelet does.
func (k *Kube) SetStatus(o Object) error {
	path, err := k.path(o)
	if err != nil {
		return err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = k.request(http.MethodPatch, path+"/status?fieldManager=e2e&force=true", "application/apply-patch+yaml",
		text)
	return err
}

// Delete removes an object.
func (k *Kube) Delete(o Object) error {
	path, err := k.path(o)
	if err != nil {
		return err
	}
	_, err = k.request(http.MethodDelete, path, "", nil)
	return err
}

// Get reads an object of the kind, name and namespace of another.
func (k *Kube) Get(o Object) (Object, error) {
	path, err := k.path(o)
	if err != nil {
		return nil, err
	}
	text, err := k.request(http.MethodGet, path, "", nil)
	if err != nil {
		return nil, err
	}
	var got Object
	return got, json.Unmarshal(text, &got)
}

// path is where the API has an object.
func (k *Kube) path(o Object) (string, error) {
	group := "/api/" + o.apiVersion()
	if strings.Contains(o.apiVersion(), "/") {
		group = "/apis/" + o.apiVersion()
	}
	r, err := k.resource(group, o)
	if err != nil {
		return "", err
	}
	if r.Namespaced {
		return group + "/namespaces/" + o.namespace() + "/" + r.Name + "/" + o.Name(), nil
	}
	return group + "/" + r.Name + "/" + o.Name(), nil
}

// discoveryLimit is how long the API may take to serve a kind once it is defined.
const discoveryLimit = 30 * time.Second

// resource looks up an object's kind, which may have been defined just now.
func (k *Kube) resource(group string, o Object) (resource, error) {
	kind := o.apiVersion() + "/" + o.Kind()
	for deadline := time.Now().Add(discoveryLimit); ; time.Sleep(50 * time.Millisecond) {
		if r, ok := k.resources[kind]; ok {
			return r, nil
		}
		err := k.discover(group, o.apiVersion())
		if _, ok := k.resources[kind]; !ok && time.Now().After(deadline) {
			return resource{}, errors.Join(fmt.Errorf("the API knows no %s", kind), err)
		}
	}
}

func (k *Kube) discover(group, apiVersion string) error {
	answer, err := k.request(http.MethodGet, group, "", nil)
	if err != nil {
		return err
	}
	var list struct {
		Resources []resource `json:"resources"`
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return err
	}
	for _, r := range list.Resources {
		if !strings.Contains(r.Name, "/") {
			k.resources[apiVersion+"/"+r.Kind] = r
		}
	}
	return nil
}

func (k *Kube) request(method, path, contentType string, body []byte) ([]byte, error) {
	request, err := http.NewRequest(method, k.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", contentType)
	response, err := k.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		var status struct{ Message string }
		if json.Unmarshal(answer, &status) != nil {
			status.Message = string(answer)
		}
		err = fmt.Errorf("%s: %s", response.Status, status.Message)
	}
	return answer, err
}
