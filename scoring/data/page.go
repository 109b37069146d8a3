package data

import (
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/scoring"
)

// pageParameters are common to the sources that fetch a page of every server.
type pageParameters struct {
	// Scheme is http or https.
	Scheme string
	// Path is the path of the page.
	Path string
	// Port is the port of the page. Unset: the endpoint's own.
	Port int
	// InsecureSkipVerify accepts any certificate.
	InsecureSkipVerify bool
	// CACertPath is a file with the authorities that may vouch for the servers, on the sidecar's machine. Relative
	// paths of certificates start from the document's folder.
	CACertPath string
	// ClientCertPath is the file of the certificate that the sidecar shows.
	ClientCertPath string
	// ClientKeyPath is the file of that certificate's key.
	ClientKeyPath string
	// Interval is the time between two looks, at least 50 ms. 0: the sidecar's.
	Interval time.Duration
}

// shortestInterval is that of the endpoint pickers.
const shortestInterval = 50 * time.Millisecond

// readPage reads the parameters of a page, certificates included.
func readPage(b *scoring.Builder, path string, port int) *scoring.Page {
	page := readPlainPage(b, path, port)
	b.String("caCertPath", &page.CACert)
	b.String("clientCertPath", &page.ClientCert)
	b.String("clientKeyPath", &page.ClientKey)
	if (page.ClientCert == "") != (page.ClientKey == "") {
		b.Mistake("clientCertPath", "one of clientCertPath and clientKeyPath is missing; both or none are right")
	}
	if b.Defaults().Dialect == scoring.DialectLLMD && !page.HTTPS {
		for _, key := range []string{"caCertPath", "clientCertPath", "clientKeyPath"} {
			b.NoEffect(key, "it is of no use with the scheme http; scheme: https is right")
		}
	}
	return page
}

// readPlainPage is readPage without certificates.
func readPlainPage(b *scoring.Builder, path string, port int) *scoring.Page {
	p := pageParameters{Scheme: "http", Path: path, InsecureSkipVerify: true}
	b.OneOf("scheme", &p.Scheme, "http", "https")
	b.String("path", &p.Path)
	b.Bool("insecureSkipVerify", &p.InsecureSkipVerify)
	b.Duration("interval", &p.Interval, 0)
	if !strings.HasPrefix(p.Path, "/") {
		b.Mistake("path", strconv.Quote(p.Path)+" does not begin with a slash")
	}
	page := &scoring.Page{HTTPS: p.Scheme == "https", SkipVerify: p.InsecureSkipVerify, Path: p.Path, Port: port}
	if p.Interval > 0 {
		page.Interval = max(p.Interval, shortestInterval)
	}
	return page
}

// tellUnread tells the operator of what a page says other than the usual, where the sidecar takes nothing of it. place
// is where it looks.
func tellUnread(b *scoring.Builder, page *scoring.Page, usual, place string) {
	const instead = "how the servers are reached stands in the sidecar's configuration"
	if page.Path != usual && strings.HasPrefix(page.Path, "/") {
		b.Warn("path has no effect: " + place)
	}
	if page.HTTPS {
		b.Warn("scheme and insecureSkipVerify have no effect: " + instead)
	}
	for _, said := range []struct {
		key   string
		given bool
	}{
		{"port", page.Port != 0}, {"caCertPath", page.CACert != ""}, {"clientCertPath", page.ClientCert != ""},
		{"clientKeyPath", page.ClientKey != ""}, {"interval", page.Interval > 0},
	} {
		if said.given {
			b.Warn(said.key + " has no effect: " + instead)
		}
	}
}
