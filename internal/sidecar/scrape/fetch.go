package scrape

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

const (
	maxPageBytes = 10 << 20
	// maxResponseBytes is the longest page with its headers, and with the framing of chunks.
	maxResponseBytes = maxPageBytes + 1<<20
)

// fetcher gets pages from one endpoint over one connection that it keeps. Redirects are not followed and nothing is
// compressed. It writes requests and waits for responses by itself: http.Transport needs two more goroutines for each
// connection.
type fetcher struct {
	address string // of the endpoint
	access  topology.Access
	path    string
	port    uint16 // of the page; 0 is the endpoint's own
	url     string // of the page, for people: without the names of metrics that it is asked for
	dial    string // of the page
	request *http.Request
	bytes   []byte // of the request

	token     string
	tokenRead time.Time

	limited io.LimitedReader
	reader  *bufio.Reader

	mu         sync.Mutex // of connection, as ended comes from elsewhere
	connection net.Conn   // nil when there is none
	socket     net.Conn   // below connection, or the same
	ended      bool
}

// tokenPeriod is how long a token is used before its file is read again.
const tokenPeriod = time.Second

// newFetcher returns a fetcher that gives up what it waits for when ctx ends.
func newFetcher(ctx context.Context, address string, access *topology.Access) *fetcher {
	f := &fetcher{address: address}
	if access != nil {
		f.access = *access
	}
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.ended = true
		if f.connection != nil {
			_ = f.socket.SetDeadline(time.Unix(1, 0))
		}
	})
	return f
}

func (f *fetcher) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.connection != nil {
		_ = f.socket.Close() // nobody waits for a TLS farewell
		f.connection, f.socket = nil, nil
	}
}

// arm sets how long the connection may be waited for, unless everything has ended.
func (f *fetcher) arm(deadline time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return context.Canceled
	}
	return f.socket.SetDeadline(deadline)
}

// aim chooses the page; port 0 is the endpoint's own.
func (f *fetcher) aim(path string, port uint16) {
	f.close()
	f.dial = f.address
	if port != 0 {
		endpoint := netip.MustParseAddrPort(f.address) // topologies hold nothing else
		f.dial = net.JoinHostPort(endpoint.Addr().String(), strconv.Itoa(int(port)))
	}
	f.path, f.port = path, port
	page, _, _ := strings.Cut(path, "?")
	f.url = "http://" + f.dial + page
	if f.access.HTTPS {
		f.url = "https://" + f.dial + page
	}
	f.request = &http.Request{Method: http.MethodGet} // the reader of responses wants to know
	f.compose()
}

// compose makes the request's bytes.
func (f *fetcher) compose() {
	host, credentials := f.dial, ""
	if f.access.ServerName != "" {
		host = f.access.ServerName
	}
	if f.token != "" {
		name, value := f.access.Header(f.token)
		credentials = name + ": " + value + "\r\n"
	}
	f.bytes = []byte("GET " + f.path + " HTTP/1.1\r\nHost: " + host + "\r\n" + credentials +
		"User-Agent: pintle-sidecar\r\nAccept: text/plain;version=0.0.4\r\nAccept-Encoding: identity\r\n\r\n")
}

// authorize has the request carry what its token's file holds now.
func (f *fetcher) authorize(now time.Time) error {
	if f.access.TokenFile == "" || now.Sub(f.tokenRead) < tokenPeriod {
		return nil
	}
	token, err := f.access.Token()
	if err != nil {
		return err
	}
	f.tokenRead = now
	if token != f.token {
		f.token = token
		f.compose()
	}
	return nil
}

// fetch appends the page to buffer, until deadline. text reports whether it came as plain text.
func (f *fetcher) fetch(ctx context.Context, deadline time.Time, page *bytes.Buffer) (text bool, failure *scrapeError) {
	if err := f.authorize(time.Now()); err != nil {
		return false, &scrapeError{result: "credentials", err: fmt.Errorf("%s was not asked: %w", f.url, err)}
	}
	response, err := f.send(ctx, deadline)
	if err != nil {
		f.close()
		return false, transferError(f.url, err)
	}
	keep := false
	defer func() {
		if !keep || response.Close || f.reader.Buffered() > 0 {
			f.close()
		}
	}()
	if s := response.StatusCode; s == http.StatusUnauthorized || s == http.StatusForbidden {
		return false, &scrapeError{result: "unauthorized", err: f.unauthorized(response.Status)}
	}
	if s := response.StatusCode; s != http.StatusOK {
		err := fmt.Errorf("%s answered %s; 200 is right", f.url, response.Status)
		return false, &scrapeError{result: "status", err: err, elsewhere: s == http.StatusNotFound,
			later: s == http.StatusBadGateway || s == http.StatusServiceUnavailable || s == http.StatusGatewayTimeout}
	}
	if _, err := page.ReadFrom(io.LimitReader(response.Body, maxPageBytes+1)); err != nil && f.limited.N > 0 {
		return false, transferError(f.url, err)
	}
	if page.Len() > maxPageBytes || f.limited.N == 0 {
		return false, &scrapeError{result: "too_large", err: fmt.Errorf("%s is over %d bytes", f.url, maxPageBytes)}
	}
	keep = true
	kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "text/plain"), nil
}

func (f *fetcher) unauthorized(status string) error {
	if f.access.TokenFile == "" {
		return fmt.Errorf("%s answered %s; tokenFile with the server's API key is right", f.url, status)
	}
	return fmt.Errorf("%s answered %s; the server's API key in %s is right", f.url, status, f.access.TokenFile)
}

// send asks for the page over the kept connection, and once more over a new one when the server had closed that.
func (f *fetcher) send(ctx context.Context, deadline time.Time) (*http.Response, error) {
	if f.connection != nil {
		response, err := f.exchange(deadline)
		if err == nil || ctx.Err() != nil || isTimeout(err) {
			return response, err
		}
		f.close()
	}
	if err := f.connect(ctx, deadline); err != nil {
		return nil, err
	}
	return f.exchange(deadline)
}

// connect makes a new connection. Certificates are read for each, so that new ones are in use without a restart.
func (f *fetcher) connect(ctx context.Context, deadline time.Time) error {
	secure, err := f.access.Client()
	if err != nil {
		return err
	}
	socket, err := (&net.Dialer{Deadline: deadline}).DialContext(ctx, "tcp", f.dial)
	if err != nil {
		return err
	}
	connection := socket
	if secure != nil {
		if secure.ServerName == "" {
			secure.ServerName, _, _ = net.SplitHostPort(f.dial)
		}
		connection = tls.Client(socket, secure)
	}
	f.mu.Lock()
	f.connection, f.socket = connection, socket
	f.mu.Unlock()
	f.limited.R = connection
	f.reader = bufio.NewReader(&f.limited)
	return nil
}

// exchange writes the request and reads the response's head.
func (f *fetcher) exchange(deadline time.Time) (*http.Response, error) {
	if err := f.arm(deadline); err != nil {
		return nil, err
	}
	f.limited.N = maxResponseBytes
	if _, err := f.connection.Write(f.bytes); err != nil {
		return nil, err
	}
	for {
		response, err := http.ReadResponse(f.reader, f.request)
		// Informational responses, of which a server may send any number, are followed by the final one (RFC 9110,
		// 15.2).
		if err != nil || response.StatusCode >= http.StatusOK || response.StatusCode == http.StatusSwitchingProtocols {
			return response, err
		}
	}
}

func isTimeout(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
}

func transferError(url string, err error) *scrapeError {
	if isTimeout(err) {
		return &scrapeError{result: "timeout", err: fmt.Errorf("%s did not answer in time: %w", url, err)}
	}
	return &scrapeError{result: "error", err: fmt.Errorf("%s: %w", url, err)}
}
