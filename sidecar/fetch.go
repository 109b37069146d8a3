package sidecar

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strconv"
)

const maxPageBytes = 10 << 20

// fetcher gets pages from one endpoint over one connection that it keeps. Redirects are not followed and nothing is compressed.
type fetcher struct {
	address string
	url     string
	client  *http.Client
	request *http.Request
}

func newFetcher(address string) *fetcher {
	return &fetcher{address: address, client: &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 1, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (f *fetcher) close() { f.client.CloseIdleConnections() }

// aim chooses the page; port 0 is the endpoint's own.
func (f *fetcher) aim(path string, port uint16) {
	address := f.address
	if port != 0 {
		endpoint := netip.MustParseAddrPort(f.address) // topologies hold nothing else
		address = net.JoinHostPort(endpoint.Addr().String(), strconv.Itoa(int(port)))
	}
	f.url = "http://" + address + path
	f.request = nil
}

// fetch appends the page to buffer. text reports whether it came as plain text.
func (f *fetcher) fetch(ctx context.Context, page *bytes.Buffer) (text bool, failure *scrapeError) {
	if f.request == nil {
		request, err := http.NewRequest(http.MethodGet, f.url, nil)
		if err != nil {
			return false, &scrapeError{result: "error", err: err}
		}
		request.Header = http.Header{
			"Accept":          {"text/plain;version=0.0.4"},
			"Accept-Encoding": {"identity"},
			"User-Agent":      {"pintle-sidecar"},
		}
		f.request = request
	}
	response, err := f.client.Do(f.request.WithContext(ctx))
	if err != nil {
		return false, transferError(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		err := fmt.Errorf("%s answered %s; 200 is right", f.url, response.Status)
		return false, &scrapeError{result: "status", err: err, elsewhere: response.StatusCode == http.StatusNotFound}
	}
	if _, err := page.ReadFrom(io.LimitReader(response.Body, maxPageBytes+1)); err != nil {
		return false, transferError(err)
	}
	if page.Len() > maxPageBytes {
		return false, &scrapeError{result: "too_large", err: fmt.Errorf("%s is over %d bytes", f.url, maxPageBytes)}
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	return kind == "text/plain", nil
}

func transferError(err error) *scrapeError {
	if errors.Is(err, context.DeadlineExceeded) {
		return &scrapeError{result: "timeout", err: err}
	}
	return &scrapeError{result: "error", err: err}
}
