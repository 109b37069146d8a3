//go:build responses

package responses

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// certificate makes a certificate for 127.0.0.1 that has signed itself, and returns its file and the key's.
func certificate(t *testing.T) (file, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redis"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	file, key = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	for path, block := range map[string]*pem.Block{file: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file, key
}

// TestTLS: a real Redis with TLS and a password, for sidecars that know who signs for it, and for no others.
func TestTLS(t *testing.T) {
	cert, key := certificate(t)
	address := freeAddress(t)
	server := harness.StartRedis(t, filepath.Join(harness.Root(), "build", ".cache", "redis", "redis-server"),
		"--tls-port", address[strings.LastIndexByte(address, ':')+1:], "--tls-cert-file", cert, "--tls-key-file", key,
		"--tls-auth-clients", "no")
	client := server.Client()
	defer client.Close()
	for _, rule := range [][]any{
		{"acl", "setuser", "pintle", "on", ">secret", "~*", "&*", "+@all"},
		{"acl", "setuser", "default", "-@all", "+ping"},
	} {
		if err := client.Do(t.Context(), rule...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	const user = "username: pintle, password: secret"
	stranger := startGateway(t, "{redis: {address: 'rediss://"+address+"', "+user+"}}")
	if status := stranger.put("r1", ""); status != 503 {
		t.Errorf("a certificate that nobody has signed: got %d, want 503", status)
	}
	t.Setenv("SSL_CERT_FILE", cert)
	for name, store := range map[string]string{
		"rediss":              "address: 'rediss://" + address + "', " + user,
		"valkeys":             "address: 'valkeys://" + address + "', " + user,
		"password in the URL": "address: 'rediss://pintle:secret@" + address + "'",
	} {
		id := name[:3]
		a, b := startGateway(t, "{redis: {"+store+"}}"), startGateway(t, "{redis: {"+store+"}}")
		if status := a.put(id+"1", ""); status != 204 {
			t.Errorf("%s: stored: got %d, want 204", name, status)
		}
		if status := b.put(id+"2", id+"1"); status != 204 {
			t.Errorf("%s: stored by another gateway: got %d, want 204", name, status)
		}
		a.want(200, history(id+"1", id+"2"), "GET", "history/"+id+"2")
	}
	wrong := startGateway(t, "{redis: {address: 'rediss://"+address+"', username: pintle, password: wrong}}")
	if status := wrong.put("r1", ""); status != 503 {
		t.Errorf("a wrong password: got %d, want 503", status)
	}
	plain := startGateway(t, "{redis: {address: 'redis://"+address+"', "+user+"}}")
	if status := plain.put("r1", ""); status != 503 {
		t.Errorf("without TLS: got %d, want 503", status)
	}
}
