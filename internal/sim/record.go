package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	loggedRequests  = 100
	loggedBodyBytes = 4 << 10
)

// Received is a request as it reached a server. Header names are in lower case.
type Received struct {
	Method     string              `json:"method"`
	Path       string              `json:"path"`
	Proto      string              `json:"proto"`
	Host       string              `json:"host"`
	Headers    map[string][]string `json:"headers"`
	Trailers   map[string][]string `json:"trailers"`
	BodyBytes  int                 `json:"bodyBytes"`
	BodySHA256 string              `json:"bodySha256"`
	// Body is the text of a body below 4 KiB, else empty.
	Body string `json:"body"`
}

// requestLog keeps the last requests.
type requestLog struct {
	count atomic.Uint64
	mu    sync.Mutex
	last  []Received
}

// add is called once the body has been read: trailers are complete then.
func (l *requestLog) add(r *http.Request, body []byte) {
	l.count.Add(1)
	sum := sha256.Sum256(body)
	received := Received{
		Method: r.Method, Path: r.URL.RequestURI(), Proto: r.Proto, Host: r.Host, Headers: lowerCase(r.Header),
		Trailers: lowerCase(r.Trailer), BodyBytes: len(body), BodySHA256: hex.EncodeToString(sum[:]),
	}
	if len(body) < loggedBodyBytes {
		received.Body = string(body)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) == loggedRequests {
		copy(l.last, l.last[1:])
		l.last = l.last[:loggedRequests-1]
	}
	l.last = append(l.last, received)
}

func lowerCase(h http.Header) map[string][]string {
	lower := make(map[string][]string, len(h))
	for name, values := range h {
		lower[strings.ToLower(name)] = values
	}
	return lower
}

func (l *requestLog) list() []Received {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Received{}, l.last...)
}

func (l *requestLog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count.Store(0)
	l.last = nil
}

// Requests returns the last 100 requests to the API, oldest first. Probes, the control surface and requests that were
// answered in instant mode are not among them.
func (s *Server) Requests() []Received { return s.log.list() }

// Count is the number of requests to the API since the start or the last reset.
func (s *Server) Count() uint64 { return s.log.count.Load() }
