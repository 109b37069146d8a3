package topology

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pintle-dev/pintle/internal/strictjson"
)

// Access says how a model server's pages are asked for. The zero value is plain HTTP without credentials.
type Access struct {
	// HTTPS is set for the scheme https.
	HTTPS bool
	// CA is the file with the authorities that may vouch for the server; empty is the system's. With SkipVerify nobody
	// has to.
	CA         string
	SkipVerify bool
	// ServerName is what the server is to prove it is, and is sent as SNI; empty is its address.
	ServerName string
	// Certificate and Key are the files of the client's certificate; empty is none.
	Certificate, Key string
	// TokenFile holds a secret that goes with every request, in TokenHeader, or as Authorization: Bearer when that is
	// empty.
	TokenFile, TokenHeader string
}

// ReadAccess reads the keys scheme, tls, tokenFile and tokenHeader of o over what base has. Relative paths start from
// folder.
func ReadAccess(o *strictjson.Object, base *Access, folder string) *Access {
	a := *base
	scheme := "http"
	if a.HTTPS {
		scheme = "https"
	}
	o.OneOf("scheme", &scheme, "http", "https")
	a.HTTPS = scheme == "https"
	t := o.Object("tls")
	a.ReadTLS(t, folder)
	if t.Present() && !a.HTTPS {
		o.Mistake("tls", "is of no use with the scheme http; scheme: https is right")
	}
	readPath(o, "tokenFile", &a.TokenFile, folder)
	o.String("tokenHeader", &a.TokenHeader)
	if a.TokenHeader != "" && !strictjson.IsHeaderName(a.TokenHeader) {
		o.Mistake("tokenHeader", "the value is no name of a header; one such as x-api-key is right, or none for "+
			"Authorization: Bearer")
	}
	if o.Has("tokenHeader") && a.TokenFile == "" {
		o.Mistake("tokenHeader", "is of no use without tokenFile, which holds what is sent in it")
	}
	return &a
}

// For returns a for an endpoint that is asked as own says otherwise: what the server is called, and the secret that it
// wants, are own's. A nil own has none.
func (a *Access) For(own *Access) *Access {
	merged := *a
	if own == nil {
		own = &Access{}
	}
	merged.ServerName, merged.TokenFile, merged.TokenHeader = own.ServerName, own.TokenFile, own.TokenHeader
	return &merged
}

// ReadTLS reads an object tls. Relative paths start from folder.
func (a *Access) ReadTLS(t *strictjson.Object, folder string) {
	readPath(t, "ca", &a.CA, folder)
	readPath(t, "certificate", &a.Certificate, folder)
	readPath(t, "key", &a.Key, folder)
	t.String("serverName", &a.ServerName)
	t.Bool("insecureSkipVerify", &a.SkipVerify)
	t.Close()
	if (a.Certificate == "") != (a.Key == "") {
		t.Mistake("", "one of certificate and key is missing; both or none are right")
	}
	if a.SkipVerify && t.Has("ca") {
		t.Mistake("ca", "is of no use with insecureSkipVerify; one of them is right")
	}
}

// Check reads the files that a names.
func (a *Access) Check() error {
	_, certificates := a.Client()
	_, token := a.Token()
	return errors.Join(certificates, token)
}

// Client returns how a TLS connection is made, with the certificates as the files hold them now; nil is plain TCP.
func (a *Access) Client() (*tls.Config, error) {
	if !a.HTTPS {
		return nil, nil
	}
	c := &tls.Config{ServerName: a.ServerName, InsecureSkipVerify: a.SkipVerify, MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"}}
	if a.CA != "" {
		content, err := os.ReadFile(a.CA)
		if err != nil {
			return nil, fmt.Errorf("tls.ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(content) {
			return nil, fmt.Errorf("tls.ca: %s has no certificate in PEM", a.CA)
		}
	}
	if a.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(a.Certificate, a.Key)
		if err != nil {
			return nil, fmt.Errorf("tls.certificate: %s with key %s: %w", a.Certificate, a.Key, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// Token reads the secret that goes with every request; empty is none.
func (a *Access) Token() (string, error) {
	if a.TokenFile == "" {
		return "", nil
	}
	content, err := os.ReadFile(a.TokenFile)
	if err != nil {
		return "", fmt.Errorf("tokenFile: %w", err)
	}
	token := strings.TrimSpace(string(content))
	if err := CheckToken(token); err != nil {
		return "", fmt.Errorf("tokenFile: %s: %w", a.TokenFile, err)
	}
	return token, nil
}

// Header is what carries a secret that Token has read.
func (a *Access) Header(token string) (name, value string) {
	if a.TokenHeader != "" {
		return a.TokenHeader, token
	}
	return "Authorization", "Bearer " + token
}

func readPath(o *strictjson.Object, key string, path *string, folder string) {
	o.String(key, path)
	if o.Has(key) && *path == "" {
		o.Mistake(key, "is empty; the path of a file is right")
	}
	if *path != "" && !filepath.IsAbs(*path) {
		*path = filepath.Join(folder, *path)
	}
}

// CheckToken says what is wrong with a secret, and never shows it.
func CheckToken(token string) error {
	if token == "" {
		return errors.New("the token is empty")
	}
	for _, r := range token {
		if r <= ' ' || r > '~' {
			return errors.New("the token has a character that no header can carry; visible ASCII is right")
		}
	}
	return nil
}
