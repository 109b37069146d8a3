package scrape

import (
	"bufio"
	"bytes"
	"context"
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
)

const (
	maxPageBytes = 10 << 20
	// maxResponseBytes is the longest page with its headers, and with the framing of chunks.
	maxResponseBytes = maxPageBytes + 1<<20
)

// fetcher gets pages from one endpoint over one connection that it keeps. Redirects are not followed and nothing is compressed.
// It writes requests and waits for responses by itself: http.Transport needs two more goroutines for each connection.
type fetcher struct {
	address string // of the endpoint
	url     string
	dial    string // of the page
	request *http.Request
	bytes   []byte // of the request

	limited io.LimitedReader
	reader  *bufio.Reader

	mu         sync.Mutex // of connection, as ended comes from elsewhere
	connection net.Conn   // nil when there is none
	ended      bool
}

// newFetcher returns a fetcher that gives up what it waits for when ctx ends.
func newFetcher(ctx context.Context, address string) *fetcher {
	f := &fetcher{address: address}
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.ended = true
		if f.connection != nil {
			_ = f.connection.SetDeadline(time.Unix(1, 0))
		}
	})
	return f
}

func (f *fetcher) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.connection != nil {
		_ = f.connection.Close()
		f.connection = nil
	}
}

// arm sets how long the connection may be waited for, unless everything has ended.
func (f *fetcher) arm(deadline time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return context.Canceled
	}
	return f.connection.SetDeadline(deadline)
}

// aim chooses the page; port 0 is the endpoint's own.
func (f *fetcher) aim(path string, port uint16) {
	f.close()
	f.dial = f.address
	if port != 0 {
		endpoint := netip.MustParseAddrPort(f.address) // topologies hold nothing else
		f.dial = net.JoinHostPort(endpoint.Addr().String(), strconv.Itoa(int(port)))
	}
	f.url = "http://" + f.dial + path
	f.request = &http.Request{Method: http.MethodGet} // the reader of responses wants to know
	f.bytes = []byte("GET " + path + " HTTP/1.1\r\nHost: " + f.dial +
		"\r\nUser-Agent: pintle-sidecar\r\nAccept: text/plain;version=0.0.4\r\nAccept-Encoding: identity\r\n\r\n")
}

// fetch appends the page to buffer, until deadline. text reports whether it came as plain text.
func (f *fetcher) fetch(ctx context.Context, deadline time.Time, page *bytes.Buffer) (text bool, failure *scrapeError) {
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
	if response.StatusCode != http.StatusOK {
		err := fmt.Errorf("%s answered %s; 200 is right", f.url, response.Status)
		return false, &scrapeError{result: "status", err: err, elsewhere: response.StatusCode == http.StatusNotFound}
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

// send asks for the page over the kept connection, and once more over a new one when the server had closed that.
func (f *fetcher) send(ctx context.Context, deadline time.Time) (*http.Response, error) {
	if f.connection != nil {
		response, err := f.exchange(deadline)
		if err == nil || ctx.Err() != nil || isTimeout(err) {
			return response, err
		}
		f.close()
	}
	connection, err := (&net.Dialer{Deadline: deadline}).DialContext(ctx, "tcp", f.dial)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.connection = connection
	f.mu.Unlock()
	f.limited.R = connection
	f.reader = bufio.NewReader(&f.limited)
	return f.exchange(deadline)
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
	return http.ReadResponse(f.reader, f.request)
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
