// Package pki makes certificates for tests.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority is a certificate authority and the folder of what it issued.
type Authority struct {
	t      testing.TB
	folder string
	key    *ecdsa.PrivateKey
	// Cert is its own, in ca.pem.
	Cert *x509.Certificate
}

// New makes an authority that ends with the test.
func New(t testing.TB) *Authority {
	a := &Authority{t: t, folder: t.TempDir()}
	a.Cert, a.key = a.issue("ca",
		&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// File is the path of a file of that name in the authority's folder.
func (a *Authority) File(name string) string { return filepath.Join(a.folder, name) }

// Issue writes a certificate for an hour to NAME.pem and its key to NAME.key.
func (a *Authority) Issue(name string, template *x509.Certificate) {
	a.t.Helper()
	a.issue(name, template)
}

// Pair reads what was issued by that name.
func (a *Authority) Pair(name string) tls.Certificate {
	a.t.Helper()
	pair, err := tls.LoadX509KeyPair(a.File(name+".pem"), a.File(name+".key"))
	if err != nil {
		a.t.Fatal(err)
	}
	return pair
}

// issue has the first certificate sign itself.
func (a *Authority) issue(name string, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.must(err)
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.Subject = pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.Cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	a.must(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	a.must(err)
	a.write(name+".pem", "CERTIFICATE", der)
	a.write(name+".key", "PRIVATE KEY", private)
	cert, err := x509.ParseCertificate(der)
	a.must(err)
	return cert, key
}

func (a *Authority) write(name, kind string, der []byte) {
	a.t.Helper()
	a.must(os.WriteFile(a.File(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

func (a *Authority) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}
