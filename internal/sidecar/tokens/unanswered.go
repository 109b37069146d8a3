package tokens

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

// unanswered is the error of a question that has no whole answer. net/http repeats there what it cannot read of an
// answer, which may be the prompt: only errors that have no words of the other side are kept.
func unanswered(who string, err error) error {
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF,
		http.ErrSchemeMismatch} {
		if errors.Is(err, known) {
			return fmt.Errorf("%s: %w", who, known)
		}
	}
	if network, ok := errors.AsType[*net.OpError](err); ok {
		return fmt.Errorf("%s: %w", who, network)
	}
	if certificate, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("%s: %w", who, certificate)
	}
	return fmt.Errorf("%s: the connection broke, or the answer is not HTTP", who)
}

// stay has a client follow no redirect: prompts and credentials go where the configuration says, and nowhere else.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
