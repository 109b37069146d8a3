package kubernetes

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestReasons: whoever waits is woken when an API server that is out of reach becomes so otherwise, and not when the
// same is said in other words, which have ports and times in them.
func TestReasons(t *testing.T) {
	get := func(err error) error { return &url.Error{Op: "Get", URL: "https://10.0.0.1/api/v1/pods", Err: err} }
	refused := func(port int) error {
		return get(&net.OpError{Op: "dial", Net: "tcp", Source: &net.TCPAddr{Port: port},
			Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)})
	}
	late := func(port int) error {
		return get(&net.OpError{Op: "read", Net: "tcp", Source: &net.TCPAddr{Port: port}, Err: os.ErrDeadlineExceeded})
	}
	unknown := func(server string) error {
		return get(&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Name: "api", Server: server}})
	}
	expired := func(now string) error {
		return get(&tls.CertificateVerificationError{
			Err: x509.CertificateInvalidError{Reason: x509.Expired, Detail: "it is " + now}})
	}
	forbidden := func(message string) error {
		return apierrors.NewForbidden(schema.GroupResource{}, "", fmt.Errorf("%s", message))
	}
	woken := 0
	w := &watcher{changed: func() { woken++ }}
	for _, step := range []struct {
		name  string
		err   error
		woken bool
	}{
		{"refuses connections", refused(40001), true},
		{"from another port", refused(40002), false},
		{"silent", late(40003), true},
		{"still silent", late(40004), false},
		{"has no address", unknown("10.0.0.53:53"), true},
		{"by another DNS server either", unknown("10.0.0.54:53"), false},
		{"its certificate has expired", expired("08:00:00"), true},
		{"a second later", expired("08:00:01"), false},
		{"refuses by itself", forbidden("no"), true},
		{"in other words", forbidden("never"), false},
		{"well", nil, true},
		{"still well", nil, false},
	} {
		before := woken
		w.note(watching, step.err)
		if got := woken != before; got != step.woken {
			t.Errorf("%s: woken: %v, want %v", step.name, got, step.woken)
		}
	}
}
