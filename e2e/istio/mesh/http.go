package mesh

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// authorized adds the API's token to every request.
type authorized struct{ http.RoundTripper }

func (a authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return a.RoundTripper.RoundTrip(r)
}

func newClient(roots *x509.CertPool) *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	return &http.Client{Transport: authorized{transport}, Timeout: 30 * time.Second}
}

// waitReady waits until a program answers 200.
func waitReady(p *harness.Child, client *http.Client, url string) error {
	var last string
	for deadline := time.Now().Add(startLimit); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if p.Ended() {
			return fmt.Errorf("%s: ended at its start:\n%s", url, p.Log())
		}
		response, err := client.Get(url)
		if err != nil {
			last = err.Error()
			continue
		}
		_ = response.Body.Close()
		if last = response.Status; response.StatusCode == http.StatusOK {
			return nil
		}
	}
	return fmt.Errorf("%s: not ready after %v, last: %s\n%s", url, startLimit, last, p.Log())
}
